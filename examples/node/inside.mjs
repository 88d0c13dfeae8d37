// A worker in JavaScript on PostgreSQL, with nothing but SQL: it claims and commits, then works and completes in one transaction.
// Run `fenceline migrate` first; DATABASE_URL names the database.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 4 });

async function transaction(body) {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const answer = await body(client);
    await client.query("commit");
    return answer;
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

// The order and the job that ships it: both, or neither.
const order = (id) =>
  transaction(async (client) => {
    await client.query("insert into js_order (id) values ($1)", [id]);
    await client.query("select fenceline.enqueue('js-ship', $1::jsonb)", [JSON.stringify({ order: id })]);
  });

// One statement, committed by itself: work starts after the grant is sure. A fence comes as text: it is larger than what a double of JavaScript counts one by one, almost.
const claim = async (worker, ttl = "30 seconds") =>
  (await pool.query("select job, fence, payload from fenceline.claim('js-ship', $1, ttl => $2)", [worker, ttl])).rows[0];

// Our own row and the job's outcome are one commit.
const work = ({ job, fence, payload }, pause = async () => {}) =>
  transaction(async (client) => {
    await client.query("insert into js_parcel (order_id, fence) values ($1, $2)", [payload.order, fence]);
    await client.query("select fenceline.complete($1, $2, result => 'shipped')", [job, fence]);
    await pause();
  }).catch((error) => {
    // A first COMMIT of ours went through, though its answer was lost: the work is done.
    if (error.code !== "FL007") throw error;
  });

await pool.query("create table if not exists js_order (id int primary key)");
await pool.query("create table if not exists js_parcel (order_id int, fence bigint)");
await pool.query("truncate js_order, js_parcel"); // it may be run again
await order(1);
await work(await claim(randomUUID()));
console.log("order 1: shipped");

// A worker that is paused in its transaction for longer than its lease; another one takes over.
await order(2);
const late = await claim(randomUUID(), "1 second");
try {
  await work(late, async () => {
    await sleep(1200);
    await work(await claim(randomUUID()));
  });
  throw new Error("the late commit was accepted");
} catch (error) {
  if (error.code !== "FL004") throw error;
  console.log("order 2: the late commit was refused");
}
const { rows } = await pool.query("select fence from js_parcel where order_id = 2");
if (rows.length !== 1 || BigInt(rows[0].fence) <= BigInt(late.fence)) throw new Error(JSON.stringify(rows));
console.log("order 2: one parcel, by the worker that took over");
await pool.end();
