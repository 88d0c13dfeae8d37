// What people do to jobs, queues and workers meanwhile, over the same bad line: each act is repeated under its request
// id until it has an answer.
#include <algorithm>

#include "sim/scenarios/process.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

// By then no copy of an earlier request is under way any more, also on a clock that is far off.
constexpr Duration kQuietTime = 8 * kOperatorTimeout;

Act planned_act() { return {"operator", "as planned"}; }

template <class Reply>
Result<void> without_reply(const Result<Reply>& reply) {
  if (!reply) return std::unexpected(reply.error());
  return {};
}

}  // namespace

void World::operate(Process& process, std::stop_token stop) {
  if (plan_.schedules.count > 0 && plan_.operators.act_every == Duration{0}) return change_schedules(process, stop);
  while (!stop.stop_requested()) {
    if (deed_ && !carry_out(process, stop)) return;
    if (!storm_) return do_last_duties(process, stop);
    process.runtime.sleep_for(simulation_.random().between(Duration{0}, 2 * plan_.operators.act_every), stop);
    if (!storm_ || stop.stop_requested()) continue;
    if (plan_.schedules.act_every != Duration{0} && simulation_.random().chance(0.5))
      change_some_schedule(process, stop);
    else deed_ = some_deed();
  }
}

bool World::carry_out(Process& process, std::stop_token stop) {
  while (!stop.stop_requested()) {
    const Result<void> done = deed_(process.store);
    const Code code = done ? Code::invalid : done.error().code;
    if (done || (code != Code::in_doubt && code != Code::unavailable)) {
      // A worker may be gone, or told to stop before.
      if (!done && code != Code::not_found && code != Code::refused)
        violations_.add("operator",
                        "an act was answered " + std::string(to_string(code)) + ": " + done.error().message);
      deed_ = nullptr;
      return true;
    }
    process.runtime.sleep_for(simulation_.random().between(Duration{0}, Duration{1s}), stop);
  }
  return false;
}

World::Deed World::some_deed() {
  Random& random = simulation_.random();
  const Operators& they = plan_.operators;
  const std::string ns(kNamespace);
  const std::string queue = plan_.queues > 0 ? some_queue() : "";
  std::int64_t chosen = random.between(0, they.cancel + they.retry + they.pause + they.purge + they.limits +
                                              they.order + they.tidy + they.resolve + they.rebase - 1);
  const auto is = [&](int weight) {
    chosen -= weight;
    return chosen < 0 && chosen >= -weight;
  };
  if (is(they.cancel)) {
    const ActRequest request{.ns = ns,
                             .ids = some_jobs([](const KnownJob& job) { return job.state == JobState::running; }),
                             .request = fresh_request(),
                             .act = planned_act(),
                             .timeout = kOperatorTimeout};
    if (request.ids.empty()) return nullptr;
    return [request](Store& store) { return without_reply(store.cancel(request)); };
  }
  if (is(they.retry)) {
    const auto preferred = [](const KnownJob& job) {
      return job.state == JobState::dead || job.state == JobState::cancelled;
    };
    const ActRequest request{.ns = ns,
                             .ids = some_jobs(preferred),
                             .request = fresh_request(),
                             .act = planned_act(),
                             .timeout = kOperatorTimeout};
    if (request.ids.empty()) return nullptr;
    return [request](Store& store) { return without_reply(store.retry(request)); };
  }
  if (is(they.pause)) {
    const PauseRequest request{.ns = ns,
                               .queue = queue,
                               .paused = !checks_->is_paused(queue),
                               .act = planned_act(),
                               .timeout = kOperatorTimeout};
    return [request](Store& store) { return store.pause(request); };
  }
  if (is(they.purge)) {
    const PurgeRequest request{.ns = ns,
                               .queue = queue,
                               .up_to = kAllOfThem,
                               .limit = static_cast<int>(random.between(1, 5)),
                               .act = planned_act(),
                               .timeout = kOperatorTimeout};
    return [request](Store& store) { return without_reply(store.purge(request)); };
  }
  if (is(they.limits)) {
    const int limit = static_cast<int>(random.between(0, they.limit_most));
    const int per_key = static_cast<int>(random.between(0, std::max(1, they.limit_most / 2)));
    const SetQueueRequest request{.ns = ns,
                                  .queue = queue,
                                  .change = {.limit = limit, .limit_per_key = per_key},
                                  .act = planned_act(),
                                  .timeout = kOperatorTimeout};
    return [request](Store& store) { return store.set_queue(request); };
  }
  if (is(they.order) && !owners_.empty()) {
    constexpr WorkerOrder kOrders[] = {WorkerOrder::quiet, WorkerOrder::work, WorkerOrder::stop};
    // The newest ones live most likely.
    const std::string owner = owners_[owners_.size() - 1 - random.below(std::min<std::size_t>(owners_.size(), 6))];
    const OrderRequest request{
        .ns = ns, .owner = owner, .order = kOrders[random.below(3)], .act = planned_act(), .timeout = kOperatorTimeout};
    return [request](Store& store) { return store.order_worker(request); };
  }
  if (is(they.resolve)) return [this](Store& store) { return resolve_doubts(store); };
  if (is(they.rebase)) return [this](Store& store) { return rebase_gates(store); };
  const TidyRequest request{.ns = ns, .limit = static_cast<int>(random.between(1, 20)), .timeout = kOperatorTimeout};
  return [request](Store& store) { return without_reply(store.tidy(request)); };
}

// A few jobs, most often such as are preferred.
std::vector<JobId> World::some_jobs(bool (*preferred)(const KnownJob&)) {
  Random& random = simulation_.random();
  std::vector<JobId> all;
  const bool choosy = random.chance(0.8);
  for (const auto& [id, job] : checks_->jobs()) {
    if (!choosy || preferred(job)) all.push_back(id);
  }
  std::set<JobId> some;
  const std::int64_t tries = all.empty() ? 0 : random.between(1, 3);
  for (std::int64_t i = 0; i < tries; ++i) some.insert(random.pick(all));
  return {some.begin(), some.end()};
}

std::string World::fresh_request() { return "act-" + std::to_string(simulation_.random().next()); }

// What is still paused or quiet would wait for ever.
void World::do_last_duties(Process& process, std::stop_token stop) {
  if (!process.runtime.sleep_for(kQuietTime, stop)) return;
  const std::string ns(kNamespace);
  for (int i = 0; i < plan_.queues; ++i) {
    const PauseRequest request{.ns = ns,
                               .queue = queue_name(i),
                               .paused = queue_name(i) == left_paused_,
                               .act = planned_act(),
                               .timeout = kOperatorTimeout};
    deed_ = [request](Store& store) { return store.pause(request); };
    if (!carry_out(process, stop)) return;
  }
  Result<std::vector<WorkerRow>> workers = process.store.workers(ns);
  while (!workers) {
    if (!process.runtime.sleep_for(Duration{1s}, stop)) return;
    workers = process.store.workers(ns);
  }
  for (const WorkerRow& worker : *workers) {
    if (worker.order != WorkerOrder::quiet) continue;
    const OrderRequest request{.ns = ns,
                               .owner = worker.report.owner,
                               .order = WorkerOrder::work,
                               .act = planned_act(),
                               .timeout = kOperatorTimeout};
    deed_ = [request](Store& store) { return store.order_worker(request); };
    if (!carry_out(process, stop)) return;
  }
  duties_done_ = true;
  if (someone_resolves() || plan_.operators.rebase > 0) go_on_resolving(process, stop);
}

void World::go_on_resolving(Process& process, std::stop_token stop) {
  while (process.runtime.sleep_for(plan_.ttl, stop)) {
    if (someone_resolves()) deed_ = [this](Store& store) { return resolve_doubts(store); };
    else deed_ = [this](Store& store) { return rebase_gates(store); };
    if (!carry_out(process, stop)) return;
  }
}

}  // namespace fenceline::sim
