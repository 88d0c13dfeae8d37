// Reads the lines of cron_cases; for each, the next ticks by croner: a list of seconds, or {"error": …}.
import { createInterface } from 'node:readline';
import { Cron } from 'croner';

for await (const line of createInterface({ input: process.stdin })) {
  const { cron, zone, from, ticks } = JSON.parse(line);
  try {
    const found = new Cron(cron, { timezone: zone, paused: true }).nextRuns(ticks.length, new Date(from * 1000));
    console.log(JSON.stringify(found.map((tick) => tick.getTime() / 1000)));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
