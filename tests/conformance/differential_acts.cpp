// The verbs of the stream by which people and handlers act on jobs, queues and workers.
#include <algorithm>
#include <set>

#include "conformance/differential_stream.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

const Act kActTester{"tester", "differential"};
constexpr std::size_t kLongLog = 600'000;  // two of them are more than is kept

}  // namespace

void DifferentialStream::open_batch() {
  static const std::vector<std::string> names{"monday", "tuesday", "wednesday", ""};
  const BatchRequest request{.ns = any_namespace(), .name = one_of(names)};
  const auto reply =
      both("open_batch", request.ns + " " + request.name, [&](Store& store) { return store.open_batch(request); });
  if (reply) note("open_batch", reply->first_seen == clock_.wall_now() ? "new" : "repeat");
}

void DifferentialStream::record() {
  RecordRequest request;
  std::string owner;
  std::vector<JobId> long_ones;
  for (const Holding& holding : some_holdings(request.ns, owner)) {
    Note note{.id = holding.id, .fence = holding.fence};
    if (one_in(2))
      note.progress = Progress{static_cast<int>(below(101)), one_in(2) ? "" : "n" + std::to_string(last_number_)};
    if (!one_in(3)) {
      std::int64_t& end = log_ends_[holding];
      note.log = std::string("l\0\xfd", 3) + std::to_string(chance_());
      if (one_in(40)) {  // and another one of that length below
        note.log = std::string(kLongLog, static_cast<char>('a' + below(26)));
        Note first = note;
        first.log_at = end;
        end += static_cast<std::int64_t>(kLongLog);
        request.notes.push_back(std::move(first));
        long_ones.push_back(holding.id);
      }
      note.log_at = one_in(2) ? end : std::max<std::int64_t>(0, end + static_cast<std::int64_t>(below(30)) - 20);
      end = std::max(end, note.log_at + static_cast<std::int64_t>(note.log.size()));
      logged_.push_back({request.ns, holding.id});
      if (logged_.size() > 20) logged_.pop_front();
    }
    if (one_in(60)) note.log_at = -1;
    request.notes.push_back(note);
    if (one_in(6)) request.notes.push_back(note);
  }
  const auto reply = both("record", text_of(request), [&](Store& store) { return store.record(request); });
  if (!reply) return;
  for (const Refusal& refusal : reply->refused) note("record", std::string(to_string(refusal.reason)));
  if (reply->refused.size() < request.notes.size()) note("record", reply->refused.empty() ? "ok" : "mixed");
  for (const JobId& id : long_ones) compare_log(request.ns, id);
}

ActRequest DifferentialStream::made_up_act() {
  ActRequest request{.request = std::to_string(++last_number_), .act = kActTester};
  std::set<JobId> ids;
  const std::uint64_t size = one_in(20) ? 0 : 1 + below(3);
  for (std::uint64_t i = 0; i < size; ++i) {
    auto [ns, id] = any_job();
    if (request.ns.empty()) request.ns = ns;
    if (ids.insert(id).second || one_in(30)) request.ids.push_back(id);
  }
  if (request.ns.empty()) request.ns = any_namespace();
  if (one_in(10)) request.only = static_cast<JobState>(below(6));
  if (one_in(40)) request.act.actor = "";
  return request;
}

void DifferentialStream::send_act(const std::string& verb, const ActRequest& request) {
  std::map<JobId, Job> before;
  for (const JobId& id : request.ids) {
    if (const auto job = oracle_.job(request.ns, id); job && *job) before[id] = **job;
  }
  const bool repeat =
      std::any_of(acts_.begin(), acts_.end(), [&](const auto& act) { return act.second.request == request.request; });
  const WallTime now = clock_.wall_now();
  const auto reply = both(verb, text_of(request), [&](Store& store) {
    return verb == "cancel" ? store.cancel(request) : store.retry(request);
  });
  if (!reply) return;
  if (!repeat) acts_.emplace_back(verb, request);
  if (acts_.size() > 20) acts_.pop_front();
  if (repeat) note(verb, "repeat");
  std::set<JobId> refused;
  for (const ActRefusal& refusal : reply->refused) {
    note(verb, std::string(to_string(refusal.reason)));
    refused.insert(refusal.id);
  }
  for (const auto& [id, job] : before) {
    if (repeat || refused.contains(id)) continue;
    note(verb, job.state == JobState::ready && job.run_at > now ? "delayed" : std::string(to_string(job.state)));
    if (job.lease_left && *job.lease_left > 0s) look_at_revoked(request.ns, job);
  }
}

void DifferentialStream::look_at_revoked(const std::string& ns, const Job& job) {
  compare_facts(ns, job.id);
  compare_orders(ns, job.owner);
  const auto ready = oracle_.jobs({.ns = ns, .queue = job.queue, .state = JobState::ready, .limit = 1000});
  for (const Job& other : ready->jobs) {
    const bool meets = (!job.group.empty() && other.group == job.group) ||
                       (!job.limit_key.empty() && other.limit_key == job.limit_key);
    if (meets) compare_facts(ns, other.id);
  }
  ClaimRequest request = made_up_claim();
  request.ns = ns;
  request.stage = job.stage;
  send_claim(request);
  if (one_in(2)) return;
  const StoppedRequest stopped{.ns = ns, .owner = job.owner, .jobs = {{job.id, job.fence}}};
  if (both("stopped", ns + " " + job.owner, [&](Store& store) { return store.stopped(stopped); }))
    note("stopped", "freed");
}

void DifferentialStream::cancel() {
  ActRequest request = made_up_act();
  if (!acts_.empty() && one_in(5) && acts_.back().first == "cancel") request = acts_.back().second;
  send_act("cancel", request);
}

void DifferentialStream::retry() {
  ActRequest request = made_up_act();
  if (!acts_.empty() && one_in(5)) {
    const auto& [verb, earlier] = acts_[acts_.size() - 1 - below(std::min<std::size_t>(acts_.size(), 5))];
    if (verb == "retry") request = earlier;
  } else if (one_in(6)) {  // one whose unique key another has by now
    std::set<std::pair<std::string, std::string>> taken;
    one_such(request.ns, [&](const Job& job) {
      if (!is_finished(job.state) && !job.key.empty()) taken.emplace(job.queue, job.key);
      return false;
    });
    const auto found = one_such(request.ns, [&](const Job& job) {
      return is_finished(job.state) && job.state != JobState::done && taken.contains({job.queue, job.key});
    });
    if (found) request.ids = {*found};
  }
  send_act("retry", request);
}

void DifferentialStream::purge() {
  PurgeRequest request{.ns = any_namespace(),
                       .queue = one_in(2) ? "q" : "r",
                       .up_to = kAllOfThem,
                       .limit = static_cast<int>(1 + below(20)),
                       .act = kActTester};
  if (one_in(8)) request.queue = "none";
  if (one_in(10)) request.limit = 0;
  const auto reply =
      both("purge", request.ns + " " + request.queue, [&](Store& store) { return store.purge(request); });
  if (reply) note("purge", reply->more ? "more" : reply->cancelled > 0 ? "all" : "nothing");
}

void DifferentialStream::set_queue() {
  static const std::vector<int> limits{0, 0, 0, 1, 2, 4};
  static const std::vector<Duration> keeps{24h, 48h, 24h * 10};
  SetQueueRequest request{.ns = any_namespace(), .queue = one_in(2) ? "q" : "r", .act = kActTester};
  if (one_in(2)) request.change.limit = one_of(limits);
  if (one_in(2)) request.change.limit_per_key = one_of(limits);
  if (one_in(4)) request.change.keep_done = one_of(keeps);
  if (one_in(4)) request.change.keep_dead = one_of(keeps);
  if (one_in(8)) request.change.limit = -1;
  if (both("set_queue", request.ns + " " + request.queue, [&](Store& store) { return store.set_queue(request); }))
    note("set_queue", "ok");
}

// A pause ends soon: a stream in which nothing is granted shows nothing.
void DifferentialStream::pause() {
  PauseRequest request{.ns = any_namespace(), .queue = one_in(2) ? "q" : "r", .paused = one_in(4), .act = kActTester};
  if (one_in(30)) request.queue = "never";
  if (one_in(20)) request.queue = "a b";
  if (both("pause", request.ns + " " + request.queue, [&](Store& store) { return store.pause(request); }))
    note("pause", request.paused ? "paused" : "resumed");
}

// In which order a store removes what is over is its own affair, so only the whole is compared.
void DifferentialStream::tidy() {
  TidyRequest request{.ns = one_in(10) ? "none" : any_namespace(),
                      .limit = static_cast<int>(one_in(2) ? 1 + below(5) : 1000)};
  if (one_in(10)) request.limit = 0;
  constexpr int kStepsMost = 2000;
  const auto all = [&](Store& store) -> std::pair<std::string, std::int64_t> {
    std::int64_t removed = 0;
    for (int step = 0; step < kStepsMost; ++step) {
      const auto reply = store.tidy(request);
      if (!reply) return {std::string(to_string(reply.error().code)), removed};
      if (reply->removed > 4 * request.limit)
        return {"too many at once", removed};  // so many jobs, as many locks, ticks and schedules
      removed += reply->removed;
      if (!reply->more) return {"removed " + std::to_string(removed), removed};
    }
    return {"never ends", removed};
  };
  const auto expected = all(oracle_);
  compare("tidy", request.ns, expected.first, all(store_).first);
  if (expected.first == "invalid") return note("tidy", "invalid");
  note("tidy", expected.second == 0 ? "nothing" : expected.second > request.limit ? "steps" : "removed");
}

// Most often to go on: a stream in which nobody is granted anything shows nothing. A stop lasts until the row is gone.
void DifferentialStream::order_worker() {
  OrderRequest request{.ns = any_namespace(),
                       .owner = one_in(8) ? "unknown" : any_owner(),
                       .order = WorkerOrder::work,
                       .act = kActTester};
  if (one_in(4)) request.order = WorkerOrder::quiet;
  if (one_in(10)) request.order = WorkerOrder::stop;
  if (one_in(10)) request.owner = "";
  const auto send = [&] {
    const bool ok = both("order_worker", request.ns + " " + request.owner, [&](Store& store) {
                      return store.order_worker(request);
                    }).has_value();
    if (ok) note("order_worker", "ok");
    return ok;
  };
  if (!send()) return;
  if (one_in(2)) compare_orders(request.ns, request.owner);
  if (request.order != WorkerOrder::stop || one_in(2)) return;
  request.order = WorkerOrder::work;  // too late
  send();
}

void DifferentialStream::orders() { compare_orders(one_in(15) ? "" : any_namespace(), any_owner()); }

void DifferentialStream::compare_orders(const std::string& ns, const std::string& owner) {
  const auto reply = both("orders", ns + " " + owner, [&](Store& store) { return store.orders(ns, owner); });
  if (!reply) return;
  note("orders", std::string(to_string(reply->order)));
  if (!reply->revoked.empty()) note("orders", "revoked");
}

void DifferentialStream::stopped() {
  StoppedRequest request{.ns = any_namespace(), .owner = any_owner()};
  const auto revoked = oracle_.orders(request.ns, request.owner);
  if (one_in(3)) request.jobs = some_holdings(request.ns, request.owner);
  else if (revoked) request.jobs = revoked->revoked;
  if (one_in(15)) request.owner = "";
  const auto reply =
      both("stopped", request.ns + " " + request.owner, [&](Store& store) { return store.stopped(request); });
  if (!reply) return;
  const auto left = oracle_.orders(request.ns, request.owner);
  note("stopped", left && revoked && left->revoked.size() < revoked->revoked.size() ? "freed" : "nothing");
}

}  // namespace fenceline::test
