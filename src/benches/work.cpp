#include "benches/work.hpp"

#include <array>
#include <limits>

#include "base/ascending_uuids.hpp"
#include "services/fresh_id.hpp"
#include "services/worker.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kTtl = std::chrono::minutes{5};
constexpr const char* kResult = R"({"ok":true})";

std::unexpected<Error> interrupted() { return fail(Code::held, "interrupted"); }

class NothingToDo final : public Handler {
 public:
  RunResult run(const Run&) override { return {.kind = OutcomeKind::done, .result = kResult}; }
};

Result<ClaimReply> claim_batch(Runtime& runtime, Store& store, const std::string& owner, std::int64_t most) {
  return store.claim({.ns = kBenchNamespace,
                      .queues = {kBenchQueue},
                      .owner = owner,
                      .request = fresh_id(runtime),
                      .limit = static_cast<int>(most),
                      .ttl = kTtl});
}

Result<void> settle_batch(Store& store, const std::string& owner, const ClaimReply& claimed) {
  SettleRequest outcomes{.ns = kBenchNamespace, .owner = owner, .settlements = {}};
  outcomes.settlements.reserve(claimed.jobs.size());
  for (const ClaimedJob& one : claimed.jobs)
    outcomes.settlements.push_back(
        {.id = one.job.id, .fence = one.job.fence, .outcome = {.kind = OutcomeKind::done, .result = kResult}});
  const Result<SettleReply> settled = store.settle(outcomes);
  if (!settled) return std::unexpected(settled.error());
  if (!settled->refused.empty())
    return fail(Code::lost,
                "an outcome of the bench was refused: " + std::string(to_string(settled->refused.front().reason)));
  return {};
}

}  // namespace

std::vector<std::string> bench_payloads(std::int64_t count) {
  std::vector<std::string> payloads;
  payloads.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    payloads.push_back(R"({"number":)" + std::to_string(i) + R"(,"user":"user-)" + std::to_string(i % 1000) +
                       R"(","note":")" + std::string(50, 'x') + R"("})");
  return payloads;
}

Result<bench::Cost> enqueue_in_batches(Runtime& runtime, Store& store, std::int64_t count, std::int64_t batch,
                                       std::stop_token stop) {
  const std::vector<std::string> payloads = bench_payloads(batch);
  AscendingUuids ids;
  const bench::Stopwatch watch(runtime);
  for (std::int64_t sent = 0; sent < count;) {
    if (stop.stop_requested()) return interrupted();
    const std::int64_t size = std::min(batch, count - sent);
    EnqueueRequest request{.ns = kBenchNamespace, .jobs = {}};
    request.jobs.reserve(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i)
      request.jobs.push_back({.id = ids.next(runtime.wall_now(), runtime.random(), runtime.random()),
                              .queue = kBenchQueue,
                              .payload = payloads[static_cast<std::size_t>(i)]});
    if (const auto reply = store.enqueue(request); !reply) return std::unexpected(reply.error());
    sent += size;
  }
  return watch.stop(count);
}

Result<bench::Cost> drain_in_batches(Runtime& runtime, Store& store, std::int64_t most, std::int64_t batch,
                                     std::stop_token stop) {
  const std::string owner = fresh_id(runtime);
  const bench::Stopwatch watch(runtime);
  std::int64_t done = 0;
  while (done < most) {
    if (stop.stop_requested()) return interrupted();
    const Result<ClaimReply> claimed = claim_batch(runtime, store, owner, std::min(batch, most - done));
    if (!claimed) return std::unexpected(claimed.error());
    if (claimed->jobs.empty()) break;
    if (auto ok = settle_batch(store, owner, *claimed); !ok) return std::unexpected(ok.error());
    done += static_cast<std::int64_t>(claimed->jobs.size());
  }
  return watch.stop(done);
}

Result<bench::Cost> drain_beside(Runtime& runtime, Store& store, std::int64_t most, std::int64_t batch,
                                 std::stop_token stop) {
  struct Settling {
    ClaimReply claimed;
    Result<void> settled;
    Task task;
  };
  const std::string owner = fresh_id(runtime);
  const bench::Stopwatch watch(runtime);
  std::array<Settling, 2> under_way;
  std::int64_t done = 0;
  for (std::size_t turn = 0; done < most; ++turn) {
    if (stop.stop_requested()) return interrupted();
    Result<ClaimReply> claimed = claim_batch(runtime, store, owner, std::min(batch, most - done));
    if (!claimed) return std::unexpected(claimed.error());
    if (claimed->jobs.empty()) break;
    done += static_cast<std::int64_t>(claimed->jobs.size());
    Settling& next = under_way[turn % under_way.size()];
    next.task.join();
    if (!next.settled) return std::unexpected(next.settled.error());
    next.claimed = std::move(*claimed);
    next.task = runtime.spawn("settle",
                              [&](const std::stop_token&) { next.settled = settle_batch(store, owner, next.claimed); });
  }
  for (Settling& last : under_way) last.task.join();
  for (const Settling& last : under_way) {
    if (!last.settled) return std::unexpected(last.settled.error());
  }
  return watch.stop(done);
}

Result<bench::Cost> drain_with_worker(Runtime& runtime, Log log, Store& store, std::stop_token stop) {
  NothingToDo handler;
  JobWorker worker(runtime, log, store, handler,
                   {.ns = kBenchNamespace,
                    .queues = {kBenchQueue},
                    .concurrency = kBenchConcurrency,
                    .prefetch = kBenchPrefetch,
                    .ttl = kTtl,
                    .drain = true,
                    .host = "bench",
                    .version = "bench"});
  const bench::Stopwatch watch(runtime);
  const Result<WorkReport> report = worker.run(stop);
  if (!report) return std::unexpected(report.error());
  if (stop.stop_requested()) return interrupted();
  return watch.stop(report->done);
}

}  // namespace fenceline::cli
