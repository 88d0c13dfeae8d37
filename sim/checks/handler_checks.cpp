#include "sim/checks/handler_checks.hpp"

#include <algorithm>
#include <cstdlib>

namespace fenceline::sim {
namespace {

std::string about(const SimRuntime& process, const Run& run) { return "the handler of job " + short_id(run.job.id) + " in " + process.name() + " "; }

}  // namespace

// Its fibers may then run in any order: no worker can tell its handlers while it is stopped.
bool HandlerChecks::was_paused(const SimRuntime& process) const {
  const Instant now = process.simulation().now();
  return process.resumed_at() != Instant{} && now - process.resumed_at() < grace_;
}

void HandlerChecks::started(const SimRuntime& process, const Run& run) {
  if (process.now() >= run.trust.until() && !was_paused(process)) violations_.add("L5", about(process, run) + "was started under a lease without trust");
  const KnownJob* job = store_.find(run.job.id);
  const bool alone = job && job->fence == run.job.fence && job->losses_in_row >= kLossesBeforeAlone;
  std::map<Holding, bool>& here = running_[&process];
  const bool beside_one_alone = std::any_of(here.begin(), here.end(), [](const auto& other) { return other.second; });
  if (beside_one_alone || (alone && !here.empty())) violations_.add("J5", about(process, run) + "was started beside a job that must run alone");
  if (alone) tally_.add(Count::ran_alone);
  here.emplace(Holding{run.job.id, run.job.fence}, alone);
}

void HandlerChecks::acts(const SimRuntime& process, const Run& run) {
  if (std::abs(process.machine().rate_ppm()) > kDriftPromised) return;
  const KnownJob* job = store_.find(run.job.id);
  const Instant now = process.simulation().now();
  if (!job || job->fence != run.job.fence || !job->leased(now)) violations_.add("L5", about(process, run) + "acted after the store had ended its lease");
}

void HandlerChecks::untold(const SimRuntime& process, const Run& run) {
  if (!was_paused(process)) violations_.add("L5", about(process, run) + "was not told that its trust has ended");
}

void HandlerChecks::returned(const SimRuntime& process, const Run& run) { running_[&process].erase({run.job.id, run.job.fence}); }

void HandlerChecks::kills(const SimRuntime& process, const Run& run) {
  const std::map<Holding, bool>& here = running_[&process];
  const auto self = here.find({run.job.id, run.job.fence});
  if (self == here.end() || !self->second) return;
  for (const auto& [id, job] : store_.jobs()) {
    const Instant now = process.simulation().now();
    if (id != run.job.id && job.leased(now) && job.owner == run.job.owner)
      violations_.add("J5", about(process, run) + "must run alone and takes job " + short_id(id) + " with it");
  }
}

}  // namespace fenceline::sim
