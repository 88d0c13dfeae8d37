// The suite that every store passes, and the random stream, over the SQL functions that applications call: enqueue,
// claim, extend and settle go through them, each call in a transaction of its own between BEGIN and COMMIT, where the
// notes are worked off. What these functions do not say is taken from the store beside it: how many jobs of an enqueue
// were there already; of a claim, what is due next and what it says of orders and of jobs that must run alone; what a
// claimed job has besides payload and counters. A batch of renewals or outcomes is one transaction a job, since a
// refusal ends its transaction. The outcome of an item of a pipeline, which they refuse, goes to the store itself, and
// so does everything else (cancel, looks, effects outside of transactions), which is not a function for applications.
#include <gtest/gtest.h>

#include <charconv>
#include <mutex>

#include "backends/memory/memory_store.hpp"
#include "backends/postgres/inside_session.hpp"
#include "backends/postgres/json_wire.hpp"
#include "backends/postgres/testing.hpp"
#include "conformance/conformance.hpp"
#include "conformance/differential.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::test {
namespace {

using Value = Session::Value;

std::string micros(Duration duration) { return std::to_string(duration.count()) + " microseconds"; }
Value unless_zero(Duration duration) { return duration == Duration{0} ? Value{} : Value{micros(duration)}; }
Value unless_empty(const std::string& text) { return text.empty() ? Value{} : Value{text}; }
Value hex_unless_empty(const std::string& bytes) {
  return bytes.empty() ? Value{} : Value{"\\x" + postgres::to_hex(bytes)};
}

std::string array_of(const std::vector<std::string>& texts) {
  std::string out = "{";
  for (const std::string& text : texts) {
    out += out.size() > 1 ? ",\"" : "\"";
    for (const char c : text) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    out += '"';
  }
  return out + "}";
}

// "reason=superseded sent=5 current=7"
Refusal refusal_of(const JobId& id, const std::string& detail) {
  const auto after = [&](const std::string& name) {
    const std::size_t from = detail.find(name + "=") + name.size() + 1;
    return detail.substr(from, detail.find(' ', from) - from);
  };
  return {id, std::stoll(after("sent")), std::stoll(after("current")), reason_from(after("reason"))};
}

class InsideStore final : public ForwardingStore {
 public:
  InsideStore(PostgresStore& inner, const std::string& url, const Clock& clock)
      : ForwardingStore(inner), inner_(inner), session_(url), clock_(clock) {}

  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
    EnqueueReply reply;
    for (const NewJob& job : request.jobs) reply.existing += must(inner_.job(request.ns, job.id)) ? 1 : 0;
    const Result<void> done = in_transaction([&]() -> Session::Answer {
      Session::Answer answer;
      for (const NewJob& job : request.jobs) {
        answer = session_.ask(
            "select enqueue($1, $2::text, key => $3, key_for => $4, run_at => timestamptz 'epoch' + $5::interval, "
            "delay => $6, priority => $7, group_key => $8, limit_key => $9, "
            "max_attempts => $10, timeout => $11, backoff => $12, backoff_most => $13, tags => $14, traceparent => "
            "$15, stage => $16, id => $17, namespace => $18)",
            {job.queue, job.payload, unless_empty(job.key), unless_zero(job.key_for),
             job.at ? Value{micros(job.at->time_since_epoch())} : Value{}, unless_zero(job.delay),
             std::to_string(job.priority), unless_empty(job.group), unless_empty(job.limit_key),
             std::to_string(job.attempts_max), unless_zero(job.timeout), micros(job.backoff.first),
             micros(job.backoff.most), array_of(job.tags), unless_empty(job.traceparent), job.stage, to_string(job.id),
             request.ns});
        if (!answer.ok()) return answer;
        reply.ids.push_back(*parse_uuid(answer.text()));
        if (reply.ids.back() != job.id) reply.existing += 1;
      }
      return answer;
    });
    if (!done) return std::unexpected(done.error());
    return reply;
  }

  Result<ClaimReply> claim(const ClaimRequest& request) override {
    if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
    ClaimReply reply;
    Session::Answer granted;
    const Result<void> done = in_transaction([&]() -> Session::Answer {
      const std::vector<Value> values{array_of(request.queues), request.owner, std::to_string(request.limit),
                                      micros(request.ttl),      request.stage, request.holds_others ? "t" : "f",
                                      request.request,          request.ns};
      // What the whole of it says, of a claim that never was: what the next one finds is as before.
      Session::Answer head = session_.ask("savepoint whole");
      head = session_.ask(
          "select q, seq, run_at from claim_jobs($8, $1::text[], $5, $2, $7, $3, (extract(epoch from $4::interval) * "
          "1000000)::bigint, $6, true, null, null, null, null)",
          values);
      if (!head.ok()) return head;
      session_.must_ask("rollback to whole");
      granted = session_.ask(
          "select job, fence, from_queue, payload, delivery, failures, extract(epoch from lease_left) * 1000000, "
          "taken_over_from "
          "from claim($1::text[], $2, $3, $4, $5, $6, $7, $8)",
          values);
      if (!granted.ok()) return granted;
      std::size_t again = 0;
      for (std::size_t row = 0; row < head.rows.size(); ++row) {
        if (head.number(row, 0) > 0) {
          again += 1;
          continue;
        }
        reply.alone_waiting = (head.number(row, 1) & 1) != 0;
        reply.ordered = (head.number(row, 1) & 2) != 0;
        reply.buried = head.number(row, 1) / 8;
        if (head.rows[row][2]) reply.next_due = Duration{head.number(row, 2)};
      }
      if (again != granted.rows.size())
        throw std::runtime_error("claim gives " + std::to_string(granted.rows.size()) +
                                 " jobs, and the verb behind it " + std::to_string(again));
      return head;
    });
    if (!done) return std::unexpected(done.error());
    for (std::size_t row = 0; row < granted.rows.size(); ++row) {
      ClaimedJob one;
      const JobId id = *parse_uuid(granted.text(row, 0));
      one.job = job_as_shown(request.ns, id);
      if (one.job.fence != granted.number(row, 1) || one.job.queue != granted.text(row, 2) ||
          one.job.payload != granted.text(row, 3) || one.job.deliveries != granted.number(row, 4) ||
          one.job.failures != granted.number(row, 5))
        throw std::runtime_error("claim says otherwise than the store of job " + to_string(id));
      one.left = Duration{static_cast<std::int64_t>(std::stod(granted.text(row, 6)))};
      one.job.lease_left = one.left;
      one.forced = granted.rows[row][7].has_value();
      one.previous_owner = granted.text(row, 7);
      reply.jobs.push_back(std::move(one));
    }
    return reply;
  }

  Result<ExtendReply> extend(const ExtendRequest& request) override {
    if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
    ExtendReply reply{.left = request.ttl};
    for (const Holding& job : request.jobs) {
      const Result<void> done =
          for_holder(reply.refused, job.id, "select extend($1, $2, $3, $4, $5)",
                     {to_string(job.id), std::to_string(job.fence), micros(request.ttl), request.owner, request.ns});
      if (!done) return std::unexpected(done.error());
    }
    return reply;
  }

  Result<SettleReply> settle(const SettleRequest& request) override {
    if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
    SettleReply reply;
    for (const Settlement& one : request.settlements) {
      const Outcome& outcome = one.outcome;
      const Result<void> done = for_holder(
          reply.refused, one.id,
          "select settle($1, $2, $3, result => $4, error => $5, retry_in => $6, exit_status => $7, worker => $8, "
          "namespace => $9)",
          {to_string(one.id), std::to_string(one.fence), std::string(to_string(outcome.kind)),
           hex_unless_empty(outcome.result), hex_unless_empty(outcome.error), micros(outcome.retry_in),
           outcome.exit_status ? Value{std::to_string(*outcome.exit_status)} : Value{}, request.owner, request.ns});
      if (done) continue;
      if (last_.message.find(" is an item of pipeline ") == std::string::npos) return std::unexpected(done.error());
      SettleRequest of_item = request;
      of_item.settlements = {one};
      const Result<SettleReply> settled = inner_.settle(of_item);
      if (!settled) return settled;
      reply.refused.insert(reply.refused.end(), settled->refused.begin(), settled->refused.end());
    }
    return reply;
  }

 private:
  Job job_as_shown(const std::string& ns, const JobId& id) { return must(inner_.job(ns, id)).value(); }

  template <class Body>
  Result<void> in_transaction(Body body) {
    const std::lock_guard lock(mutex_);
    session_.must_ask("begin; select set_config('fenceline.lease', '" +
                      std::to_string(clock_.now().time_since_epoch().count()) +
                      "', true), set_config('fenceline.wall', '" +
                      std::to_string(clock_.wall_now().time_since_epoch().count()) + "', true)");
    last_ = body();
    if (last_.ok()) last_ = session_.ask("commit");
    else session_.must_ask("rollback");
    if (last_.ok()) return {};
    return std::unexpected(last_.error());
  }
  Result<void> for_holder(std::vector<Refusal>& refused, const JobId& id, const std::string& sql,
                          const std::vector<Value>& values) {
    const Result<void> done = in_transaction([&] { return session_.ask(sql, values); });
    // A repeat adds nothing; that it is one, the verb does not say.
    if (done || last_.state == "FL007") return {};
    if (last_.state != "FL003" && last_.state != "FL004" && last_.state != "FL005") return done;
    refused.push_back(refusal_of(id, last_.detail));
    return {};
  }

  PostgresStore& inner_;
  Session session_;
  const Clock& clock_;
  std::mutex mutex_;
  Session::Answer last_;
};

class InsideHarness final : public StoreHarness {
 public:
  InsideHarness() {
    HandMovedSchema::shared().empty();
    open();
  }

  Store& store() override { return *store_; }
  void let_time_pass(Duration duration) override { clock_.advance(duration); }
  WallTime wall() override { return clock_.wall_now(); }
  void set_wall(WallTime to) override { clock_.set_wall(to); }
  bool set_server_clock(Duration by) override {
    clock_.set_server_clock(by);
    return true;
  }
  bool reopen() override {
    store_.reset();
    inner_.reset();
    open();
    return true;
  }

 private:
  void open() {
    inner_ = HandMovedSchema::shared().open(runtime_, clock_);
    store_ = std::make_unique<InsideStore>(*inner_, HandMovedSchema::shared().url(), clock_);
  }

  ThreadRuntime runtime_;
  ManualClock clock_;
  std::unique_ptr<PostgresStore> inner_;
  std::unique_ptr<InsideStore> store_;
};

std::unique_ptr<StoreHarness> open_inside() { return std::make_unique<InsideHarness>(); }

TEST(InsideDifferential, AnswersAsTheMemoryStoreDoes) {
  const char* seeds = std::getenv("FENCELINE_SEEDS");
  const std::uint64_t last = seeds ? std::strtoull(seeds, nullptr, 10) : 1;
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    ManualClock clock;
    ThreadRuntime runtime;
    MemoryStore oracle(clock);
    HandMovedSchema::shared().empty();
    const auto inner = HandMovedSchema::shared().open(runtime, clock);
    InsideStore store(*inner, HandMovedSchema::shared().url(), clock);
    const DifferentialReport report = run_differential(oracle, store, clock, {.seed = seed, .operations = 4'000});
    ASSERT_FALSE(report.difference) << "seed " << seed << ": " << *report.difference;
  }
}

}  // namespace
}  // namespace fenceline::test

// What is about jobs in the hands of producers and workers. The rest of the suite would only run the store's own verbs
// once more.
FENCELINE_CONFORMANCE_SUITE(Inside, JobConformance, &fenceline::test::open_inside);
FENCELINE_CONFORMANCE_SUITE(Inside, KeyConformance, &fenceline::test::open_inside);
FENCELINE_CONFORMANCE_SUITE(Inside, GroupConformance, &fenceline::test::open_inside);
FENCELINE_CONFORMANCE_SUITE(Inside, LimitConformance, &fenceline::test::open_inside);
FENCELINE_CONFORMANCE_SUITE(Inside, ActConformance, &fenceline::test::open_inside);
