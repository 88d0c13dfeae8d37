#include "sim/store/faulty_store.hpp"

#include <optional>
#include <utility>

namespace fenceline::sim {
namespace {

// What the store kept a request waiting, it says in the replies that have a field for it.
template <class Answer>
void add_waited(Answer& answer, Duration waited) {
  if constexpr (requires { answer->waited; }) {
    if (answer) answer->waited += waited;
  }
}

}  // namespace

FaultyStore::Fate FaultyStore::draw_fate(Duration timeout) {
  Random& random = process_.simulation().random();
  Fate fate;
  fate.refused = random.chance(weather_.refuse_request);
  fate.request_lost = random.chance(weather_.drop_request);
  fate.reply_lost = random.chance(weather_.drop_reply);
  fate.again = random.chance(weather_.duplicate);
  fate.to_store = random.between(Duration{0}, weather_.delay_most);
  fate.in_queue = random.between(Duration{0}, weather_.queue_most);
  fate.to_caller = random.between(Duration{0}, weather_.delay_most);
  // A copy may overtake what its sender does next, or come after its sender has long gone on.
  fate.until_again =
      random.chance(0.5) ? random.between(Duration{0}, weather_.delay_most) : random.between(Duration{0}, 3 * timeout);
  if (random.chance(weather_.late_request)) {
    fate.to_store = timeout + random.between(Duration{0}, timeout);
    fate.reply_lost = true;
  }
  return fate;
}

void FaultyStore::note(std::string_view verb, std::string_view what) {
  Simulation& simulation = process_.simulation();
  if (simulation.trace().on())
    simulation.trace().write(simulation.now(), process_.name(), std::string(verb) + " " + std::string(what));
}

template <class Answer>
Answer FaultyStore::deliver(Kind kind, std::string_view verb, Duration timeout, std::function<Answer()> apply) {
  process_.step();
  Simulation& simulation = process_.simulation();
  const Fate fate = draw_fate(timeout);
  if (fate.refused) {
    tally_.add(Count::refused_requests);
    note(verb, "refused");
    process_.delay(fate.to_store);
    process_.step();
    return fail(Code::unavailable, "the simulated store is not reached");
  }

  struct Exchange {
    std::optional<Answer> answer;
    std::shared_ptr<Event> answered;
  };
  const auto exchange = std::make_shared<Exchange>();
  exchange->answered = process_.make_event();
  const Instant give_up_at = process_.now() + timeout;
  if (fate.request_lost) {
    tally_.add(Count::lost_requests);
    note(verb, "request lost");
  } else {
    simulation.after(fate.to_store + fate.in_queue, [this, &simulation, apply, exchange, fate, verb, timeout] {
      if (!server_.is_up()) {
        tally_.add(Count::store_down);
        note(verb, "meets no store");
        if (fate.reply_lost) return;
        simulation.after(fate.to_caller, [exchange] {
          exchange->answer = fail(Code::unavailable, "the simulated store is down");
          exchange->answered->notify();
        });
        return;
      }
      Answer answer = apply();
      add_waited(answer, fate.in_queue);
      if (fate.again) {
        simulation.after(fate.until_again, [this, apply, verb] {
          if (!server_.is_up()) return;
          tally_.add(Count::duplicates);
          note(verb, "arrives again");
          apply();
        });
      }
      if (fate.reply_lost) {
        tally_.add(fate.to_store >= timeout ? Count::late_requests : Count::lost_replies);
        note(verb, fate.to_store >= timeout ? "arrived late" : "reply lost");
        return;
      }
      server_.answer([&simulation, fate, exchange, answer = std::move(answer)] {
        simulation.after(fate.to_caller, [exchange, answer] {
          exchange->answer = answer;
          exchange->answered->notify();
        });
      });
    });
  }
  exchange->answered->wait_until(give_up_at);
  process_.step();
  if (exchange->answer) return *exchange->answer;
  // What only reads cannot have happened.
  if (kind == Kind::reads) return fail(Code::unavailable, "the simulated store did not answer");
  return fail(Code::in_doubt, "the simulated store did not answer in time");
}

Result<EnqueueReply> FaultyStore::enqueue(const EnqueueRequest& request) {
  return deliver<Result<EnqueueReply>>(Kind::changes, "enqueue", request.timeout,
                                       [this, request] { return inner_.enqueue(request); });
}

Result<BatchReply> FaultyStore::open_batch(const BatchRequest& request) {
  return deliver<Result<BatchReply>>(Kind::changes, "open_batch", request.timeout,
                                     [this, request] { return inner_.open_batch(request); });
}

Result<ClaimReply> FaultyStore::claim(const ClaimRequest& request) {
  return deliver<Result<ClaimReply>>(Kind::changes, "claim", request.timeout,
                                     [this, request] { return inner_.claim(request); });
}

Result<void> FaultyStore::give_back(const GiveBackRequest& request) {
  return deliver<Result<void>>(Kind::changes, "give_back", request.timeout,
                               [this, request] { return inner_.give_back(request); });
}

Result<ExtendReply> FaultyStore::extend(const ExtendRequest& request) {
  return deliver<Result<ExtendReply>>(Kind::changes, "extend", request.timeout,
                                      [this, request] { return inner_.extend(request); });
}

Result<SettleReply> FaultyStore::settle(const SettleRequest& request) {
  return deliver<Result<SettleReply>>(Kind::changes, "settle", request.timeout,
                                      [this, request] { return inner_.settle(request); });
}

Result<RecordReply> FaultyStore::record(const RecordRequest& request) {
  return deliver<Result<RecordReply>>(Kind::changes, "record", request.timeout,
                                      [this, request] { return inner_.record(request); });
}

Result<std::optional<LogReply>> FaultyStore::log(const LogRequest& request) {
  return deliver<Result<std::optional<LogReply>>>(Kind::reads, "log", request.timeout,
                                                  [this, request] { return inner_.log(request); });
}

Result<std::optional<Job>> FaultyStore::job(const std::string& ns, const JobId& id) {
  return deliver<Result<std::optional<Job>>>(Kind::reads, "job", kCallTimeout,
                                             [this, ns, id] { return inner_.job(ns, id); });
}

Result<std::vector<JobId>> FaultyStore::ids(const IdsRequest& request) {
  return deliver<Result<std::vector<JobId>>>(Kind::reads, "ids", request.timeout,
                                             [this, request] { return inner_.ids(request); });
}

Result<JobsReply> FaultyStore::jobs(const JobsRequest& request) {
  return deliver<Result<JobsReply>>(Kind::reads, "jobs", request.timeout,
                                    [this, request] { return inner_.jobs(request); });
}

Result<BacklogReply> FaultyStore::backlog(const BacklogRequest& request) {
  return deliver<Result<BacklogReply>>(Kind::reads, "backlog", request.timeout,
                                       [this, request] { return inner_.backlog(request); });
}

Result<ActReply> FaultyStore::cancel(const ActRequest& request) {
  return deliver<Result<ActReply>>(Kind::changes, "cancel", request.timeout,
                                   [this, request] { return inner_.cancel(request); });
}

Result<ActReply> FaultyStore::retry(const ActRequest& request) {
  return deliver<Result<ActReply>>(Kind::changes, "retry", request.timeout,
                                   [this, request] { return inner_.retry(request); });
}

Result<PurgeReply> FaultyStore::purge(const PurgeRequest& request) {
  return deliver<Result<PurgeReply>>(Kind::changes, "purge", request.timeout,
                                     [this, request] { return inner_.purge(request); });
}

Result<void> FaultyStore::set_queue(const SetQueueRequest& request) {
  return deliver<Result<void>>(Kind::changes, "set_queue", request.timeout,
                               [this, request] { return inner_.set_queue(request); });
}

Result<void> FaultyStore::pause(const PauseRequest& request) {
  return deliver<Result<void>>(Kind::changes, "pause", request.timeout,
                               [this, request] { return inner_.pause(request); });
}

Result<std::vector<QueueRow>> FaultyStore::queues(const std::string& ns) {
  return deliver<Result<std::vector<QueueRow>>>(Kind::reads, "queues", kCallTimeout,
                                                [this, ns] { return inner_.queues(ns); });
}

Result<TidyReply> FaultyStore::tidy(const TidyRequest& request) {
  return deliver<Result<TidyReply>>(Kind::changes, "tidy", request.timeout,
                                    [this, request] { return inner_.tidy(request); });
}

Result<Fence> FaultyStore::raise_floor(const RaiseFloorRequest& request) {
  return deliver<Result<Fence>>(Kind::changes, "raise_floor", request.timeout,
                                [this, request] { return inner_.raise_floor(request); });
}

Result<BeginEffectReply> FaultyStore::begin_effect(const BeginEffectRequest& request) {
  return deliver<Result<BeginEffectReply>>(Kind::changes, "begin_effect", request.timeout,
                                           [this, request] { return inner_.begin_effect(request); });
}

Result<FinishEffectReply> FaultyStore::finish_effect(const FinishEffectRequest& request) {
  return deliver<Result<FinishEffectReply>>(Kind::changes, "finish_effect", request.timeout,
                                            [this, request] { return inner_.finish_effect(request); });
}

Result<void> FaultyStore::resolve_effect(const ResolveEffectRequest& request) {
  return deliver<Result<void>>(Kind::changes, "resolve_effect", request.timeout,
                               [this, request] { return inner_.resolve_effect(request); });
}

Result<EffectsReply> FaultyStore::effects(const EffectsRequest& request) {
  return deliver<Result<EffectsReply>>(Kind::reads, "effects", request.timeout,
                                       [this, request] { return inner_.effects(request); });
}

Result<std::optional<JobFacts>> FaultyStore::facts(const std::string& ns, const JobId& id) {
  return deliver<Result<std::optional<JobFacts>>>(Kind::reads, "facts", kCallTimeout,
                                                  [this, ns, id] { return inner_.facts(ns, id); });
}

Result<std::vector<Attempt>> FaultyStore::attempts(const std::string& ns, const JobId& id) {
  return deliver<Result<std::vector<Attempt>>>(Kind::reads, "attempts", kCallTimeout,
                                               [this, ns, id] { return inner_.attempts(ns, id); });
}

Result<AcquireReply> FaultyStore::acquire(const AcquireRequest& request) {
  return deliver<Result<AcquireReply>>(Kind::changes, "acquire", request.timeout,
                                       [this, request] { return inner_.acquire(request); });
}
Result<RenewReply> FaultyStore::renew(const RenewRequest& request) {
  return deliver<Result<RenewReply>>(Kind::changes, "renew", request.timeout,
                                     [this, request] { return inner_.renew(request); });
}
Result<ReleaseReply> FaultyStore::release(const ReleaseRequest& request) {
  return deliver<Result<ReleaseReply>>(Kind::changes, "release", request.timeout,
                                       [this, request] { return inner_.release(request); });
}
Result<void> FaultyStore::withdraw(const WithdrawRequest& request) {
  return deliver<Result<void>>(Kind::changes, "withdraw", request.timeout,
                               [this, request] { return inner_.withdraw(request); });
}
Result<LocksReply> FaultyStore::locks(const LocksRequest& request) {
  return deliver<Result<LocksReply>>(Kind::reads, "locks", request.timeout,
                                     [this, request] { return inner_.locks(request); });
}
Result<BreakReply> FaultyStore::break_lock(const BreakRequest& request) {
  return deliver<Result<BreakReply>>(Kind::changes, "break_lock", request.timeout,
                                     [this, request] { return inner_.break_lock(request); });
}
Result<std::optional<LockRow>> FaultyStore::lock(const std::string& ns, const std::string& resource) {
  return deliver<Result<std::optional<LockRow>>>(Kind::reads, "lock", kCallTimeout,
                                                 [this, ns, resource] { return inner_.lock(ns, resource); });
}

Result<SchedulesReply> FaultyStore::schedules(const SchedulesRequest& request) {
  return deliver<Result<SchedulesReply>>(Kind::reads, "schedules", request.timeout,
                                         [this, request] { return inner_.schedules(request); });
}
Result<StepReply> FaultyStore::step_ticks(const StepRequest& request) {
  return deliver<Result<StepReply>>(Kind::changes, "step_ticks", request.timeout,
                                    [this, request] { return inner_.step_ticks(request); });
}
Result<ChangeScheduleReply> FaultyStore::change_schedule(const ChangeScheduleRequest& request) {
  return deliver<Result<ChangeScheduleReply>>(Kind::changes, "change_schedule", request.timeout,
                                              [this, request] { return inner_.change_schedule(request); });
}
Result<TicksReply> FaultyStore::ticks(const TicksRequest& request) {
  return deliver<Result<TicksReply>>(Kind::reads, "ticks", request.timeout,
                                     [this, request] { return inner_.ticks(request); });
}

Result<PipelineRow> FaultyStore::put_pipeline(const PutPipelineRequest& request) {
  return deliver<Result<PipelineRow>>(Kind::changes, "put_pipeline", request.timeout,
                                      [this, request] { return inner_.put_pipeline(request); });
}
Result<std::vector<PipelineRow>> FaultyStore::pipelines(const std::string& ns) {
  return deliver<Result<std::vector<PipelineRow>>>(Kind::reads, "pipelines", kCallTimeout,
                                                   [this, ns] { return inner_.pipelines(ns); });
}
Result<ItemsReply> FaultyStore::items(const ItemsRequest& request) {
  return deliver<Result<ItemsReply>>(Kind::reads, "items", request.timeout,
                                     [this, request] { return inner_.items(request); });
}
Result<ChangeItemsReply> FaultyStore::change_items(const ChangeItemsRequest& request) {
  return deliver<Result<ChangeItemsReply>>(Kind::changes, "change_items", request.timeout,
                                           [this, request] { return inner_.change_items(request); });
}

Result<void> FaultyStore::report_worker(const WorkerReport& report) {
  return deliver<Result<void>>(Kind::changes, "report_worker", report.timeout,
                               [this, report] { return inner_.report_worker(report); });
}

Result<void> FaultyStore::remove_worker(const std::string& ns, const std::string& owner) {
  return deliver<Result<void>>(Kind::changes, "remove_worker", kCallTimeout,
                               [this, ns, owner] { return inner_.remove_worker(ns, owner); });
}

Result<void> FaultyStore::order_worker(const OrderRequest& request) {
  return deliver<Result<void>>(Kind::changes, "order_worker", request.timeout,
                               [this, request] { return inner_.order_worker(request); });
}

Result<OrdersReply> FaultyStore::orders(const std::string& ns, const std::string& owner) {
  return deliver<Result<OrdersReply>>(Kind::reads, "orders", kCallTimeout,
                                      [this, ns, owner] { return inner_.orders(ns, owner); });
}

Result<void> FaultyStore::stopped(const StoppedRequest& request) {
  return deliver<Result<void>>(Kind::changes, "stopped", request.timeout,
                               [this, request] { return inner_.stopped(request); });
}

Result<std::vector<WorkerRow>> FaultyStore::workers(const std::string& ns) {
  return deliver<Result<std::vector<WorkerRow>>>(Kind::reads, "workers", kCallTimeout,
                                                 [this, ns] { return inner_.workers(ns); });
}

Result<std::vector<TrailEntry>> FaultyStore::trail(const std::string& ns, int limit) {
  return deliver<Result<std::vector<TrailEntry>>>(Kind::reads, "trail", kCallTimeout,
                                                  [this, ns, limit] { return inner_.trail(ns, limit); });
}

Result<std::vector<std::string>> FaultyStore::namespaces() {
  return deliver<Result<std::vector<std::string>>>(Kind::reads, "namespaces", kCallTimeout,
                                                   [this] { return inner_.namespaces(); });
}

Result<void> FaultyStore::remove_namespace(const std::string& ns, const Act& act) {
  return deliver<Result<void>>(Kind::changes, "remove_namespace", kCallTimeout,
                               [this, ns, act] { return inner_.remove_namespace(ns, act); });
}

std::unique_ptr<Watch> FaultyStore::watch(const WatchRequest& request, std::function<void()> on_change) {
  // A wake-up under way when the handle goes finds the callback gone.
  class FaultyWatch final : public Watch {
   public:
    std::shared_ptr<std::function<void()>> callback;
    std::unique_ptr<Watch> inner;
    ~FaultyWatch() override { *callback = nullptr; }
  };
  auto handle = std::make_unique<FaultyWatch>();
  handle->callback = std::make_shared<std::function<void()>>(std::move(on_change));
  handle->inner = inner_.watch(request, [this, callback = handle->callback] {
    Random& random = process_.simulation().random();
    if (random.chance(weather_.drop_wakeup)) {
      tally_.add(Count::lost_wakeups);
      return;
    }
    process_.simulation().after(random.between(Duration{0}, weather_.delay_most), [callback] {
      if (*callback) (*callback)();
    });
  });
  return handle;
}

}  // namespace fenceline::sim
