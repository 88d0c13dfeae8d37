// slice.mjs IN OUT: of GitHub's description of its API the paths that the driver uses: the whole of it takes a proxy twenty seconds to read.
import { readFileSync, writeFileSync } from "node:fs";

const issues = "/repos/{owner}/{repo}/issues";
const used = ["/user", issues, `${issues}/{issue_number}`, `${issues}/{issue_number}/comments`, `${issues}/comments/{comment_id}`, `${issues}/{issue_number}/labels`, `${issues}/{issue_number}/labels/{name}`, `${issues}/{issue_number}/events`];
const whole = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { openapi, info } = whole;
writeFileSync(process.argv[3], JSON.stringify({ openapi, info, servers: [{ url: "/" }], paths: Object.fromEntries(used.map((path) => [path, whole.paths[path]])) }));
