#include "sim/campaign.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace fenceline::sim {
namespace {

constexpr std::size_t kFailuresMost = 20;
constexpr std::uint64_t kSeedsThatShowAll = 60;  // of a scenario

// What the lanes share.
struct Board {
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  CampaignReport report;
};

void play_lane(const CampaignOptions& options, Board& board) {
  StackPool stacks;
  SeedOptions seed_options = options.seed_options;
  seed_options.stop = options.stop;
  while (!options.stop.stop_requested()) {
    const std::uint64_t number = board.next.fetch_add(1);
    if (number >= options.seeds) return;
    const std::uint64_t seed = options.first_seed + number;
    const Scenario& scenario = options.scenario ? *options.scenario : scenario_of(seed);
    const SeedReport played = play(scenario, seed, stacks, seed_options);
    if (played.stopped) return;
    std::uint64_t done = 0;
    {
      const std::lock_guard lock(board.mutex);
      CampaignReport& report = board.report;
      done = ++report.seeds;
      report.simulated += played.simulated;
      report.tally += played.tally;
      ScenarioReport& own = report.by_scenario[std::string(scenario.name)];
      own.seeds += 1;
      own.tally += played.tally;
      if (!played.violations.empty()) report.failed.push_back({std::string(scenario.name), seed, played.violations});
      if (report.failed.size() >= kFailuresMost) board.next = options.seeds;
    }
    if (options.progress) options.progress(done);
  }
}

}  // namespace

const Scenario& scenario_of(std::uint64_t seed) { return scenarios()[seed % scenarios().size()]; }

CampaignReport run_campaign(Runtime& runtime, const CampaignOptions& options) {
  Board board;
  std::vector<Task> lanes;
  for (int i = 0; i < options.lanes; ++i) {
    lanes.push_back(runtime.spawn("sim-" + std::to_string(i + 1), [&](std::stop_token) { play_lane(options, board); }));
  }
  for (Task& lane : lanes) lane.join();
  CampaignReport report = std::move(board.report);
  report.stopped = options.stop.stop_requested();
  std::sort(report.failed.begin(), report.failed.end(),
            [](const FailedSeed& a, const FailedSeed& b) { return a.seed < b.seed; });
  return report;
}

std::vector<std::string> missing(const CampaignReport& report) {
  std::vector<std::string> names;
  for (const auto& [name, own] : report.by_scenario) {
    const Scenario* scenario = find_scenario(name);
    if (!scenario || own.seeds < kSeedsThatShowAll) continue;
    for (const Count what : scenario->owes) {
      if (own.tally.of(what) == 0) names.push_back(std::string(to_string(what)) + " in " + name);
    }
  }
  return names;
}

std::string repeat_line(const FailedSeed& failed) {
  return "fenceline sim --scenario " + failed.scenario + " --seed " + std::to_string(failed.seed);
}

}  // namespace fenceline::sim
