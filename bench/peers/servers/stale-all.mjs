// The stale test of all peers and ours, one after another: node stale-all.mjs [PEER...]. Worker A starts a job and is stopped for longer than
// its lease; B takes the job over and works for some seconds; A goes on meanwhile. What can A still do? See stale.mjs for the peers.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { TMP, now, sleep } from './common.mjs';
const program = process.env.FENCELINE, env = { ...process.env, FENCELINE_STORE: process.env.FENCELINE_TEST_POSTGRES, FENCELINE_NAMESPACE: 'stale', FENCELINE_LOG: 'info' };
const log = `${TMP}/stale-fenceline.log`; fs.mkdirSync(TMP, { recursive: true }); fs.writeFileSync(log, '');
const lines = () => fs.readFileSync(log, 'utf8').split('\n').filter(Boolean);
const wait = async (re, ms) => { const t = now(); for (;;) { if (lines().some((l) => re.test(l))) return true; if (now() - t > ms) return false; await sleep(10); } };
const children = (pid) => fs.readdirSync('/proc').filter((p) => /^\d+$/.test(p)).filter((p) => { try { return +fs.readFileSync(`/proc/${p}/stat`, 'utf8').replace(/.*\) . /, '').split(' ')[0] === pid; } catch { return false; } }).flatMap((p) => [+p, ...children(+p)]);

// Ours: the command is stopped with its worker, as when a machine sleeps.
async function ours() {
  const T = now(), say = (s) => console.log(`[fenceline pause] +${((now() - T) / 1e3).toFixed(2)}s ${s}`);
  const show = (id) => { const j = JSON.parse(spawnSync(program, ['job', 'show', id, '--json'], { env }).stdout); return `${j.state}, fence ${j.fence}, deliveries ${j.deliveries}, result ${j.result?.trim() ?? 'none'}`; };
  const worker = (label, hold) => {
    const k = spawn(program, ['work', 'stale', '--ttl', '2s', '--', '/bin/sh', '-c', `echo "${label} start" >>"$1"; sleep ${hold}; echo "${label} EFFECT" >>"$1"; echo '"${label}"'`, 'sh', log], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    k.words = ''; k.stderr.on('data', (d) => { k.words += d; }); k.over = new Promise((r) => k.on('exit', r)); return k;
  };
  spawnSync(program, ['migrate'], { env });
  const [id] = JSON.parse(spawnSync(program, ['enqueue', 'stale', '--payload', '1', '--json'], { env }).stdout).ids;
  const a = worker('A', 1.5); if (!(await wait(/A start/, 10e3))) { say('A never started: ' + a.words); a.kill('SIGKILL'); return; }
  await sleep(200); const stopped = [a.pid, ...children(a.pid)]; for (const p of stopped) process.kill(p, 'SIGSTOP'); const t = now(); say('A stopped in the middle of its command');
  const b = worker('B', 6); const took = await wait(/B start/, 30e3); say(took ? `B started the same job ${((now() - t) / 1e3).toFixed(2)} s after the pause` : 'B never started it');
  await sleep(500); say('job before A goes on: ' + show(id));
  for (const p of stopped) { try { process.kill(p, 'SIGCONT'); } catch { /* gone */ } }
  await sleep(3000); say('A went on; its side effect was written: ' + lines().some((l) => /A EFFECT/.test(l)));
  say('A was told: ' + (a.words.split('\n').map((l) => { try { return JSON.parse(l); } catch { return {}; } }).filter((e) => /lost|stale|refused/.test(e.event ?? '')).map((e) => e.event).join(', ') || 'nothing'));
  say('job with B still at work: ' + show(id));
  await wait(/B EFFECT/, 15e3); await sleep(1500); say('job after B finished: ' + show(id));
  say(`runs started ${lines().filter((l) => / start/.test(l)).length}, side effects ${lines().filter((l) => /EFFECT/.test(l)).length}`);
  for (const k of [a, b]) { k.kill('SIGTERM'); await Promise.race([k.over, sleep(10e3)]); k.kill('SIGKILL'); }
}

const wanted = process.argv.slice(2);
if (!wanted.length || wanted.includes('fenceline')) await ours();
for (const name of wanted.length ? wanted.filter((w) => w !== 'fenceline') : ['graphile-worker', 'pg-boss', 'bullmq-pg'])
  spawnSync(process.execPath, ['stale.mjs', 'pause', name], { stdio: 'inherit' });
