// The weather over a world: what befalls its processes, machines and clocks.
#include <algorithm>
#include <utility>

#include "sim/scenarios/process.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {

void World::begin_storm() {
  storm_ = true;
  set_weather(plan_.weather);
  every(weather_.kill_every, [this] {
    if (Process* process = some_process()) kill(process->runtime);
  });
  every(weather_.pause_every, [this] {
    if (Process* process = some_process()) pause(process->runtime);
  });
  every(weather_.suspend_every, [this] { suspend(hosts_[simulation_.random().below(hosts_.size())]); });
  every(weather_.terminate_every, [this] {
    Process* process = some_process();
    if (!process) return;
    tally_.add(Count::terminations);
    simulation_.trace().write(simulation_.now(), process->runtime.name(), "is asked to stop");
    process->runtime.terminate();
  });
  every(weather_.wall_jump_every, [this] { jump_some_wall_clock(); });
  every(weather_.wall_leap_every, [this] { leap_ahead(); });
  every(weather_.fleet_every, [this] { restart_fleet(); });
  every(plan_.locks.break_every, [this] { break_some_lock(); });
  begin_schedule_faults();
  begin_store_faults();
}

// What never ends stays as it is.
void World::set_weather(const Weather& weather) {
  weather_ = weather;
  for (Host& host : hosts_) {
    if (is_well(host)) host.weather = weather;
  }
}

// Whoever is stopped goes on; what is under way still arrives.
void World::end_storm() {
  storm_ = false;
  set_weather({.drop_wakeup = plan_.deaf ? 1.0 : 0.0, .delay_most = plan_.weather.delay_most});
  simulation_.trace().write(simulation_.now(), "world", "the storm is over");
  // Most often someone sets the clock right; else what was enqueued before has to wait for it.
  const bool bearable = checks_->set_back_by(store_clock_.wall_now()) < std::chrono::hours{1};
  if (plan_.weather.wall_back_most != Duration{0} && (!bearable || simulation_.random().chance(0.5)))
    store_machine_.jump_wall(checks_->set_back_by(store_clock_.wall_now()));
  for (Host& host : hosts_) {
    if (host.lasting == Lasting::paused) continue;
    for (Process* process : host.running) process->runtime.resume();
  }
}

void World::every(Duration mean, std::function<void()> what) {
  if (mean == Duration{0}) return;
  simulation_.after(simulation_.random().between(Duration{1}, 2 * mean), [this, mean, what = std::move(what)] {
    if (!storm_) return;
    what();
    every(mean, what);
  });
}

World::Process* World::some_process() {
  const Host& host = hosts_[simulation_.random().below(hosts_.size())];
  return host.running.empty() ? nullptr : host.running[simulation_.random().below(host.running.size())];
}

void World::on_step(SimRuntime& process) {
  if (!storm_) return;
  Random& random = simulation_.random();
  if (random.chance(weather_.kill_at_step)) kill(process);
  if (random.chance(weather_.pause_at_step)) pause(process);
  if (random.chance(weather_.delay_at_step)) process.delay(random.between(Duration{0}, weather_.step_delay_most));
}

void World::kill(SimRuntime& process) {
  tally_.add(Count::kills);
  process.kill();
}

void World::die_of(SimRuntime& process, const Run& run) {
  tally_.add(Count::poisoned);
  for (const Holding& neighbour : handler_checks_->kills(process, run)) checks_->poisoned(neighbour);
  process.kill();
}

// Unless its host is stopped for ever.
void World::resume(SimRuntime& process) {
  const auto host = std::find_if(hosts_.begin(), hosts_.end(),
                                 [&](const Host& one) { return one.machine.get() == &process.machine(); });
  if (host == hosts_.end() || host->lasting != Lasting::paused) process.resume();
}

void World::pause(SimRuntime& process) {
  if (process.paused()) return;
  tally_.add(Count::pauses);
  Random& random = simulation_.random();
  simulation_.after(random.between(Duration{0}, weather_.pause_most), [this, &process] { resume(process); });
  if (random.chance(weather_.twin)) {
    const auto host = std::find_if(hosts_.begin(), hosts_.end(),
                                   [&](const Host& one) { return one.machine.get() == &process.machine(); });
    if (host != hosts_.end() && host->role == Role::works && host->running.size() == 1) {
      simulation_.after(random.between(Duration{0}, weather_.restart_most), [this, &there = *host, &process] {
        if (!closing_ && process.paused() && !process.dead() && there.running.size() == 1) {
          tally_.add(Count::twins);
          start_on(there);
        }
      });
    }
  }
  process.pause();
}

void World::suspend(Host& host) {
  if (host.running.empty()) return;
  tally_.add(Count::suspends);
  const Duration lasts = simulation_.random().between(Duration{0}, weather_.pause_most);
  simulation_.trace().write(simulation_.now(), host.machine->name(), "is suspended");
  for (Process* process : host.running) {
    process->runtime.pause();
    simulation_.after(lasts, [this, process] { resume(process->runtime); });
  }
}

void World::jump_some_wall_clock() {
  tally_.add(Count::wall_jumps);
  Random& random = simulation_.random();
  const Duration by = random.between(-weather_.wall_jump_most, weather_.wall_jump_most);
  const std::size_t which = random.below(hosts_.size() + 1);
  Machine& machine = which == hosts_.size() ? store_machine_ : *hosts_[which].machine;
  machine.jump_wall(by);
  if (simulation_.trace().on())
    simulation_.trace().write(simulation_.now(), machine.name(),
                              "sets its wall clock by " + std::to_string(by.count()) + " us");
}

void World::leap_ahead() {
  tally_.add(Count::wall_leaps);
  store_machine_.jump_wall(simulation_.random().between(Duration{0}, weather_.wall_leap_most));
  simulation_.trace().write(simulation_.now(), store_machine_.name(), "leaps ahead by days");
}

void World::restart_fleet() {
  tally_.add(Count::fleet_restarts);
  const bool politely = simulation_.random().chance(0.5);
  simulation_.trace().write(simulation_.now(), "world", politely ? "asks all workers to stop" : "kills all workers");
  for (Host& host : hosts_) {
    if (host.role != Role::works) continue;
    const std::vector<Process*> running = host.running;
    for (Process* process : running) politely ? process->runtime.terminate() : process->runtime.kill();
  }
}

}  // namespace fenceline::sim
