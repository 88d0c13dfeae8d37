// Many seeds, one report: how much was simulated, what happened, and each seed that broke a promise.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "runtime/runtime.hpp"
#include "sim/checks/violations.hpp"
#include "sim/scenarios/scenario.hpp"
#include "sim/store/tally.hpp"

namespace fenceline::sim {

struct CampaignOptions {
  const Scenario* scenario = nullptr;  // none: the seeds take turns over all
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  int lanes = 2;  // seeds played side by side
  std::stop_token stop;
  std::function<void(std::uint64_t done)> progress;  // called from any lane, after each seed
  SeedOptions seed_options;
};

struct FailedSeed {
  std::string scenario;
  std::uint64_t seed = 0;
  std::vector<Violation> violations;
};

// What one scenario came to.
struct ScenarioReport {
  std::uint64_t seeds = 0;
  Tally tally;
};

struct CampaignReport {
  std::uint64_t seeds = 0;  // played to the end
  Duration simulated{};
  Tally tally;
  std::map<std::string, ScenarioReport, std::less<>> by_scenario;
  std::vector<FailedSeed> failed;  // by seed
  bool stopped = false;
};

// The scenario that a campaign over all of them plays with this seed.
const Scenario& scenario_of(std::uint64_t seed);

// Stops early when `stop` is requested, or when so many seeds failed that more would tell nothing new.
CampaignReport run_campaign(Runtime& runtime, const CampaignOptions& options);

// What never happened though a scenario was played often enough to owe it ("keys_met in unique-keys"): the campaign
// proved nothing about these.
std::vector<std::string> missing(const CampaignReport& report);

// "fenceline sim --scenario job-storm --seed 8841"
std::string repeat_line(const FailedSeed& failed);

}  // namespace fenceline::sim
