// plainjob beside us, as `fenceline bench --peer` asks for it: a line "drain N FOLDER" comes in, one line of JSON goes out.
// The jobs are added outside the measured time. From the first handler's start until its own table shows nothing pending
// or processing: with its own worker, its own settings but for synchronous=FULL (it sets NORMAL itself, which a power
// cut may cost the last commits) and a poll of 5 ms in place of a second, so that an idle moment costs it nothing.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import Database from 'better-sqlite3';
import { better, defineQueue, defineWorker } from 'plainjob';

const quiet = { debug() {}, info() {}, warn() {}, error: (...words) => console.error(...words) };
const payload = (i) => ({ number: i % 1000, user: `user-${i % 1000}`, note: 'x'.repeat(50) });
const seconds = () => Number(process.hrtime.bigint()) / 1e9;

async function drain(jobs, folder) {
  const database = new Database(path.join(folder, 'plainjob.db'));
  const queue = defineQueue({ connection: better(database), logger: quiet });
  database.pragma('synchronous = FULL');
  if (database.pragma('synchronous', { simple: true }) !== 2) throw new Error('synchronous is not FULL');
  for (let sent = 0; sent < jobs; sent += 1000)
    queue.addMany('bench', Array.from({ length: Math.min(1000, jobs - sent) }, (_, i) => payload(sent + i)));

  const pending = database.prepare('select count(*) n from plainjob_jobs where status in (0, 1)');
  let began = 0;
  let done = 0;
  const worker = defineWorker(
    'bench',
    async (job) => {
      if (done === 0) began = seconds();
      JSON.parse(job.data);
      done += 1;
      // Its loop never yields while there are jobs: without this nobody could stop it.
      if (done % 200 === 0) await new Promise((resume) => setImmediate(resume));
    },
    { queue, logger: quiet, pollIntervall: 5 },
  );
  const running = worker.start();
  while (done < jobs || pending.get().n > 0) await new Promise((resume) => setTimeout(resume, 1));
  const took = seconds() - began;
  await worker.stop();
  await running;
  queue.close();
  fs.rmSync(path.join(folder, 'plainjob.db'), { force: true });
  return { jobs: done, seconds: took };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const [verb, jobs, folder] = line.split(' ');
  if (verb !== 'drain') continue;
  console.log(JSON.stringify(await drain(Number(jobs), folder)));
}
process.exit(0);
