// Redis as BullMQ's users run it, in a folder of its own: start('everysec' or 'always'). Undefined if it is not installed.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import { TMP, sleep } from './common.mjs';
export async function start(fsync) {
  const port = await new Promise((ok) => { const s = net.createServer().listen(0, '127.0.0.1', () => { const p = s.address().port; s.close(() => ok(p)); }); });
  const folder = fs.mkdtempSync(`${TMP}/redis-`);
  const server = spawn(process.env.REDIS_SERVER || 'redis-server', ['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--appendfsync', fsync, '--save', ''], { stdio: 'ignore' });
  if (!(await new Promise((ok) => { server.once('spawn', () => ok(true)); server.once('error', () => ok(false)); }))) return undefined;
  const gone = () => server.kill('SIGKILL');
  process.once('exit', gone);
  const answers = () => new Promise((ok) => { const c = net.connect(port, '127.0.0.1', () => { c.destroy(); ok(true); }); c.once('error', () => ok(false)); });
  for (let i = 0; i < 200 && !(await answers()); i++) await sleep(25);
  process.env.PEERS_REDIS_PORT = port;
  return {
    port,
    stop: () => new Promise((ok) => { process.removeListener('exit', gone); server.once('exit', () => { fs.rmSync(folder, { recursive: true, force: true }); ok(); }); server.kill('SIGTERM'); }),
  };
}
