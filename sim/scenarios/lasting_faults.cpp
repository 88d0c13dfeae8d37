// Liveness: a healthy core, and around it workers with faults that never end. What can end must end all the same (J8).
#include <algorithm>

#include "sim/scenarios/process.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {

void World::begin_lasting_faults() {
  if (plan_.healthy_hosts == 0) return;
  for (Host& host : hosts_) {
    if (host.role != Role::works || host.number < plan_.healthy_hosts) continue;
    simulation_.after(simulation_.random().between(Duration{0}, plan_.storm), [this, &host] { begin_lasting(host); });
  }
}

void World::begin_lasting(Host& host) {
  constexpr Lasting kAll[] = {Lasting::paused, Lasting::cut_off, Lasting::cut_one_way, Lasting::dies};
  Random& random = simulation_.random();
  host.lasting = kAll[random.below(std::size(kAll))];
  const auto says = [&](std::string_view what) {
    simulation_.trace().write(simulation_.now(), host.machine->name(), what);
  };
  switch (host.lasting) {
    case Lasting::none: return;
    case Lasting::paused:
      tally_.add(Count::paused_for_ever);
      says("is stopped for ever");
      for (Process* process : host.running) process->runtime.pause();
      return;
    case Lasting::cut_off:
      tally_.add(Count::cut_off_for_ever);
      says("is cut off for ever");
      host.weather.drop_request = 1;
      host.weather.drop_wakeup = 1;
      return;
    case Lasting::cut_one_way:
      tally_.add(Count::cut_one_way_for_ever);
      says("hears nothing of the store for ever, which hears it");
      host.weather.drop_reply = 1;
      host.weather.drop_wakeup = 1;
      return;
    case Lasting::dies:
      tally_.add(Count::dying_for_ever);
      says("dies again and again");
      return kill_again_and_again(host);
  }
}

void World::kill_again_and_again(Host& host) {
  simulation_.after(simulation_.random().between(Duration{1}, 2 * plan_.ttl), [this, &host] {
    if (closing_) return;
    const std::vector<Process*> running = host.running;
    for (Process* process : running) kill(process->runtime);
    kill_again_and_again(host);
  });
}

}  // namespace fenceline::sim
