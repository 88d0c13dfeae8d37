// A user's handler under the weather of a trial: a plan made from it, and the story that comes out.
#include <algorithm>
#include <exception>
#include <utility>

#include "fenceline/sim.hpp"
#include "model/trust.hpp"
#include "sim/scenarios/scenario.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFailedMost = 10;
constexpr int kWorkersMost = 50;
constexpr std::size_t kJobsMost = 1000;

class HereInSimulation final : public Here {
 public:
  HereInSimulation(const Run& run, Runtime& process, std::string worker)
      : run_(run), process_(process), worker_(std::move(worker)) {}
  Instant now() const override { return process_.now(); }
  WallTime wall_now() const override { return process_.wall_now(); }
  std::uint64_t random() override { return process_.random(); }
  const std::string& worker() const override { return worker_; }
  bool work(Duration takes) override {
    const bool in_peace = process_.sleep_for(takes, run_.stop);
    return in_peace && !run_.stop.stop_requested();
  }

 private:
  const Run& run_;
  Runtime& process_;
  std::string worker_;
};

// Notes how a call of the handler ended, also when its process is killed under it.
class Ending {
 public:
  Ending(std::vector<TrialDelivery>& all, TrialDelivery delivery) : all_(all), index_(all.size()) {
    all_.push_back(std::move(delivery));
  }
  ~Ending() {
    if (all_[index_].end.empty()) all_[index_].end = "killed";
  }
  void is(std::string_view end) { all_[index_].end = end; }

 private:
  std::vector<TrialDelivery>& all_;
  std::size_t index_;
};

RunResult call(const Trial& trial, std::vector<TrialDelivery>& deliveries, const Run& run, Runtime& process,
               const std::string& worker) {
  HereInSimulation here(run, process, worker);
  Ending ending(deliveries, {run.job.id, run.job.deliveries, run.job.fence, worker, {}});
  try {
    RunResult result = trial.handler(run, here);
    ending.is(to_string(result.kind));
    return result;
  } catch (const std::exception&) {
    ending.is("threw");
    throw;
  }
}

Plan plan_for(const Trial& trial) {
  const Conditions& given = trial.weather;
  Plan plan;
  plan.hosts = trial.workers;
  plan.concurrency = trial.concurrency;
  plan.queues = 0;  // those of the jobs
  plan.ttl = trial.ttl;
  plan.jobs = static_cast<int>(trial.jobs.size());
  plan.enqueue_pause_most = std::min<Duration>(trial.ttl, given.lasts / std::max<std::int64_t>(1, plan.jobs));
  plan.guarantee = given.store_forgets ? GuaranteeClass::c : GuaranteeClass::b;
  plan.weather = {.drop_request = given.lost_requests,
                  .drop_reply = given.lost_replies,
                  .late_request = given.late_requests,
                  .duplicate = given.duplicates,
                  .delay_most = given.delay_most,
                  .kill_every = given.kill_every,
                  .pause_every = given.pause_every,
                  .pause_most = given.pause_most,
                  .terminate_every = given.stop_every,
                  .restart_most = trial.ttl,
                  .crash_every = given.store_crash_every,
                  .unsaved_most = trial.ttl / 10,
                  .down_most = trial.ttl / 2,
                  .kill_at_step = given.kill_at_step};
  plan.storm = given.lasts;
  plan.drift_ppm = 10'000;
  plan.compare_every = 64;
  if (trial.books) plan.operators = {.act_every = trial.ttl, .resolve = 1};
  return plan;
}

NewJob new_job(const TrialJob& given) {
  NewJob job;
  job.queue = given.queue;
  job.payload = given.payload;
  job.delay = given.delay;
  job.attempts_max = given.attempts_max;
  job.timeout = given.timeout;
  job.key = given.key;
  job.group = given.group;
  job.limit_key = given.limit_key;
  return job;
}

Result<void> check_trial(const Trial& trial) {
  if (!trial.handler) return fail(Code::invalid, "a trial needs a handler");
  if (trial.jobs.empty() || trial.jobs.size() > kJobsMost)
    return fail(Code::invalid, "a trial needs 1 to " + std::to_string(kJobsMost) + " jobs");
  if (trial.workers < 1 || trial.workers > kWorkersMost || trial.concurrency < 1 || trial.concurrency > kWorkersMost)
    return fail(Code::invalid, "workers and concurrency of a trial must be 1 to " + std::to_string(kWorkersMost));
  if (trial.ttl < 1s || trial.ttl > 24h) return fail(Code::invalid, "the ttl of a trial must be 1s to 24h");
  const Conditions& weather = trial.weather;
  for (const double share :
       {weather.lost_requests, weather.lost_replies, weather.late_requests, weather.duplicates, weather.kill_at_step}) {
    if (!(share >= 0 && share <= 1)) return fail(Code::invalid, "the shares in the weather of a trial must be 0 to 1");
  }
  for (const Duration time : {weather.delay_most, weather.kill_every, weather.pause_every, weather.pause_most,
                              weather.stop_every, weather.store_crash_every, weather.lasts}) {
    if (time < 0s || time > 24h) return fail(Code::invalid, "the times in the weather of a trial must be 0 to 24h");
  }
  for (const TrialJob& job : trial.jobs) {
    NewJob made = new_job(job);
    made.id = make_uuid7(WallTime{}, 1, 1);
    if (auto ok = check_new_job(made); !ok) return ok;
  }
  return {};
}

TrialStory play_one(const Trial& trial, std::uint64_t seed, StackPool& stacks) {
  TrialStory story;
  story.seed = seed;
  SeedOptions options{.tracing = trial.trace, .audit = Audit::none};
  for (const TrialJob& job : trial.jobs) options.jobs.push_back(new_job(job));
  options.handler = [&](const Run& run, Runtime& process, const std::string& worker) {
    return call(trial, story.deliveries, run, process, worker);
  };
  options.books = trial.books;
  options.at_end = [&](std::vector<Job> jobs) { story.jobs = std::move(jobs); };
  if (trial.begin) trial.begin();
  const SeedReport report = play(plan_for(trial), seed, stacks, options);
  story.faults = report.tally.faults();
  story.takeovers = report.tally.of(Count::takeovers);
  story.refusals = report.tally.of(Count::refusals);
  story.simulated = report.simulated;
  story.trace = report.trace;
  for (const Violation& violation : report.violations)
    story.wrong.push_back(violation.promise + ": " + violation.sentence);
  if (!trial.check) return story;
  if (std::string said = trial.check(story); !said.empty()) story.wrong.push_back(std::move(said));
  return story;
}

}  // namespace

Conditions Conditions::rough(Duration ttl) {
  return {.lost_requests = 0.03,
          .lost_replies = 0.05,
          .late_requests = 0.02,
          .duplicates = 0.03,
          .delay_most = ttl / 100,
          .kill_every = 4 * ttl,
          .kill_at_step = 0.002,
          .pause_every = 4 * ttl,
          .pause_most = 2 * ttl,
          .stop_every = 10 * ttl,
          .store_crash_every = 10 * ttl,
          .store_forgets = false,
          .lasts = 20 * ttl};
}

Result<TrialReport> try_handler(const Trial& trial) {
  if (auto ok = check_trial(trial); !ok) return std::unexpected(ok.error());
  TrialReport report;
  StackPool stacks;
  for (std::uint64_t i = 0; i < trial.seeds && report.failed.size() < kFailedMost; ++i) {
    TrialStory story = play_one(trial, trial.first_seed + i, stacks);
    report.seeds += 1;
    report.deliveries += static_cast<std::int64_t>(story.deliveries.size());
    report.deliveries_again += std::count_if(story.deliveries.begin(), story.deliveries.end(),
                                             [](const TrialDelivery& one) { return one.number > 1; });
    report.faults += story.faults;
    if (!story.wrong.empty()) report.failed.push_back(std::move(story));
  }
  return report;
}

}  // namespace fenceline::sim
