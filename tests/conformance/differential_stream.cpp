#include "conformance/differential_stream.hpp"

#include <algorithm>
#include <set>

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

// Times are multiples of this, so that leases and delays often end at the very moment of a call.
constexpr Duration kBeat = 250ms;
constexpr std::uint64_t kManyJobs = 60;  // in one call, now and then
constexpr int kOperationsBetweenListings = 100;
constexpr int kOperationsInAMood = 250;

const std::vector<std::string> kNamespaces{"one", "two"};
const std::vector<std::string> kOwners{"a", "b", "c", "d"};
const std::vector<std::string> kQueues{"q", "r"};
const std::vector<std::string> kKeys{"k1", "k2", "k3"};
const std::vector<std::string> kGroups{"g", "h"};
const std::vector<std::string> kLimitKeys{"x", "y"};
const std::vector<std::string> kTags{"blue", "red"};  // in their order
const std::vector<std::string> kBadNames{"", "../x", "a b", std::string("n\0l", 3), "-", std::string(129, 'x')};
constexpr OutcomeKind kKinds[] = {OutcomeKind::done, OutcomeKind::failed, OutcomeKind::dead, OutcomeKind::later,
                                  OutcomeKind::given_back};

}  // namespace

DifferentialStream::DifferentialStream(Store& oracle, Store& store, ManualClock& clock, std::uint64_t seed, bool alike)
    : oracle_(oracle),
      store_(store),
      clock_(clock),
      chance_(seed),
      seed_(seed),
      alike_(alike),
      locks_(
          oracle, store, seed, [this](const std::string& verb, const std::string& answer) { note(verb, answer); },
          [this](const std::string& verb, const std::string& request, const std::string& expected,
                 const std::string& got) { compare(verb, request, expected, got); }),
      schedules_(
          oracle, store, seed, [this](const std::string& verb, const std::string& answer) { note(verb, answer); },
          [this](const std::string& verb, const std::string& request, const std::string& expected,
                 const std::string& got) { compare(verb, request, expected, got); }),
      pipelines_(
          oracle, store, seed, [this](const std::string& verb, const std::string& answer) { note(verb, answer); },
          [this](const std::string& verb, const std::string& request, const std::string& expected,
                 const std::string& got) { compare(verb, request, expected, got); }) {}

void DifferentialStream::compare(const std::string& verb, const std::string& request, const std::string& expected,
                                 const std::string& got) {
  if (difference_ || expected == got) return;
  difference_ = "seed " + std::to_string(seed_) + ", operation " + std::to_string(operations_) + ", " + verb +
                "\nrequest: " + request + "\noracle:  " + expected + "\nstore:   " + got + "\n";
}

void DifferentialStream::step() {
  ++operations_;
  if (operations_ % kOperationsInAMood == 1) workers_die_ = one_in(3);
  struct Choice {
    std::uint64_t weight;
    void (DifferentialStream::*act)();
  };
  using S = DifferentialStream;
  const std::uint64_t settling = workers_die_ ? 2 : 22;
  const std::vector<Choice> choices{
      {crowded_ ? 2u : 12u, &S::enqueue},
      {24, &S::claim},
      {1, &S::claim_with_no_fences_left},
      {4, &S::give_back},
      {settling / 2, &S::extend},
      {settling, &S::settle},
      {3, &S::job},
      {3, &S::jobs},
      {1, &S::ids},
      {4, &S::backlog},
      {4, &S::report_worker},
      {1, &S::remove_worker},
      {1, &S::workers},
      {1, &S::trail},
      {1, &S::open_batch},
      {5, &S::record},
      {4, &S::log},
      {3, &S::cancel},
      {5, &S::retry},
      {2, &S::set_queue},
      {3, &S::pause},
      {2, &S::queues},
      {12, &S::facts},
      {3, &S::attempts},
      {3, &S::order_worker},
      {3, &S::orders},
      {2, &S::stopped},
      {10, &S::begin_effect},
      {6, &S::finish_effect},
      {3, &S::resolve_effect},
      {2, &S::effects},
      {14, &S::let_time_pass},
      {1, &S::set_wall_clock},
      {alike_ && !crowded_ ? 6u : 0u, &S::enqueue_alike},
      {alike_ ? settling / 2 : 0u, &S::extend_alike},
      {alike_ ? settling : 0u, &S::settle_alike},
  };
  std::uint64_t total = 0;
  for (const Choice& choice : choices) total += choice.weight;
  std::uint64_t picked = below(total);
  for (const Choice& choice : choices) {
    if (picked < choice.weight) {
      (this->*choice.act)();
      break;
    }
    picked -= choice.weight;
  }
  locks_.step();
  schedules_.step();
  pipelines_.step();
  if (one_in(300)) remove_namespace();
  if (one_in(150)) purge();
  if (one_in(200)) raise_floor();
  if (one_in(100)) tidy();
  if (one_in(300)) {
    let_days_pass();
    if (one_in(2)) tidy();
  }
  if (operations_ % kOperationsBetweenListings == 0) compare_everything();
}

std::string DifferentialStream::any_namespace() { return one_of(kNamespaces); }
std::string DifferentialStream::any_owner() { return one_of(kOwners); }
std::string DifferentialStream::any_stage() { return one_in(4) ? "s" : ""; }
Duration DifferentialStream::any_ttl() { return 1s + kBeat * static_cast<std::int64_t>(below(one_in(5) ? 100 : 6)); }

std::vector<std::string> DifferentialStream::any_queues() {
  switch (below(4)) {
    case 0: return {"q"};
    case 1: return {"r"};
    case 2: return {"q", "r"};
    default: return {"r", "q", "none"};
  }
}

// Few keys, groups and limit keys, so that jobs often meet. Among many jobs a key is rare: one conflict refuses all.
NewJob DifferentialStream::made_up_job(bool among_many) {
  ++last_number_;
  NewJob job{
      .id = make_uuid7(clock_.wall_now(), chance_(), last_number_), .queue = one_of(kQueues), .stage = any_stage()};
  job.payload = "{\"n\":" + std::to_string(last_number_) + ",\"text\":\"\\u0000 \xc3\xa9\"}";
  job.priority = static_cast<int>(below(3)) - 1;
  if (one_in(4)) job.delay = kBeat * static_cast<std::int64_t>(below(12));
  if (one_in(3)) job.attempts_max = static_cast<int>(1 + below(3));
  if (one_in(10)) {
    job.delay = 0s;
    job.at = clock_.wall_now() + kBeat * (static_cast<std::int64_t>(below(12)) - 6);
  }
  if (one_in(among_many ? 200 : 3)) {
    job.key = one_of(kKeys);
    job.payload = one_in(6) ? "[2]" : one_in(2) ? "{\"a\":1,\"b\":[]}" : "{ \"b\": [ ], \"a\": 1.0 }";
    if (one_in(3)) job.key_for = one_in(4) ? Duration{48h} : kBeat * static_cast<std::int64_t>(below(20));
  }
  if (one_in(3)) job.group = one_of(kGroups);
  if (one_in(3)) job.limit_key = one_of(kLimitKeys);
  for (const std::string& tag : kTags) {
    if (one_in(6)) job.tags.push_back(tag);
  }
  if (one_in(8)) job.backoff = {kBeat, kBeat * 8};
  if (one_in(8)) job.timeout = 1s + kBeat * static_cast<std::int64_t>(below(8));
  if (one_in(8)) job.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  return job;
}

void DifferentialStream::enqueue() {
  EnqueueRequest request{.ns = any_namespace()};
  const std::uint64_t size = one_in(12) ? 0 : 1 + below(one_in(30) && !crowded_ ? kManyJobs : 4);
  // As most producers send them: nothing but id and payload tells the jobs apart.
  const bool alike = one_in(3);
  std::set<JobId> ids;
  for (std::uint64_t i = 0; i < size; ++i) {
    NewJob job = made_up_job(size > 4);
    if (alike) {
      const NewJob& first = request.jobs.empty() ? job : request.jobs.front();
      job = {.id = job.id,
             .queue = first.queue,
             .stage = first.stage,
             .payload = job.payload,
             .priority = first.priority,
             .delay = first.delay};
    }
    if (!enqueued_.empty() && one_in(size > 4 ? 100 : 3))
      std::tie(request.ns, job) = enqueued_[enqueued_.size() - 1 - below(std::min<std::size_t>(enqueued_.size(), 200))];
    if (one_in(size > 4 ? 400 : 10)) job.payload = "[]";
    if (one_in(size > 4 ? 400 : 40)) job.priority = 5000;
    if (ids.insert(job.id).second || one_in(10 * size)) request.jobs.push_back(job);
  }
  if (one_in(30)) request.ns = one_of(kBadNames);
  const auto reply = both("enqueue", text_of(request), [&](Store& store) { return store.enqueue(request); });
  if (!reply) return;
  for (std::size_t i = 0; i < request.jobs.size(); ++i) {
    const NewJob& job = request.jobs[i];
    const bool known = std::any_of(enqueued_.begin(), enqueued_.end(), [&](const auto& earlier) {
      return earlier.first == request.ns && earlier.second.id == job.id;
    });
    if (reply->ids[i] != job.id) note("enqueue", known ? "alias" : "by_key");
    enqueued_.emplace_back(request.ns, job);
  }
  const auto existing = static_cast<std::size_t>(reply->existing);
  note("enqueue", request.jobs.empty()              ? "empty"
                  : existing == 0                   ? "ok"
                  : existing == request.jobs.size() ? "existing"
                                                    : "mixed");
}

ClaimRequest DifferentialStream::made_up_claim() {
  ClaimRequest request{.ns = any_namespace(), .queues = any_queues(), .stage = any_stage(), .owner = any_owner()};
  request.request = std::to_string(++last_number_);
  request.limit = static_cast<int>(1 + below(alike_ && one_in(3) ? kJobsAlike : one_in(10) ? kManyJobs : 4));
  request.ttl = any_ttl();
  request.holds_others = one_in(3);
  return request;
}

void DifferentialStream::claim() {
  ClaimRequest request = made_up_claim();
  if (!claims_.empty() && one_in(6))
    request = claims_[claims_.size() - 1 - below(std::min<std::size_t>(claims_.size(), 8))];
  if (one_in(40)) {
    switch (below(5)) {
      case 0: request.limit = static_cast<int>(below(2)) * 20'000; break;
      case 1: request.queues = {"q", "q"}; break;
      case 2: request.request = ""; break;
      case 3: request.stage = "a b"; break;
      default: spoil(request.ns, request.owner, request.ttl);
    }
  }
  send_claim(request);
}

void DifferentialStream::send_claim(const ClaimRequest& request) {
  const bool repeat = std::any_of(claims_.begin(), claims_.end(),
                                  [&](const ClaimRequest& earlier) { return earlier.request == request.request; });
  const auto reply = both("claim", text_of(request), [&](Store& store) { return store.claim(request); });
  if (!reply) return;
  if (!repeat) claims_.push_back(request);
  if (claims_.size() > 40) claims_.pop_front();
  for (const ClaimedJob& claimed : reply->jobs) {
    holdings_.push_back({request.ns, request.owner, {claimed.job.id, claimed.job.fence}});
    if (holdings_.size() > (alike_ ? 2 * kJobsAlike : 200)) holdings_.pop_front();
    if (claimed.forced) note("claim", "forced");
    if (must_run_alone(claimed.job.losses_in_row)) note("claim", "alone");
  }
  if (repeat) note("claim", reply->jobs.empty() ? "repeat_empty" : "repeat");
  else note("claim", reply->jobs.empty() ? "empty" : "granted");
  if (reply->jobs.size() == static_cast<std::size_t>(request.limit)) note("claim", "limit");
  if (reply->alone_waiting) note("claim", "alone_waiting");
  if (reply->ordered) note("claim", "ordered");
  if (reply->next_due) note("claim", "next_due");
  if (reply->jobs.size() == static_cast<std::size_t>(request.limit)) return;
  const auto left = oracle_.backlog({.ns = request.ns, .queues = request.queues, .stage = request.stage});
  if (left && left->blocked > 0) note("claim", "held_back");
}

// No fence is minted meanwhile, so that the stream can go on after it.
void DifferentialStream::claim_with_no_fences_left() {
  const WallTime wall = clock_.wall_now();
  clock_.set_wall(WallTime{Duration{kFenceMax + 1}});
  for (int i = 0; i < 3; ++i) send_claim(made_up_claim());
  // Only jobs that run: others would be changed at a time that never comes.
  ActRequest request{
      .ns = any_namespace(), .request = std::to_string(++last_number_), .act = {"tester", "no fence is left"}};
  if (const auto running = oracle_.jobs({.ns = request.ns, .state = JobState::running, .limit = 3}); running) {
    for (const Job& job : running->jobs) request.ids.push_back(job.id);
  }
  if (!request.ids.empty()) {
    const bool cancels = one_in(2);
    both(cancels ? "cancel" : "retry", text_of(request),
         [&](Store& store) { return cancels ? store.cancel(request) : store.retry(request); });
  }
  locks_.with_no_fences_left();
  pipelines_.with_no_fences_left();
  clock_.set_wall(wall);
}

void DifferentialStream::give_back() {
  ClaimRequest claim = made_up_claim();
  const bool known = !claims_.empty() && !one_in(5);
  if (known) claim = claims_[claims_.size() - 1 - below(std::min<std::size_t>(claims_.size(), 6))];
  GiveBackRequest request{.ns = claim.ns, .owner = claim.owner, .request = claim.request, .ttl = claim.ttl};
  if (one_in(20)) spoil(request.ns, request.owner, request.ttl);
  const auto running = [&] {
    const auto listed = oracle_.jobs({.ns = request.ns, .state = JobState::running, .limit = 1000});
    return listed ? listed->jobs.size() : 0;
  };
  const std::size_t before = running();
  const auto reply = both("give_back", claim.request + " of " + request.owner + " in " + request.ns,
                          [&](Store& store) { return store.give_back(request); });
  if (!reply) return;
  note("give_back", !known ? "before_claim" : running() < before ? "returned" : "nothing");
  if (!known) claims_.push_back(claim);  // it may still arrive
}

void DifferentialStream::spoil(std::string& ns, std::string& owner, Duration& ttl) {
  switch (below(3)) {
    case 0: ns = one_of(kBadNames); break;
    case 1: owner = one_in(2) ? "" : std::string(200, 'o'); break;
    default: ttl = one_in(2) ? 0s : 25h; break;
  }
}

std::vector<Holding> DifferentialStream::some_holdings(std::string& ns, std::string& owner) {
  std::vector<Holding> chosen;
  std::set<JobId> ids;
  ns = any_namespace();
  owner = any_owner();
  const std::uint64_t size = 1 + below(one_in(10) ? kManyJobs : 4);
  for (std::uint64_t i = 0; i < size; ++i) {
    Holding holding{make_uuid7(WallTime{}, 0, chance_()), 1};
    if (!holdings_.empty() && !one_in(12)) {
      const std::size_t reach = std::min<std::size_t>(holdings_.size(), one_in(4) ? 100 : 10);
      const Remembered& remembered = holdings_[holdings_.size() - 1 - below(reach)];
      if (chosen.empty()) {
        ns = remembered.ns;
        owner = one_in(12) ? any_owner() : remembered.owner;
      }
      if (remembered.ns != ns) continue;
      holding = remembered.holding;
    } else if (!enqueued_.empty() && one_in(2)) {
      holding = {enqueued_[below(enqueued_.size())].second.id, 0};  // perhaps never granted
    }
    if (one_in(20)) holding.fence += one_in(2) ? 1 : -1;
    if (ids.insert(holding.id).second || one_in(10 * size)) chosen.push_back(holding);
  }
  return chosen;
}

void DifferentialStream::extend() {
  ExtendRequest request;
  request.jobs = some_holdings(request.ns, request.owner);
  request.ttl = any_ttl();
  if (one_in(30)) spoil(request.ns, request.owner, request.ttl);
  const auto reply = both("extend", text_of(request), [&](Store& store) { return store.extend(request); });
  if (!reply) return;
  for (const Refusal& refusal : reply->refused) note("extend", std::string(to_string(refusal.reason)));
  if (reply->refused.empty()) note("extend", "ok");
  else if (reply->refused.size() < request.jobs.size()) note("extend", "mixed");
}

void DifferentialStream::settle() {
  SettleRequest request;
  for (const Holding& holding : some_holdings(request.ns, request.owner)) {
    Outcome outcome{.kind = kKinds[below(5)], .retry_in = kBeat * static_cast<std::int64_t>(below(4))};
    if (one_in(2)) outcome.result = std::string("r\0\xff", 3) + std::to_string(last_number_);
    if (one_in(2)) outcome.error = std::string("e\0\xfe", 3) + std::to_string(last_number_);
    if (one_in(60)) outcome.error = std::string(kErrorBytesMax + 1, 'e');
    if (one_in(2)) outcome.exit_status = static_cast<int>(below(256));
    request.settlements.push_back({holding.id, holding.fence, outcome});
  }
  if (one_in(40)) {
    Duration unused{};
    spoil(request.ns, request.owner, unused);
  }
  send_settle(request);
}

void DifferentialStream::send_settle(const SettleRequest& request) {
  std::map<JobId, Job> before;
  for (const Settlement& settlement : request.settlements) {
    if (const auto job = oracle_.job(request.ns, settlement.id); job && *job) before[settlement.id] = **job;
  }
  const auto reply = both("settle", text_of(request), [&](Store& store) { return store.settle(request); });
  if (!reply) return;
  std::set<JobId> refused;
  for (const Refusal& refusal : reply->refused) {
    note("settle", std::string(to_string(refusal.reason)));
    refused.insert(refusal.id);
  }
  if (!refused.empty() && refused.size() < request.settlements.size()) note("settle", "mixed");
  for (const Settlement& settlement : request.settlements) {
    if (refused.contains(settlement.id)) continue;
    const Job& job = before[settlement.id];
    note("settle", job.state == JobState::running ? std::string(to_string(settlement.outcome.kind)) : "repeat");
    if (job.state != JobState::running) continue;
    if (job.lease_left && *job.lease_left <= 0s) note("settle", "late");
    if (settlement.outcome.kind == OutcomeKind::failed && job.failures + 1 >= job.attempts_max)
      note("settle", "last_attempt");
  }
}

void DifferentialStream::let_time_pass() {
  const std::int64_t beats = static_cast<std::int64_t>(workers_die_ ? below(10) : below(4));
  clock_.advance(kBeat * beats + (one_in(4) ? Duration{static_cast<std::int64_t>(below(3))} : 0us));
}

// Retention, batch names and forgotten workers are a matter of days.
void DifferentialStream::let_days_pass() {
  clock_.advance(24h * static_cast<std::int64_t>(1 + below(one_in(3) ? 32 : 3)));
}

void DifferentialStream::set_wall_clock() {
  static const std::vector<Duration> offsets{0s, 0s, 1h, -1h, 10s, -10s, kBeat, -kBeat};
  const Duration offset = one_of(offsets);
  clock_.set_wall(clock_.wall_now() - wall_offset_ + offset);
  wall_offset_ = offset;
}

}  // namespace fenceline::test
