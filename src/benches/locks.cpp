// `fenceline bench locks`: pairs of acquire and release by one caller and by many, and one lock that goes around among
// fifty who wait for it; beside one-row commits of the raw store and, on PostgreSQL, its advisory locks, or beside what
// people write for a lock on Redis, in the same run. The callers are those that programs use: services/lock_client.hpp.
#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>

#include "bench/advisory_lock.hpp"
#include "bench/raw_lock.hpp"
#include "benches/bench.hpp"
#include "benches/work.hpp"
#include "services/lock_client.hpp"

namespace fenceline::cli {
namespace {

using bench::AdvisoryLock;
using bench::Cost;
using bench::RawLock;
using bench::RawQueue;
using bench::RawStyle;
using bench::Stopwatch;
using bench::StoreKind;

constexpr int kWaiters = 50;
constexpr std::int64_t kAdvisoryKey = 7'115'402;
constexpr Duration kRetryLeast = std::chrono::milliseconds{5};  // of those who poll: 10 ms on the average
constexpr std::uint64_t kRetrySpread = 10'000;                  // us

// The first thing that went wrong in any of several threads.
class Trouble {
 public:
  bool note(const Result<void>& result) {
    if (result) return true;
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = result.error();
    return false;
  }
  bool any() const {
    const std::lock_guard lock(mutex_);
    return first_.has_value();
  }
  Result<void> result() const {
    const std::lock_guard lock(mutex_);
    return first_ ? Result<void>(std::unexpected(*first_)) : Result<void>();
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Error> first_;
};

// Like the fork join of a program: each of several threads does `body` with its number.
void in_threads(Runtime& runtime, int threads, const std::function<void(int)>& body) {
  std::vector<Task> tasks;
  for (int i = 0; i < threads; ++i) tasks.push_back(runtime.spawn("bench", [&body, i](std::stop_token) { body(i); }));
  for (Task& task : tasks) task.join();
}

Result<void> one_pair(LockClient& locks, const std::string& name) {
  Result<HeldLock> held = locks.acquire({.names = {name}});
  if (!held) return std::unexpected(held.error());
  return held->release();
}

// Of one side: its costs round by round, and how long each pair took.
struct Pairs {
  std::vector<Cost> rounds;
  Cost round;
  std::vector<double> took_ms;

  Result<void> add(Bench& bench, const std::function<Result<void>()>& once) {
    const Stopwatch watch(bench.runtime());
    for (std::int64_t n = 0; n < bench.sizes.block; ++n) {
      const Instant began = bench.runtime().now();
      if (auto ok = once(); !ok) return ok;
      took_ms.push_back(in_milliseconds(bench.runtime().now() - began));
    }
    round += watch.stop(bench.sizes.block);
    return {};
  }
  void end_round() { rounds.push_back(std::exchange(round, {})); }
};

// What the raw store does meanwhile: on Redis a pair of its own, elsewhere a commit of one row.
class RawPair {
 public:
  static Result<RawPair> open(Bench& bench, const std::string& stem) {
    RawPair pair;
    const std::string place = bench.places.fresh(stem);
    if (bench.places.kind() == StoreKind::redis) {
      auto lock = bench::open_raw_lock(bench.runtime(), bench.places.url_of(place));
      if (!lock) return std::unexpected(lock.error());
      pair.lock_ = std::move(*lock);
      return pair;
    }
    auto queue = bench.open_raw(place, RawStyle::set_based);
    if (!queue) return std::unexpected(queue.error());
    pair.queue_ = std::move(*queue);
    pair.payload_ = bench_payloads(1);
    return pair;
  }

  Result<void> once() {
    if (queue_) return queue_->enqueue(payload_);
    const Result<bool> taken = lock_->take("alone");
    if (!taken) return std::unexpected(taken.error());
    const Result<bool> given = lock_->give("alone");
    if (!given) return std::unexpected(given.error());
    return *taken && *given ? Result<void>() : fail(Code::lost, "the raw lock of the bench was held by another");
  }

 private:
  std::unique_ptr<RawLock> lock_;
  std::unique_ptr<RawQueue> queue_;
  std::vector<std::string> payload_;
};

BenchResult pairs_result(const std::string& name, const Pairs& ours, const Pairs& raw, const Pairs& advisory) {
  BenchResult result =
      compare_sides(name, {.ours = ours.rounds, .raw = raw.rounds, .raw_set = advisory.rounds, .set_name = "advisory"});
  result.p50_ms = bench::percentile(ours.took_ms, 0.5);
  result.p99_ms = bench::percentile(ours.took_ms, 0.99);
  return result;
}

// One lock handed around: who got it how often, how long a hand-over and a wait took.
struct RoundAbout {
  std::vector<double> turns;
  std::vector<double> hand_over_ms;  // only to another one: who takes it again has not handed it over
  double longest_wait_ms = 0;

  double rate(Duration how_long) const {
    return static_cast<double>(hand_over_ms.size()) * 1e6 / static_cast<double>(how_long.count());
  }
};

// `take` and `give` of waiter i; both are called by one thread a waiter, until the time is over.
Result<RoundAbout> hand_around(Bench& bench, Duration how_long, const std::function<Result<void>(int)>& take,
                               const std::function<Result<void>(int)>& give) {
  Runtime& runtime = bench.runtime();
  RoundAbout seen;
  seen.turns.assign(kWaiters, 0);
  Trouble trouble;
  std::mutex mutex;  // never taken while a call is under way
  Instant given = Instant::min();
  int last = -1;
  const Instant end = runtime.now() + how_long;
  in_threads(runtime, kWaiters, [&](int i) {
    while (runtime.now() < end && !bench.stopped() && !trouble.any()) {
      const Instant asked = runtime.now();
      if (!trouble.note(take(i))) return;
      {
        const Instant got = runtime.now();
        const std::lock_guard lock(mutex);
        if (last >= 0 && last != i) seen.hand_over_ms.push_back(in_milliseconds(got - given));
        last = i;
        seen.longest_wait_ms = std::max(seen.longest_wait_ms, in_milliseconds(got - asked));
        seen.turns[static_cast<std::size_t>(i)] += 1;
        given = runtime.now();
      }
      if (!trouble.note(give(i))) return;
    }
  });
  if (auto ok = trouble.result(); !ok) return std::unexpected(ok.error());
  if (bench.stopped()) return fail(Code::held, "interrupted");
  return seen;
}

Result<RoundAbout> hand_ours_around(Bench& bench, Store& store) {
  // Each has its own client, like a process: with one client they would take turns among themselves.
  std::vector<std::unique_ptr<LockClient>> clients;
  std::vector<std::optional<HeldLock>> held(kWaiters);
  for (int i = 0; i < kWaiters; ++i)
    clients.push_back(std::make_unique<LockClient>(
        make_lock_parts(bench.runtime(), Log(*bench.invocation.log_sink), store,
                        {.ns = kBenchNamespace, .place = "bench", .tidy_every = Duration{0}})));
  return hand_around(
      bench, bench.sizes.latency_for,
      [&](int i) -> Result<void> {
        const auto at = static_cast<std::size_t>(i);
        Result<HeldLock> got =
            clients[at]->acquire({.names = {"around"}, .wait = std::chrono::minutes{5}}, bench.invocation.stop);
        if (!got) return std::unexpected(got.error());
        held[at].emplace(std::move(*got));
        return {};
      },
      [&](int i) { return held[static_cast<std::size_t>(i)]->release(); });
}

Result<RoundAbout> hand_advisory_around(Bench& bench, const std::string& url) {
  std::vector<std::unique_ptr<AdvisoryLock>> sessions;
  for (int i = 0; i < kWaiters; ++i) {
    auto session = bench::open_advisory_lock(url);
    if (!session) return std::unexpected(session.error());
    sessions.push_back(std::move(*session));
  }
  return hand_around(
      bench, bench.sizes.latency_for, [&](int i) { return sessions[static_cast<std::size_t>(i)]->lock(kAdvisoryKey); },
      [&](int i) { return sessions[static_cast<std::size_t>(i)]->unlock(kAdvisoryKey); });
}

// Nobody tells them when it is free: each asks again every 10 ms or so, as clients on Redis do.
Result<RoundAbout> hand_polled_around(Bench& bench, const std::string& url) {
  std::vector<std::unique_ptr<RawLock>> locks;
  for (int i = 0; i < kWaiters; ++i) {
    auto lock = bench::open_raw_lock(bench.runtime(), url);
    if (!lock) return std::unexpected(lock.error());
    locks.push_back(std::move(*lock));
  }
  const Instant end = bench.runtime().now() + bench.sizes.latency_for * 2;
  return hand_around(
      bench, bench.sizes.latency_for,
      [&](int i) -> Result<void> {
        while (bench.runtime().now() < end) {
          const Result<bool> taken = locks[static_cast<std::size_t>(i)]->take("around");
          if (!taken) return std::unexpected(taken.error());
          if (*taken) return {};
          const Duration pause =
              kRetryLeast + Duration{static_cast<std::int64_t>(bench.runtime().random() % kRetrySpread)};
          if (!bench.runtime().sleep_for(pause, bench.invocation.stop)) break;
        }
        return fail(Code::held, "the raw lock of the bench could not be acquired");
      },
      [&](int i) -> Result<void> {
        const Result<bool> given = locks[static_cast<std::size_t>(i)]->give("around");
        return given ? Result<void>() : std::unexpected(given.error());
      });
}

}  // namespace

BenchResults measure_lock_pairs(Bench& bench) {
  const std::string place = bench.places.fresh("locks");
  const auto store = bench.open(place);
  if (!store) return std::unexpected(store.error());
  Result<RawPair> raw = RawPair::open(bench, "locks_raw");
  if (!raw) return std::unexpected(raw.error());
  const bool redis = bench.places.kind() == StoreKind::redis;
  std::unique_ptr<AdvisoryLock> session;
  if (bench.places.kind() == StoreKind::postgres) {
    auto opened = bench::open_advisory_lock(bench.places.url_of(place));
    if (!opened) return std::unexpected(opened.error());
    session = std::move(*opened);
  }
  LockClient locks(make_lock_parts(bench.runtime(), Log(*bench.invocation.log_sink), **store,
                                   {.ns = kBenchNamespace, .place = "bench", .tidy_every = Duration{0}}));
  Pairs ours;
  Pairs theirs;
  Pairs advisory;
  Pairs crowd;
  std::vector<double> times;
  std::mutex mutex;
  for (int round = 0; round < bench.sizes.rounds; ++round) {
    if (auto ok = bench.go_on("locks: pairs, round " + std::to_string(round + 1)); !ok)
      return std::unexpected(ok.error());
    for (std::int64_t sent = 0; sent < bench.sizes.one_by_one; sent += bench.sizes.block) {
      if (bench.stopped()) return fail(Code::held, "interrupted");
      if (auto ok = ours.add(bench, [&] { return one_pair(locks, "alone"); }); !ok) return std::unexpected(ok.error());
      if (auto ok = theirs.add(bench, [&] { return raw->once(); }); !ok) return std::unexpected(ok.error());
      if (!session) continue;
      const auto pair = [&] {
        const Result<void> taken = session->lock(kAdvisoryKey);
        return taken ? session->unlock(kAdvisoryKey) : taken;
      };
      if (auto ok = advisory.add(bench, pair); !ok) return std::unexpected(ok.error());
    }
    Trouble trouble;
    const Stopwatch watch(bench.runtime());
    in_threads(bench.runtime(), bench.sizes.threads, [&](int i) {
      const std::string name = "caller:" + std::to_string(i);
      std::vector<double> took;
      for (std::int64_t n = 0; n < bench.sizes.per_thread && !bench.stopped(); ++n) {
        const Instant began = bench.runtime().now();
        if (!trouble.note(one_pair(locks, name))) return;
        took.push_back(in_milliseconds(bench.runtime().now() - began));
      }
      const std::lock_guard lock(mutex);
      crowd.took_ms.insert(crowd.took_ms.end(), took.begin(), took.end());
    });
    crowd.round = watch.stop(bench.sizes.threads * bench.sizes.per_thread);
    if (auto ok = trouble.result(); !ok) return std::unexpected(ok.error());
    times.push_back(ours.round.rate() > 0 ? crowd.round.rate() / ours.round.rate() : 0);
    ours.end_round();
    theirs.end_round();
    crowd.end_round();
    if (session) advisory.end_round();
  }
  BenchResult one = pairs_result("lock_one", ours, theirs, advisory);
  if (bench.places.has_server()) one.must("ratio", *one.ratio, Bound::at_least, redis ? 0.85 : 0.8);
  BenchResult many = pairs_result("lock_64", crowd, theirs, {});
  const bench::Spread spread = bench::spread_of(times);
  many.add("times_one", spread);
  if (redis || !bench.places.has_server()) many.must("times_one", spread.median, Bound::at_least, redis ? 3 : 8);
  return std::vector{one, many};
}

BenchResults measure_lock_hand_over(Bench& bench) {
  if (auto ok = bench.go_on("locks: one lock passed among " + std::to_string(kWaiters) + " waiters"); !ok)
    return std::unexpected(ok.error());
  const std::string place = bench.places.fresh("around");
  const auto store = bench.open(place);
  if (!store) return std::unexpected(store.error());
  Result<RawPair> raw = RawPair::open(bench, "around_raw");
  if (!raw) return std::unexpected(raw.error());
  // Before and after, so that a slow moment of the disk is not taken for ours.
  Pairs commits;
  const auto commit_some = [&]() -> Result<void> {
    for (std::int64_t sent = 0; sent < bench.sizes.one_by_one; sent += bench.sizes.block) {
      if (auto ok = commits.add(bench, [&] { return raw->once(); }); !ok) return ok;
    }
    return {};
  };
  if (auto ok = commit_some(); !ok) return std::unexpected(ok.error());
  const Result<RoundAbout> ours = hand_ours_around(bench, **store);
  if (!ours) return std::unexpected(ours.error());
  if (auto ok = commit_some(); !ok) return std::unexpected(ok.error());

  BenchResult result{.name = "lock_hand_over"};
  result.rate = ours->rate(bench.sizes.latency_for);
  result.p50_ms = bench::percentile(ours->hand_over_ms, 0.5);
  result.p99_ms = bench::percentile(ours->hand_over_ms, 0.99);
  const bool redis = bench.places.kind() == StoreKind::redis;
  const double raw_ms = bench::percentile(commits.took_ms, 0.5) / (redis ? 2 : 1);  // a pair there is two calls
  const std::string unit = redis ? "raw_call" : "commit";
  const double in_raw = raw_ms > 0 ? *result.p50_ms / raw_ms : 0;
  const double jain = bench::jain_index(ours->turns);
  result.add(unit + "_p50_ms", raw_ms);
  result.add("p50_in_" + unit + "s", in_raw);
  result.add("jain", jain);
  result.add("longest_wait_ms", ours->longest_wait_ms);
  result.must("jain", jain, Bound::at_least, 0.99);
  if (!bench.places.has_server()) return std::vector{result};
  result.must("p50_in_" + unit + "s", in_raw, Bound::at_most, redis ? 2 : 3);
  if (redis) {
    const Result<RoundAbout> polled = hand_polled_around(bench, bench.places.url_of(bench.places.fresh("polled")));
    if (!polled) return std::unexpected(polled.error());
    const double polled_rate = polled->rate(bench.sizes.latency_for);
    const double times = polled_rate > 0 ? *result.rate / polled_rate : 0;
    result.add("polled_rate", polled_rate);
    result.add("times_polled", times);
    result.add("polled_p50_ms", bench::percentile(polled->hand_over_ms, 0.5));
    result.add("polled_p99_ms", bench::percentile(polled->hand_over_ms, 0.99));
    result.add("polled_jain", bench::jain_index(polled->turns));
    result.add("polled_longest_wait_ms", polled->longest_wait_ms);
    return std::vector{result};
  }
  const Result<RoundAbout> advisory = hand_advisory_around(bench, bench.places.url_of(place));
  if (!advisory) return std::unexpected(advisory.error());
  result.add("advisory_p50_ms", bench::percentile(advisory->hand_over_ms, 0.5));
  result.add("advisory_p99_ms", bench::percentile(advisory->hand_over_ms, 0.99));
  result.add("advisory_jain", bench::jain_index(advisory->turns));
  return std::vector{result};
}

}  // namespace fenceline::cli
