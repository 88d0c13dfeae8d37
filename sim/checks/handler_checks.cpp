#include "sim/checks/handler_checks.hpp"

#include <algorithm>
#include <cstdlib>

namespace fenceline::sim {
namespace {

// A handler whose job was made to wait was told so by its own call, and may end by itself.
constexpr Duration kHeldPatience = std::chrono::seconds{1};

std::string about(const SimRuntime& process, const Run& run) {
  return "the handler of job " + short_id(run.job.id) + " in " + process.name() + " ";
}

}  // namespace

// Its fibers may then run in any order: no worker can tell its handlers while it is stopped.
bool HandlerChecks::was_paused(const SimRuntime& process) const {
  const Instant now = process.simulation().now();
  return process.resumed_at() != Instant{} && now - process.resumed_at() < grace_;
}

void HandlerChecks::started(const SimRuntime& process, const Run& run) {
  if (process.now() >= run.trust->until() && !was_paused(process))
    violations_.add("L5", about(process, run) + "was started under a lease without trust");
  const KnownJob* job = store_.find(run.job.id);
  const bool alone = job && job->fence == run.job.fence && job->losses_in_row >= kLossesBeforeAlone;
  std::map<Holding, bool>& here = running_[&process];
  const bool beside_one_alone = std::any_of(here.begin(), here.end(), [](const auto& other) { return other.second; });
  if (beside_one_alone || (alone && !here.empty()))
    violations_.add("J5", about(process, run) + "was started beside a job that must run alone");
  if (alone) tally_.add(Count::ran_alone);
  here.emplace(Holding{run.job.id, run.job.fence}, alone);
}

void HandlerChecks::acts(const SimRuntime& process, const Run& run) {
  if (std::abs(process.machine().rate_ppm()) > drift_promised_) return;
  const KnownJob* job = store_.find(run.job.id);
  const Instant now = process.simulation().now();
  const Holding delivery{run.job.id, run.job.fence};
  if (store_.is_forgotten(delivery)) return;
  if (store_.keeps_slot(delivery, now)) return acts_after_revocation(process, run);
  if (!job || job->fence != run.job.fence || !job->leased(now))
    violations_.add("L5", about(process, run) + "acted after the store had ended its lease");
}

// Until its worker has learned of it, and stopped it, a revoked delivery has its slot and may go on.
void HandlerChecks::acts_after_revocation(const SimRuntime& process, const Run& run) {
  const Holding delivery{run.job.id, run.job.fence};
  const Instant now = process.simulation().now();
  const Instant revoked = store_.revoked_at(delivery).value_or(now);
  const bool paused_since = process.resumed_at() != Instant{} && process.resumed_at() >= revoked;
  if (paused_since) return;
  const Duration patience = store_.was_held(delivery) ? kHeldPatience : Duration{0};
  const std::map<Holding, Instant>& learned = learned_[&process];
  const auto found = learned.find(delivery);
  if (found != learned.end() && now - found->second > stops_after_learning_ + patience)
    violations_.add("cancel", about(process, run) + "acted on after its worker had learned that its delivery is over");
  if (stops_after_act_ != Duration{0} && now - revoked > stops_after_act_ + patience)
    violations_.add("cancel", about(process, run) + "acted on long after its delivery was ended");
}

void HandlerChecks::learned(const SimRuntime& process, const Holding& delivery) {
  learned_[&process].emplace(delivery, process.simulation().now());
}

void HandlerChecks::said_stopped(const StoppedRequest& request) {
  for (const auto& [process, here] : running_) {
    for (const Holding& delivery : request.jobs) {
      if (here.contains(delivery))
        violations_.add("J7", "the slot of job " + short_id(delivery.id) + " was given free while its handler runs");
    }
  }
}

void HandlerChecks::overdue(const SimRuntime& process, const Run& run) {
  if (!was_paused(process))
    violations_.add("timeout", about(process, run) + "was not told that the time of its attempt is over");
}

void HandlerChecks::ended(const SimRuntime& process) {
  running_.erase(&process);
  learned_.erase(&process);
}

void HandlerChecks::untold(const SimRuntime& process, const Run& run) {
  if (!was_paused(process)) violations_.add("L5", about(process, run) + "was not told that its trust has ended");
}

void HandlerChecks::returned(const SimRuntime& process, const Run& run) {
  running_[&process].erase({run.job.id, run.job.fence});
}

std::vector<Holding> HandlerChecks::kills(const SimRuntime& process, const Run& run) {
  const std::map<Holding, bool>& here = running_[&process];
  const auto self = here.find({run.job.id, run.job.fence});
  const bool alone = self != here.end() && self->second;
  std::vector<Holding> neighbours;
  for (const Holding& held : believed_[run.job.owner]) {
    const KnownJob* job = store_.find(held.id);
    if (held.id == run.job.id || !job || job->fence != held.fence || !job->leased(process.simulation().now())) continue;
    neighbours.push_back(held);
    if (alone)
      violations_.add("J5", about(process, run) + "must run alone and takes job " + short_id(held.id) + " with it");
  }
  return neighbours;
}

void HandlerChecks::logged(const LogEvent& event) {
  const bool gained = event.name == "lease_acquired";
  if (!gained && event.name != "lease_lost") return;
  std::string owner;
  Holding holding;
  for (const LogField& field : event.fields) {
    if (field.key == "owner") owner = std::get<std::string>(field.value);
    if (field.key == "job") holding.id = parse_uuid(std::get<std::string>(field.value)).value_or(JobId{});
    if (field.key == "fence") holding.fence = std::get<std::int64_t>(field.value);
  }
  if (gained) believed_[owner].insert(holding);
  else believed_[owner].erase(holding);
}

}  // namespace fenceline::sim
