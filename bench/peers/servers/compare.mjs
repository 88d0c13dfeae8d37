// All peers and fenceline in turn, and one table of it. node compare.mjs [reps=3] [n=100000] [peers=a,b,..]; started by script/bench_peers,
// which gives FENCELINE (the program), PEERS_PG and FENCELINE_TEST_POSTGRES (a server with fsync on) and PEERS_TMP.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import { promisify } from 'node:util';
import { TMP, median, round } from './common.mjs';
import { start } from './redis-server.mjs';
const opt = Object.fromEntries(process.argv.slice(2).map((r) => r.split('=')));
const reps = +(opt.reps || 3), n = +(opt.n || 100000);
const run = promisify(execFile), most = { maxBuffer: 1 << 26 };
fs.mkdirSync(TMP, { recursive: true });
const say = (s) => console.error(`bench_peers: ${s}`);

// One measure of one peer, as bench.mjs prints it.
async function peer(name, ...words) {
  const { stdout } = await run(process.execPath, ['bench.mjs', words[0], name, ...words.slice(1), 'reps=1', 'raw=no'], most);
  return stdout.trim().split('\n').map((l) => JSON.parse(l)).find((l) => l.got).got;
}
async function measurePeer(name) {
  const jobs = name === 'bullmq-pg' ? Math.min(n, 5000) : n;
  const { one, bulk } = await peer(name, 'enqueue');
  const { rate } = await peer(name, 'drain', `n=${jobs}`, 'mode=max', 'procs=1', 'limit=240000');
  const two = (await peer(name, 'drain', `n=${jobs}`, 'mode=max', 'procs=2', 'limit=240000')).rate;
  const { p50, p99 } = await peer(name, 'latency', 'mode=latency', 'rate=50', 'secs=6');
  return { one, bulk, drain: rate, two, p50, p99 };
}
// Our own bench measures the same: one commit a job, 1000 a call, n jobs drained with results and history kept, 50 jobs a second.
async function measureOurs() {
  const only = ['enqueue_one', 'enqueue_bulk', 'drain', 'drain_worker', 'drain_2', 'start_latency'].flatMap((name) => ['--only', name]);
  const { stdout } = await run(process.env.FENCELINE, ['bench', '--json', '--rounds', '1', ...only], { ...most, env: { ...process.env, FENCELINE_STORE: process.env.FENCELINE_TEST_POSTGRES } });
  const by = Object.fromEntries(JSON.parse(stdout).results.map((r) => [r.name, r]));
  const raw = { one: by.enqueue_one.raw_rate, bulk: by.enqueue_bulk.raw_rate, drain: by.drain.raw_rate, two: by.drain_2.raw_rate, p50: NaN, p99: NaN };
  const same = { one: by.enqueue_one.rate, bulk: by.enqueue_bulk.rate, two: by.drain_2.rate, p50: by.start_latency.p50_ms, p99: by.start_latency.p99_ms };
  return { 'fenceline, by calls': { ...same, drain: by.drain.rate }, 'fenceline, by a worker': { ...same, drain: by.drain_worker.rate, two: NaN }, 'raw libpq': raw };
}

const redis = await start('everysec');
if (!redis) say('there is no redis-server, so BullMQ is measured on PostgreSQL only');
const peers = (opt.peers || `graphile-worker,pg-boss,${redis ? 'bullmq,' : ''}bullmq-pg`).split(',');
const seen = {};
const note = (name, numbers) => (seen[name] ??= []).push(numbers);
try {
  for (let rep = 1; rep <= reps; rep++) {
    const sides = [...peers]; sides.splice(rep % 2 ? 0 : sides.length, 0, 'fenceline');   // who goes first alternates
    for (const name of sides) {
      say(`${name}, repetition ${rep} of ${reps}`);
      if (name !== 'fenceline') note(name, await measurePeer(name));
      else for (const [side, numbers] of Object.entries(await measureOurs())) note(side, numbers);
    }
  }
} finally { await redis?.stop(); }

const ours = seen['fenceline, by calls'];
const cell = (rows, key, digits, theirs) => {
  const xs = rows.map((r) => r[key]).filter(Number.isFinite); if (!xs.length) return '';
  const text = `${round(median(xs), digits)} (${round(Math.min(...xs), digits)}..${round(Math.max(...xs), digits)})`;
  if (!theirs) return text;
  const times = rows.map((r, i) => (key[0] === 'p' ? r[key] / ours[i][key] : ours[i][key] / r[key])).filter(Number.isFinite);
  return `${text}, ${round(median(times), 1)}x`;
};
console.log(`\nmedian (lowest..highest) of ${reps}; "3x": fenceline by calls is three times as good, by the median of the repetitions. Drains of ${n} jobs (bullmq-pg ${Math.min(n, 5000)}).\n`);
console.log('| | one by one, jobs/s | bulk of 1000, jobs/s | drain, 1 process, jobs/s | drain, 2 processes | start p50 ms | start p99 ms |\n| --- | --- | --- | --- | --- | --- | --- |');
for (const [name, rows] of Object.entries(seen)) {
  const theirs = !name.startsWith('fenceline');
  console.log(`| ${name} | ${['one', 'bulk', 'drain', 'two'].map((k) => cell(rows, k, 0, theirs)).join(' | ')} | ${['p50', 'p99'].map((k) => cell(rows, k, 2, theirs)).join(' | ')} |`);
}
