// fenceline sim: the production code under virtual time, on every kind of fault, from seeds.
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/prove/commands.hpp"
#include "sim/campaign.hpp"
#include "sim/shrink.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kSeedsDefault = 200;
constexpr std::int64_t kSeedMost = 1'000'000'000'000;

double hours(Duration duration) { return static_cast<double>(duration / 1ms) / 3'600'000.0; }

std::string scenario_names() {
  std::string names;
  for (const sim::Scenario& scenario : sim::scenarios())
    names += (names.empty() ? "" : ", ") + std::string(scenario.name);
  return names;
}

Result<const sim::Scenario*> chosen_scenario(const Invocation& invocation) {
  const std::optional<std::string> name = invocation.value("--scenario");
  if (!name) return nullptr;
  if (const sim::Scenario* found = sim::find_scenario(*name)) return found;
  return std::unexpected(usage_error("unknown scenario '" + *name + "'; use one of: " + scenario_names()));
}

// Reports progress at most every two seconds, and only at a terminal.
class Progress {
 public:
  Progress(const Clock& clock, std::uint64_t seeds) : clock_(clock), seeds_(seeds), next_(clock.now() + 2s) {}

  void operator()(std::uint64_t done) { say(std::to_string(done) + " of " + std::to_string(seeds_) + " seeds"); }

  void say(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (!stderr_is_terminal() || clock_.now() < next_) return;
    next_ = clock_.now() + 2s;
    tell("sim: " + what);
  }

 private:
  const Clock& clock_;
  std::uint64_t seeds_;
  std::mutex mutex_;
  Instant next_;
};

// Of the first failing seed, if it could be made smaller.
struct Reduced {
  std::string line;
  sim::Shrunk shrunk;
};

std::optional<Reduced> reduce(const sim::FailedSeed& failed, const sim::SeedOptions& options, Progress& progress) {
  const sim::Scenario& scenario = *sim::find_scenario(failed.scenario);
  sim::StackPool stacks;
  const auto say = [&](int tries, std::int64_t operations) {
    progress.say("making seed " + std::to_string(failed.seed) + " smaller: " + std::to_string(operations) +
                 " operations after " + std::to_string(tries) + " tries");
  };
  std::optional<sim::Shrunk> shrunk =
      sim::shrink(scenario, failed.seed, stacks, {.seed_options = options, .progress = say});
  if (!shrunk || shrunk->change.empty()) return std::nullopt;
  return Reduced{sim::repeat_line(scenario, failed.seed, shrunk->change), *shrunk};
}

double lease_operations_a_minute(const sim::CampaignReport& report) {
  const double minutes = hours(report.simulated) * 60;
  return minutes > 0 ? static_cast<double>(report.tally.of(sim::Count::lease_operations)) / minutes : 0;
}

nlohmann::ordered_json run_as_json(const sim::CampaignReport& report, std::uint64_t first_seed,
                                   const std::optional<Reduced>& reduced) {
  nlohmann::ordered_json json{{"seeds", report.seeds},
                              {"first_seed", first_seed},
                              {"violations", report.failed.size()},
                              {"simulated_hours", hours(report.simulated)},
                              {"operations", report.tally.of(sim::Count::operations)},
                              {"faults", report.tally.faults()}};
  for (int i = 1; i < static_cast<int>(sim::Count::count_); ++i) {
    const auto what = static_cast<sim::Count>(i);
    json[std::string(to_string(what))] = report.tally.of(what);
  }
  nlohmann::ordered_json failed = nlohmann::ordered_json::array();
  for (const sim::FailedSeed& seed : report.failed) {
    failed.push_back({{"scenario", seed.scenario},
                      {"seed", seed.seed},
                      {"promise", seed.violations.front().promise},
                      {"sentence", seed.violations.front().sentence},
                      {"repeat", sim::repeat_line(seed)}});
  }
  if (reduced) {
    failed.front()["shrunk"] = reduced->line;
    failed.front()["shrunk_operations"] = reduced->shrunk.operations;
  }
  json["failed"] = std::move(failed);
  json["lease_operations_per_minute"] = lease_operations_a_minute(report);
  return json;
}

void tell_failures(const std::vector<sim::FailedSeed>& failed, const std::optional<Reduced>& reduced = std::nullopt) {
  for (const sim::FailedSeed& seed : failed) {
    for (const sim::Violation& violation : seed.violations)
      print_line(violation.promise + " broken: " + violation.sentence);
    print_line("  repeat: " + sim::repeat_line(seed));
    if (!reduced || &seed != &failed.front()) continue;
    print_line("  " + std::to_string(reduced->shrunk.operations) + " operations in place of " +
               std::to_string(reduced->shrunk.operations_before) + ": " + reduced->line);
  }
}

// What --shrunk says of the seed's plan. The line was printed for one scenario and one seed.
Result<sim::PlanChange> plan_change(const Invocation& invocation) {
  const std::optional<std::string> text = invocation.value("--shrunk");
  if (!text) return sim::PlanChange{};
  if (!invocation.has("--seed") || !invocation.has("--scenario"))
    return std::unexpected(usage_error("--shrunk needs one scenario and one seed; add --scenario NAME --seed S"));
  Result<sim::PlanChange> change = sim::parse_plan_change(*text);
  if (!change) return std::unexpected(usage_error("--shrunk: " + change.error().message));
  return change;
}

// One seed, every event of it. The bytes depend on the seed alone.
Result<int> trace(const sim::Scenario& scenario, std::uint64_t seed, sim::SeedOptions options) {
  sim::StackPool stacks;
  options.tracing = true;
  const sim::SeedReport report = sim::play(scenario, seed, stacks, options);
  if (report.stopped) {
    tell("fenceline: interrupted; seed " + std::to_string(seed) + " was not finished");
    return interrupted_exit();
  }
  print(report.trace);
  if (report.violations.empty()) return kExitOk;
  for (const sim::Violation& violation : report.violations)
    print_line(violation.promise + " broken: " + violation.sentence);
  print_line("  repeat: " + sim::repeat_line(scenario, seed, options.change));
  return kExitFound;
}

Result<int> run_sim(Invocation& invocation) {
  const Result<const sim::Scenario*> scenario = chosen_scenario(invocation);
  if (!scenario) return std::unexpected(scenario.error());
  const Result<std::int64_t> only = invocation.number("--seed", -1, 0, kSeedMost);
  if (!only) return std::unexpected(only.error());
  const Result<std::int64_t> first = invocation.number("--first-seed", 1, 0, kSeedMost);
  if (!first) return std::unexpected(first.error());
  const Result<std::int64_t> seeds = invocation.number("--seeds", kSeedsDefault, 1, kSeedMost);
  if (!seeds) return std::unexpected(seeds.error());
  const bool one = invocation.has("--seed");
  if (one && (invocation.has("--seeds") || invocation.has("--first-seed")))
    return std::unexpected(usage_error("--seed plays one seed; omit --seeds and --first-seed"));
  if (invocation.has("--trace") && !one) return std::unexpected(usage_error("--trace shows one seed; add --seed S"));
  const Result<sim::PlanChange> change = plan_change(invocation);
  if (!change) return std::unexpected(change.error());

  sim::CampaignOptions options{.scenario = *scenario,
                               .first_seed = static_cast<std::uint64_t>(one ? *only : *first),
                               .seeds = static_cast<std::uint64_t>(one ? 1 : *seeds),
                               .lanes = one ? 1 : 2,
                               .stop = invocation.stop,
                               .seed_options = {.stop = invocation.stop, .change = *change}};
  if (invocation.has("--trace")) {
    return trace(*scenario ? **scenario : sim::scenario_of(options.first_seed), options.first_seed,
                 options.seed_options);
  }
  Progress progress(*invocation.runtime, options.seeds);
  options.progress = [&](std::uint64_t done) { progress(done); };
  const sim::CampaignReport report = sim::run_campaign(*invocation.runtime, options);
  if (report.stopped && report.seeds < options.seeds) {
    if (!invocation.json) tell_failures(report.failed);
    tell("fenceline: interrupted; " + std::to_string(report.seeds) + " of " + std::to_string(options.seeds) +
         " seeds were played, " + std::to_string(report.failed.size()) + " with a broken promise");
    return interrupted_exit();
  }
  const std::vector<std::string> missing = sim::missing(report);
  const bool may_shrink = !report.failed.empty() && change->empty() && !invocation.has("--no-shrink");
  const std::optional<Reduced> reduced =
      may_shrink ? reduce(report.failed.front(), options.seed_options, progress) : std::nullopt;

  if (invocation.json) {
    print_line(run_as_json(report, options.first_seed, reduced).dump());
  } else {
    tell_failures(report.failed, reduced);
    for (const std::string& name : missing)
      print_line("vacuous: no " + name + " in " + std::to_string(report.seeds) + " seeds");
    const std::string whole_hours = std::to_string(report.simulated / 1h);
    print_line(std::to_string(report.seeds) + " seeds, " + whole_hours + " simulated hours, " +
               std::to_string(report.tally.of(sim::Count::operations)) + " operations, " +
               std::to_string(report.tally.faults()) + " faults, " + std::to_string(report.failed.size()) +
               " seeds with a broken promise");
    if (*scenario && report.seeds > 1)
      print_line(std::to_string(std::lround(lease_operations_a_minute(report))) +
                 " lease operations per simulated minute");
  }
  if (!missing.empty() && invocation.json) tell("sim: vacuous: no " + missing.front());
  return report.failed.empty() && missing.empty() ? kExitOk : kExitFound;
}

}  // namespace

CommandSpec sim_command() {
  return {.name = "sim",
          .summary = "Simulate workers and store under faults and virtual time",
          .details = "Checks every promise throughout.",
          .options = {{"--scenario", "NAME", "one of " + scenario_names() + "; default all of them, one after another"},
                      {"--seeds", "N", "how many seeds to play; default 200"},
                      {"--first-seed", "S", "the first of them; default 1"},
                      {"--seed", "S", "play only this seed"},
                      {"--trace", "", "print every event of the seed"},
                      {"--shrunk", "CHANGE", "play the seed with a smaller plan, as printed by an earlier run"},
                      {"--no-shrink", "", "do not shrink the first failing seed"}},
          .examples = {{"fenceline sim --seeds 2000", "two thousand storms"},
                       {"fenceline sim --scenario job-storm --seed 8841 --trace", "one storm, event by event"}},
          .run = run_sim};
}

}  // namespace fenceline::cli
