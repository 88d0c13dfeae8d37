// Hosts that want locks, the operator who breaks some, and the end: everybody is served.
#include "base/check.hpp"
#include "services/lock_client.hpp"
#include "sim/scenarios/lock_user.hpp"
#include "sim/scenarios/process.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {

using namespace std::chrono_literals;

void World::hold_locks(Process& process, std::stop_token stop) {
  LockClient client(make_lock_parts(
      process.runtime, Log(process.log), process.store,
      {.ns = std::string(kNamespace), .place = process.runtime.name(), .tidy_every = plan_.locks.tidy_every}));
  std::vector<Task> users;
  for (int i = 0; i < plan_.concurrency; ++i) {
    users.push_back(
        process.runtime.spawn("user-" + std::to_string(i + 1), [this, &process, &client, i, stop](std::stop_token) {
          LockUser(*this, process.runtime, client, i).run(stop);
        }));
  }
  for (Task& user : users) user.join();
}

void World::break_some_lock() {
  if (store_fault_) return;  // it answers nobody before it has saved
  const Result<LocksReply> held = own().locks({.ns = std::string(kNamespace), .held = true, .limit = 1000});
  check(held.has_value(), "the inventory of a simulated store can be read");
  if (held->locks.empty()) return;
  const LockRow& row = held->locks[simulation_.random().below(held->locks.size())];
  const BreakRequest request{.ns = std::string(kNamespace),
                             .resource = row.resource,
                             .only = row.fence,
                             .request = fresh_request(),
                             .act = {"sim", "broken"}};
  if (const Result<BreakReply> broke = own().break_lock(request); !broke)
    violations_.add("break", "lock " + row.resource + " cannot be broken: " + broke.error().message);
  if (simulation_.random().chance(0.5))
    (void)own().break_lock(request);  // a repeat changes nothing, whoever has it by now
}

// Once the weather is fine nobody waits for ever.
void World::everybody_is_served() {
  served_.clear();
  const auto users = static_cast<std::size_t>(plan_.hosts * plan_.concurrency);
  const Duration patience = 1h + 40 * plan_.ttl * static_cast<std::int64_t>(users);
  if (simulation_.run_until(simulation_.now() + patience, [&] { return over() || served_.size() >= users; })) return;
  violations_.add("turn", std::to_string(users - served_.size()) + " of " + std::to_string(users) + " had no lock " +
                              std::to_string(patience / 1h) + " hours after the storm");
}

}  // namespace fenceline::sim
