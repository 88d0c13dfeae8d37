// Locks of clients of one Redis server: node locks.mjs [secs=3] [waiters=50]. One line of JSON for each. Alone: one client, acquire and release in turn. Contended: waiters
// hand one lock around and hold it for nothing; only a hand-over to another one counts.
import crypto from 'node:crypto';
import Redis from 'ioredis';
import Redlock from 'redlock';
import { Mutex } from 'redis-semaphore';
import { REDIS_PORT, now, pct, sleep } from './common.mjs';
const opt = Object.fromEntries(process.argv.slice(2).map((r) => r.split('='))), secs = +(opt.secs || 3), W = +(opt.waiters || 50);
const RELEASE = `if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end`;
const redis = () => { const r = new Redis(REDIS_PORT, '127.0.0.1'); r.defineCommand('rel', { numberOfKeys: 1, lua: RELEASE }); return r; };
const redlock = (settings) => async () => {
  const r = redis(), l = new Redlock([r], { retryCount: -1, ...settings }); l.on('clientError', () => {});
  return { lock: (k) => l.lock(k, 10000), unlock: (k, t) => t.unlock(), close: () => r.disconnect() };
};
// open() -> { lock(key) -> token, unlock(key, token), close() }
const kinds = {
  'redlock 4.2.0': redlock({}),                                                        // asks again every 200 ms
  'redlock 4.2.0, retry 10 ms': redlock({ retryDelay: 10, retryJitter: 5 }),
  'redis-semaphore 5.8.0': async () => { const r = redis(); return { async lock(k) { const m = new Mutex(r, k, { acquireTimeout: 60000 }); await m.acquire(); return m; }, unlock: (k, m) => m.release(), close: () => r.disconnect() }; },
  'SET NX PX and a script, ioredis, retry 10 ms': async () => {
    const r = redis();
    return { async lock(k) { const t = crypto.randomUUID(); while (!(await r.set(k, t, 'PX', 10000, 'NX'))) await sleep(5 + Math.random() * 10); return t; }, unlock: (k, t) => r.rel(k, t), close: () => r.disconnect() };
  },
};
for (const [name, open] of Object.entries(kinds)) {
  const alone = await open(), took = []; for (let i = 0; i < 200; i++) await alone.unlock('warm', await alone.lock('warm'));
  let began = now(); while (now() - began < secs * 1e3) { const t = now(); await alone.unlock('alone', await alone.lock('alone')); took.push(now() - t); }
  const pairs = took.length / (now() - began) * 1e3; await alone.close();
  const clients = await Promise.all(Array.from({ length: W }, open)), counts = new Array(W).fill(0), hand = [], waits = []; let given = 0, owner = -1, stop = false, held = 0, overlaps = 0;
  began = now();
  await Promise.all(clients.map(async (c, i) => {
    while (!stop) {
      const asked = now(), token = await c.lock('hot'), got = now(); if (held++) overlaps++;
      if (owner !== i && owner >= 0 && !stop) hand.push(got - given);
      owner = i; waits.push(got - asked); if (!stop) counts[i]++;
      await new Promise((x) => setImmediate(x)); held--; given = now(); await c.unlock('hot', token);
      if (now() - began > secs * 1e3) stop = true;
    }
  }));
  await Promise.all(clients.map((c) => c.close()));
  const n = counts.reduce((a, b) => a + b, 0);
  console.log(JSON.stringify({ name, pairs, p50: pct(took, 0.5), p99: pct(took, 0.99), hand: hand.length / secs, hp50: pct(hand, 0.5), hp99: pct(hand, 0.99), longest: pct(waits, 1), jain: n * n / (W * counts.reduce((a, b) => a + b * b, 0)), overlaps }));
}
process.exit(0);
