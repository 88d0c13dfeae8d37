// Hosts that run schedulers, people who change schedules while they fire, clocks that are set, and the end: every tick
// has ended.
#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "services/schedule_acts.hpp"
#include "services/scheduler.hpp"
#include "sim/scenarios/process.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;

// Where clocks are changed in 2026, both ways: an hour; half an hour; at midnight.
struct ClockChange {
  const char* zone;
  WallTime at;
};
constexpr std::chrono::year kYear{2026};
const std::array<ClockChange, 10> kClockChanges{{{"Europe/Berlin", sys_days{kYear / 3 / 29} + 1h},
                                                 {"Europe/Berlin", sys_days{kYear / 10 / 25} + 1h},
                                                 {"America/New_York", sys_days{kYear / 3 / 8} + 7h},
                                                 {"America/New_York", sys_days{kYear / 11 / 1} + 6h},
                                                 {"Australia/Lord_Howe", sys_days{kYear / 4 / 4} + 15h},
                                                 {"Australia/Lord_Howe", sys_days{kYear / 10 / 3} + 15h + 30min},
                                                 {"America/Santiago", sys_days{kYear / 4 / 5} + 3h},
                                                 {"America/Santiago", sys_days{kYear / 9 / 6} + 4h},
                                                 {"Pacific/Auckland", sys_days{kYear / 4 / 4} + 14h},
                                                 {"Pacific/Auckland", sys_days{kYear / 9 / 26} + 14h}}};
constexpr WallTime kEndOf32Bits = sys_days{std::chrono::year{2038} / 1 / 19} + 3h + 14min + 8s;
constexpr WallTime kFarLeast = sys_days{std::chrono::year{2199} / 12 / 1};
constexpr WallTime kFarMost = sys_days{std::chrono::year{2200} / 1 / 1} + 1h;

constexpr std::array kExpressions{"*/10 * * * *",   "0 * * * *",      "30 2 * * *",    "15 1,2,3 * * *",
                                  "*/20 1-4 * * *", "0 */3 * * *",    "30 1-3 * * *",  "@daily",
                                  "5 0 12 * * *",   "0,30 0-3 * * *", "45 23 * * 1-5", "0 0 * * *"};

std::string schedule_name(std::size_t number) { return "s" + std::to_string(number); }

}  // namespace

ScheduleSpec World::some_spec() {
  Random& random = simulation_.random();
  ScheduleSpec spec;
  const WallTime now = store_clock_.wall_now();
  if (plan_.storm < 24h) {
    spec.every = plan_.schedules.workers ? std::chrono::seconds{random.between(3, 60)}
                                         : std::chrono::seconds{random.between(1, 20)};
  } else if (random.chance(0.5)) {
    spec.every = std::chrono::seconds{random.between(600, 3600)};
  } else {
    spec.cron = random.pick(kExpressions);
    spec.zone = random.pick(kClockChanges).zone;
    if (plan_.schedules.clocks_change && random.chance(0.7)) spec.zone = clock_change_zone_;
  }
  const auto in_range = [](WallTime at) { return std::min(at, kRunAtMost); };  // the clock may show 2200
  if (spec.cron.empty())
    spec.anchor =
        in_range(std::chrono::floor<std::chrono::seconds>(now) + std::chrono::seconds{random.between(-5000, 5000)});
  if (random.chance(0.2)) spec.jitter = std::chrono::seconds{random.between(1, 600)};
  if (random.chance(0.1)) spec.starts = in_range(now + std::chrono::seconds{random.between(-3600, 36'000)});
  if (random.chance(0.1))
    spec.ends = in_range(spec.starts.value_or(now) + std::chrono::seconds{random.between(3600, 360'000)});
  spec.catch_up = random.pick(std::array{CatchUp::all, CatchUp::latest, CatchUp::latest, CatchUp::none});
  spec.window = random.pick(std::array<Duration, 4>{1h, 24h, 10 * 24h, 30 * 24h});
  spec.cap = static_cast<int>(random.between(1, 30));
  spec.overlap = random.pick(
      std::array{Overlap::allow, Overlap::allow, Overlap::skip, Overlap::queue_one, Overlap::cancel_running});
  spec.queue = queue_name(0);
  spec.payload = R"({"tick":"${tick}","of":"${schedule}"})";
  return spec;
}

// Before anybody comes. A seed may begin some days before clocks change somewhere, or before seconds need more than 32
// bits.
void World::make_schedules() {
  Random& random = simulation_.random();
  if (plan_.schedules.clocks_change) {
    const ClockChange& change = random.pick(kClockChanges);
    const WallTime at = random.chance(0.2) ? kEndOf32Bits : change.at;
    clock_change_zone_ = change.zone;
    store_machine_.jump_wall(at - random.between(Duration{1h}, plan_.storm) - store_clock_.wall_now());
    for (const ClockChange& each : kClockChanges) schedule_checks_->clocks_change_at(each.zone, each.at);
  }
  for (int i = 0; i < plan_.schedules.count; ++i) {
    const ChangeScheduleRequest request{.ns = std::string(kNamespace),
                                        .name = schedule_name(static_cast<std::size_t>(i)),
                                        .spec = spec_text(some_spec()),
                                        .request = fresh_request(),
                                        .owner = "sim",
                                        .act = {"sim", "plan"}};
    const Result<ChangeScheduleReply> made = own().change_schedule(request);
    check(made.has_value(), "the schedules of a plan are good");
  }
}

void World::begin_schedule_faults() {
  const ScheduleWork& work = plan_.schedules;
  every(work.finish_every, [this] { finish_some_jobs(); });
  every(work.clock_every, [this] {
    const Duration by = simulation_.random().between(-plan_.schedules.clock_most, plan_.schedules.clock_most);
    tally_.add(by < Duration{0} ? Count::wall_set_back : Count::wall_leaps);
    store_machine_.jump_wall(by);
    if (simulation_.trace().on())
      simulation_.trace().write(simulation_.now(), "store",
                                "has its wall clock set by " + std::to_string(by.count()) + " us");
  });
  every(work.far_every, [this] { set_clock_far(); });
}

void World::set_clock_far() {
  Random& random = simulation_.random();
  if (store_clock_.wall_now() > kFarLeast - 24h * 365) return;  // it is there
  const Duration by = kFarLeast - store_clock_.wall_now() + random.between(Duration{0}, kFarMost - kFarLeast);
  tally_.add(Count::clock_at_2200);
  store_machine_.jump_wall(by);
  simulation_.trace().write(simulation_.now(), "store", "has its wall clock set to the end of 2199");
  simulation_.after(random.between(Duration{0}, plan_.schedules.far_most), [this, by] {
    store_machine_.jump_wall(-by);
    simulation_.trace().write(simulation_.now(), "store", "has its wall clock set right");
  });
}

// Whoever sent it, or anybody else: it may be about to hear of it, or to send the next one.
void World::strike_after_a_step() {
  Random& random = simulation_.random();
  if (!storm_ || !random.chance(plan_.schedules.strike_at_tick)) return;
  simulation_.after(random.between(Duration{0}, Duration{1s}), [this] {
    Process* process = storm_ ? some_process() : nullptr;
    if (!process) return;
    if (simulation_.random().chance(0.5)) kill(process->runtime);
    else pause(process->runtime);
  });
}

void World::fire_ticks(Process& process, std::stop_token stop) {
  Scheduler scheduler(process.runtime, Log(process.log), process.store,
                      {.ns = std::string(kNamespace),
                       .owner = process.runtime.name(),
                       .place = process.runtime.name(),
                       .window = plan_.schedules.window,
                       .look_every = plan_.schedules.look_every});
  scheduler.run(stop);
}

// Some are done at once, some only after a while. Not while the store is about to lose what it answers: these calls do
// not wait until it has saved them.
void World::finish_some_jobs() {
  if (store_fault_) return;
  Random& random = simulation_.random();
  const std::string owner = fresh_request();
  const Result<ClaimReply> claimed = own().claim({.ns = std::string(kNamespace),
                                                  .queues = {queue_name(0)},
                                                  .stage = "",
                                                  .owner = owner,
                                                  .request = fresh_request(),
                                                  .limit = static_cast<int>(random.between(1, 40)),
                                                  .ttl = 6h});
  if (!claimed || claimed->jobs.empty()) return;
  SettleRequest request{.ns = std::string(kNamespace), .owner = owner};
  for (const ClaimedJob& job : claimed->jobs) request.settlements.push_back({.id = job.job.id, .fence = job.job.fence});
  if (random.chance(0.5)) {
    (void)own().settle(request);
    return;
  }
  simulation_.after(random.between(Duration{0}, Duration{2h}), [this, request] {
    if (!store_fault_) (void)own().settle(request);
  });
}

void World::change_schedules(Process& process, std::stop_token stop) {
  while (storm_ && !stop.stop_requested()) {
    process.runtime.sleep_for(simulation_.random().between(Duration{0}, 2 * plan_.schedules.act_every), stop);
    if (!storm_ || stop.stop_requested()) break;
    change_some_schedule(process, stop);
  }
  if (!storm_) duties_done_ = true;
}

void World::change_some_schedule(Process& process, std::stop_token stop) {
  const Result<void> done = do_to_some_schedule(process, stop);
  if (done) return;
  const Code code = done.error().code;
  // It may be gone, or changed by a scheduler all the time; there may be nothing to take back; the store may be away
  // for longer than anybody waits.
  if (code != Code::not_found && code != Code::conflict && code != Code::refused && code != Code::unavailable &&
      code != Code::in_doubt)
    violations_.add("operator", "an act was answered " + std::string(to_string(code)) + ": " + done.error().message);
}

Result<void> World::do_to_some_schedule(Process& process, std::stop_token stop) {
  Random& random = simulation_.random();
  ScheduleActs acts(process.runtime, process.store, {.ns = std::string(kNamespace), .place = process.runtime.name()},
                    stop);
  const std::string name = schedule_name(random.below(static_cast<std::size_t>(plan_.schedules.count)));
  const Act act{"operator", "as planned"};
  const auto said = [](const auto& reply) {
    return reply ? Result<void>{} : Result<void>{std::unexpected(reply.error())};
  };
  switch (random.below(8)) {
    case 0: return said(acts.pause(name, act));
    case 1:
    case 2: return said(acts.resume(name, act));
    case 3: return said(acts.remove(name, act));
    case 4:
      return said(acts.rewind(
          name, store_clock_.wall_now() - random.between(Duration{1s}, std::min(Duration{48h}, plan_.storm / 4)), act));
    case 5: return said(acts.run(name, act));
    default: return said(acts.put(name, some_spec(), act));
  }
}

// What is open when the storm is over ends soon; then the history is what the expressions say.
void World::every_tick_ends() {
  // It may have gone down at the last moment of the storm, for hours.
  simulation_.run_until(simulation_.now() + plan_.weather.down_most + plan_.weather.unsaved_most,
                        [this] { return over() || !store_fault_; });
  const Duration patience = 4 * plan_.schedules.window + 2 * plan_.schedules.look_every + 2min;
  simulation_.run_until(simulation_.now() + patience, [this] { return over(); });
  if (over()) return;
  // Between two looks a clock that goes wrong by a quarter leads it astray by that much.
  schedule_checks_->all_ended(store_clock_.wall_now() - plan_.schedules.look_every / 2 - 1min);
  std::set<JobId> jobs;
  std::set<JobId> tidied;
  for (const auto& [id, job] : checks_->jobs()) jobs.insert(id);
  for (const auto& [id, fence] : checks_->tidied()) tidied.insert(id);
  for (const Batch& batch : batches_) {
    for (const NewJob& job : batch.jobs) jobs.erase(job.id);
  }
  schedule_checks_->compare_all(jobs, tidied);
}

// Else there would always be another job to wait for.
void World::remove_schedules() {
  const Result<SchedulesReply> all = own().schedules({.ns = std::string(kNamespace)});
  check(all.has_value(), "the store shows its schedules");
  for (const ScheduleRow& row : all->schedules) {
    const ChangeScheduleRequest request{.ns = std::string(kNamespace),
                                        .name = row.name,
                                        .change = ScheduleChange::remove,
                                        .revision = row.revision,
                                        .request = fresh_request(),
                                        .owner = "sim",
                                        .act = {"sim", "the end"}};
    if (const Result<ChangeScheduleReply> removed = own().change_schedule(request); !removed)
      violations_.add("S2", "schedule " + row.name + " cannot be removed: " + removed.error().message);
  }
}

}  // namespace fenceline::sim
