// BullMQ, redlock and other locks beside fenceline on one Redis server, in turn, for each way of syncing its log; two tables of it.
// node compare-redis.mjs [reps=3] [n=100000] [fsync=everysec,always] [what=jobs,locks]; started by script/bench_peers --redis, which gives FENCELINE (the program) and PEERS_TMP.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import { promisify } from 'node:util';
import { TMP, median, round } from './common.mjs';
import { start } from './redis-server.mjs';
const opt = Object.fromEntries(process.argv.slice(2).map((r) => r.split('=')));
const reps = +(opt.reps || 3), n = +(opt.n || 100000), modes = (opt.fsync || 'everysec,always').split(','), what = (opt.what || 'jobs,locks').split(',');
const run = promisify(execFile), most = { maxBuffer: 1 << 26 };
fs.mkdirSync(TMP, { recursive: true });
const say = (s) => console.error(`bench_peers: ${s}`);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

const lines = (text) => text.trim().split('\n').map((l) => JSON.parse(l));
async function bullmq(...words) {
  const { stdout } = await run(process.execPath, ['bench.mjs', words[0], 'bullmq', ...words.slice(1), 'reps=1', 'raw=no'], most);
  return lines(stdout).find((l) => l.got).got;
}
async function jobsOfBullmq() {
  const { one, bulk } = await bullmq('enqueue');
  const { bytes } = await bullmq('memory', 'n=100000');
  const { rate } = await bullmq('drain', `n=${n}`, 'mode=max', 'procs=1', 'limit=240000');
  const { p50, p99 } = await bullmq('latency', 'mode=latency', 'rate=50', 'secs=6');
  return { 'BullMQ 6.7.0': { one, bulk, drain: rate, bytes, p50, p99 } };
}
async function ours(port, ...words) {
  const { stdout } = await run(process.env.FENCELINE, ['bench', ...words, '--json', '--rounds', '1'], { ...most, env: { ...process.env, FENCELINE_STORE: `redis://127.0.0.1:${port}` } });
  return Object.fromEntries(JSON.parse(stdout).results.map((r) => [r.name, r]));
}
// 1000 jobs a call, drained with results and history kept, 50 jobs a second.
async function jobsOfOurs(port) {
  const by = await ours(port, ...['enqueue_one', 'enqueue_bulk', 'drain', 'drain_beside', 'drain_worker', 'start_latency', 'waiting_bytes'].flatMap((name) => ['--only', name]));
  const same = { one: by.enqueue_one.rate, bulk: by.enqueue_bulk.rate, bytes: by.waiting_bytes.bytes, p50: by.start_latency.p50_ms, p99: by.start_latency.p99_ms };
  return {
    'fenceline, by calls': { ...same, drain: by.drain.rate },
    'fenceline, settled beside the next claim': { drain: by.drain_beside.rate },
    'fenceline, by a worker': { drain: by.drain_worker.rate },
    'raw list and scripts, same client': { one: by.enqueue_one.raw_rate, bulk: by.enqueue_bulk.raw_rate, drain: by.drain.raw_rate, bytes: by.waiting_bytes.raw_bytes },
  };
}
async function locksOfPeers() {
  const { stdout } = await run(process.execPath, ['locks.mjs'], most);
  return Object.fromEntries(lines(stdout).map(({ name, ...numbers }) => { if (numbers.overlaps) say(`${name}: ${numbers.overlaps} times two had it`); return [name, numbers]; }));
}
async function locksOfOurs(port) {
  const { lock_one: one, lock_64: many, lock_hand_over: around } = await ours(port, 'locks');
  return {
    fenceline: { pairs: one.rate, p50: one.p50_ms, p99: one.p99_ms, hand: around.rate, hp50: around.p50_ms, hp99: around.p99_ms, longest: around.longest_wait_ms, jain: around.jain },
    'fenceline, 64 threads': { pairs: many.rate, p50: many.p50_ms, p99: many.p99_ms },
    'SET NX PX and a script, same client, retry 10 ms': { pairs: one.raw_rate, hand: around.polled_rate, hp50: around.polled_p50_ms, hp99: around.polled_p99_ms, longest: around.polled_longest_wait_ms, jain: around.polled_jain },
  };
}

const seen = { jobs: {}, locks: {} };
for (const mode of modes) {
  const server = await start(mode);
  if (!server) { say('there is no redis-server; install the package redis-server'); process.exit(69); }
  try {
    for (let rep = 1; rep <= reps; rep++) for (const kind of what) {
      const sides = kind === 'jobs' ? [['fenceline', () => jobsOfOurs(server.port)], ['BullMQ', jobsOfBullmq]] : [['locks of fenceline', () => locksOfOurs(server.port)], ['locks of others', locksOfPeers]];
      if (rep % 2 === 0) sides.reverse();                                              // who goes first alternates
      for (const [name, measure] of sides) {
        say(`fsync ${mode}, ${name}, repetition ${rep} of ${reps}`);
        for (const [side, numbers] of Object.entries(await measure())) ((seen[kind][mode] ??= {})[side] ??= []).push(numbers);
      }
    }
  } finally { await server.stop(); }
}

// "3x": ours is three times as good, by the median of the repetitions.
const cell = (rows, key, digits, first, less) => {
  const xs = rows.map((r) => r[key]).filter(Number.isFinite); if (!xs.length) return '';
  const text = reps > 1 ? `${round(median(xs), digits)} (${round(Math.min(...xs), digits)}..${round(Math.max(...xs), digits)})` : `${round(xs[0], digits)}`;
  if (!first) return text;
  const times = rows.map((r, i) => (less ? r[key] / first[i][key] : first[i][key] / r[key])).filter(Number.isFinite);
  return `${text}, ${round(median(times), 2)}x`;
};
const table = (of, columns) => {
  console.log(`\n| fsync | | ${columns.map((c) => c.title).join(' | ')} |\n|${' --- |'.repeat(columns.length + 2)}`);
  for (const [mode, sides] of Object.entries(of)) for (const [side, rows] of Object.entries(sides)) {
    const first = side.startsWith('fenceline') ? undefined : sides[Object.keys(sides).find((name) => name.startsWith('fenceline'))];
    console.log(`| ${mode} | ${side} | ${columns.map((c) => cell(rows, c.key, c.digits ?? 0, c.plain ? undefined : first, c.less)).join(' | ')} |`);
  }
};
console.log(`\nmedian (lowest..highest) of ${reps}; "3x": fenceline is three times as good, by the median of the repetitions. Drains of ${n} jobs.`);
if (what.includes('jobs')) table(seen.jobs, [{ key: 'one', title: 'one by one, jobs/s' }, { key: 'bulk', title: 'bulk of 1000, jobs/s' }, { key: 'drain', title: 'drain, 1 process, jobs/s' }, { key: 'bytes', title: 'bytes a waiting job', less: true }, { key: 'p50', title: 'start p50 ms', digits: 2, less: true }, { key: 'p99', title: 'start p99 ms', digits: 2, less: true }]);
if (what.includes('locks')) table(seen.locks, [{ key: 'pairs', title: 'pairs/s, one caller' }, { key: 'p50', title: 'p50 ms', digits: 3, plain: true }, { key: 'p99', title: 'p99 ms', digits: 3, plain: true }, { key: 'hand', title: 'hand-overs/s, 50 waiters' }, { key: 'hp50', title: 'hand-over p50 ms', digits: 3, plain: true }, { key: 'hp99', title: 'p99 ms', digits: 2, plain: true }, { key: 'longest', title: 'longest wait ms', plain: true }, { key: 'jain', title: 'Jain', digits: 3, plain: true }]);
