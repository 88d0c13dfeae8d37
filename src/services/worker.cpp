#include "services/worker.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/crash_point.hpp"
#include "services/executor.hpp"
#include "services/fetcher.hpp"
#include "services/fresh_id.hpp"
#include "services/lease_keeper.hpp"
#include "services/order_watch.hpp"
#include "services/recorder.hpp"
#include "services/registration.hpp"
#include "services/retention.hpp"
#include "services/scheduler.hpp"
#include "services/settler.hpp"
#include "services/trust_watch.hpp"

namespace fenceline {
namespace {

constexpr int kExitLeaseLost = 76;

Result<void> check_options(const WorkerOptions& options) {
  // All that is held, with the outcomes that wait, must fit into one renewal.
  if (options.concurrency < 1 || options.concurrency > kConcurrencyMax)
    return fail(Code::invalid, "concurrency must be 1 to 500");
  if (options.prefetch < 0 || options.prefetch > kConcurrencyMax)
    return fail(Code::invalid, "prefetch must be 0 to 500");
  if (options.drain_grace < Duration{0}) return fail(Code::invalid, "drain grace must not be negative");
  if (options.orders_every <= Duration{0})
    return fail(Code::invalid, "the interval between checks for orders must be positive");
  return {};
}

// Waits until no handler runs. False if `deadline` came first.
bool handlers_returned(WorkerContext& context, Instant deadline) {
  while (context.holdings.load().running > 0) {
    if (context.runtime.now() >= deadline) return false;
    context.fetcher->wait_until(deadline);
  }
  return true;
}

// Ends all handlers: by themselves within the grace, told to stop after it, and no longer renewed when they do not
// care, so that others may go on.
void end_handlers(WorkerContext& context, Duration drain_grace) {
  const int given_back = context.holdings.give_back_waiting();
  context.log.info(
      "worker_draining",
      {{"owner", context.owner}, {"running", context.holdings.load().running}, {"given_back", given_back}});
  context.settler->notify();
  if (handlers_returned(context, context.runtime.now() + drain_grace)) return;
  for (const DeliveryPtr& delivery : context.holdings.running()) {
    delivery->stop.request_stop();
    context.log_told(*delivery, kWorkerStops);
  }
  if (handlers_returned(context, context.runtime.now() + context.times.grace)) return;
  context.holdings.stop_renewing_running();
}

std::string_view status_of(const WorkerContext& context) {
  if (context.failure()) return "failed";
  const WorkReport counted = context.counted();
  return counted.refused > 0 || counted.lost > 0 ? "stale" : "success";
}

}  // namespace

// Nothing of ours is waited for: what holds the process up is what must end.
void end_process_for_lost_lease() { std::_Exit(kExitLeaseLost); }

JobWorker::JobWorker(Runtime& runtime, Log log, Store& store, Handler& handler, WorkerOptions options)
    : runtime_(runtime),
      log_(log),
      store_(store),
      handler_(handler),
      options_(std::move(options)),
      owner_(fresh_id(runtime)) {}

Result<WorkReport> JobWorker::run(std::stop_token asked_to_stop) {
  if (const Result<void> ok = check_options(options_); !ok) return std::unexpected(ok.error());
  WorkerContext context(runtime_, log_, store_, options_, owner_);
  Registration registration(context);
  LeaseKeeper keeper(context);
  TrustWatch watch(context);
  Recorder recorder(context);
  Settler settler(context, recorder);
  EffectRunner effects(runtime_, log_, store_,
                       {.ns = options_.ns,
                        .owner = owner_,
                        .actor = options_.actor.empty() ? owner_ : options_.actor,
                        .wait_for_actor = options_.wait_for_actor});
  Executor executor(context, recorder, effects, handler_);
  Fetcher fetcher(context);
  Retention retention(context);
  Scheduler scheduler(runtime_, log_, store_,
                      {.ns = options_.ns,
                       .owner = owner_,
                       .place = options_.host + ":" + std::to_string(options_.pid),
                       .window = std::min(options_.ttl, kScheduleWindowMost)});
  // An operator's order to stop is as good as the caller's.
  std::stop_source stop_source;
  const std::stop_callback asked(asked_to_stop, [stop_source]() mutable { stop_source.request_stop(); });
  const std::stop_token stop = stop_source.get_token();
  OrderWatch orders(context, stop_source);

  if (const Result<void> reported = registration.report(); !reported) return std::unexpected(reported.error());
  std::string queues;
  for (const std::string& queue : options_.queues) queues += (queues.empty() ? "" : " ") + queue;
  std::vector<LogField> started{{"owner", owner_},
                                {"pid", options_.pid},
                                {"store", store_.profile().url},
                                {"queues", queues},
                                {"concurrency", options_.concurrency}};
  if (!options_.stage.empty()) started.emplace_back("stage", options_.stage);
  log_.info("worker_started", std::move(started));

  // Tasks go before what they use.
  Task reporting = runtime_.spawn("report", [&](std::stop_token s) { registration.keep_reporting(std::move(s)); });
  Task watching = runtime_.spawn("trust", [&](std::stop_token s) { watch.watch(std::move(s)); });
  Task keeping = runtime_.spawn("keep", [&](std::stop_token s) { keeper.keep(std::move(s)); });
  Task settling = runtime_.spawn("settle", [&](std::stop_token s) { settler.settle(std::move(s)); });
  Task ordering = runtime_.spawn("orders", [&](std::stop_token s) { orders.watch(std::move(s)); });
  Task recording = runtime_.spawn("record", [&](std::stop_token s) { recorder.record(std::move(s)); });
  Task tidying = runtime_.spawn("tidy", [&](std::stop_token s) { retention.tidy(std::move(s)); });
  Task scheduling;
  if (options_.schedules)
    scheduling = runtime_.spawn("schedule", [&](std::stop_token s) { scheduler.run(std::move(s)); });
  std::vector<Task> slots;
  for (int i = 0; i < options_.concurrency; ++i) {
    slots.push_back(
        runtime_.spawn("slot-" + std::to_string(i), [&](std::stop_token s) { executor.work(std::move(s)); }));
  }

  fetcher.fetch(stop);

  // Nothing can be renewed or settled any more.
  const bool store_gone = context.failure() && ends_for_good(context.failure()->code);
  if (stop.stop_requested() || context.holdings.load().total() > 0)
    end_handlers(context, store_gone ? Duration{0} : options_.drain_grace);
  executor.close();
  for (Task& slot : slots) slot.join();
  settler.give_up_at(runtime_.now() + options_.drain_grace);
  orders.give_up_at(runtime_.now() + options_.drain_grace);
  tidying.request_stop();
  scheduling.request_stop();
  // In this order: what was refused when it was settled may be an operator's doing.
  for (Task* task : {&settling, &recording, &ordering, &keeping, &watching, &tidying, &scheduling, &reporting}) {
    task->request_stop();
    task->join();
  }
  registration.remove();
  log_.info("worker_exit", {{"owner", owner_}, {"status", status_of(context)}});
  FENCELINE_CRASH_POINT(worker_exit);
  if (const std::optional<Error> failure = context.failure()) return std::unexpected(*failure);
  return context.counted();
}

}  // namespace fenceline
