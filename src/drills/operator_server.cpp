// Faults of the store's server as a whole. On a store that is embedded in its users' processes none of them can be.
#include <fstream>

#include "drills/operator.hpp"

namespace fenceline::cli {
namespace {

using bench::StoreKind;

void stop_server(OperatorScene& scene) {
  const Result<std::optional<RestartPlan>> plan = scene.server()->restart_plan(scene.runtime());
  if (!plan) return scene.fail(plan.error().message);
  if (!*plan) return scene.fail("it is unknown how to stop the server");
  if (!run_in_shell((*plan)->stop)) return scene.fail("cannot stop the server");
  scene.at_end([start = (*plan)->start] { run_in_shell(start); });
}

OperatorFault server_stopped() {
  return {.name = "store_away",
          .what = "the server of the store is stopped without a shutdown",
          .metric = "fenceline_store_up",
          .check = "store_away",
          .command = "start the server",
          .bring_about = stop_server,
          .fix = [](OperatorScene& scene) { scene.put_back(); },
          .only_on = {StoreKind::postgres, StoreKind::redis},
          .takes_the_server = true};
}

OperatorFault stopped_for_long() {
  OperatorFault fault = server_stopped();
  fault.name = "sample_age";
  fault.what = "the same, for minutes: the gauges are outdated";
  fault.metric = "fenceline_sample_age_seconds";
  fault.alert = "FencelineSampleAge";
  fault.ages = true;
  return fault;
}

OperatorFault stopped_under_a_lock() {
  return {.name = "fail_open",
          .what = "the same under a lock whose class continues without the store (`on_renewal_error = \"open\"`)",
          .metric = "fenceline_fail_open_total",
          .check = "store_away",
          .command = "start the server",
          .prepare =
              [](OperatorScene& scene) {
                const std::string config = scene.folder() + "/fenceline.toml";
                std::ofstream(config) << "[lock.bold]\npattern = \"item\"\nttl = \"2s\"\non_renewal_error = \"open\"\n";
                scene.watch(scene.start_measured({"lock", "deploy", "--class", "bold", "--config", config, "--metrics",
                                                  "127.0.0.1:0", "--", "/bin/sleep", "300"},
                                                 "holder"));
              },
          .bring_about = stop_server,
          .fix = [](OperatorScene& scene) { scene.put_back(); },
          .alert = "FencelineFailOpen",
          .only_on = {StoreKind::postgres, StoreKind::redis},
          .takes_the_server = true};
}

}  // namespace

std::vector<OperatorFault> server_faults() { return {server_stopped(), stopped_for_long(), stopped_under_a_lock()}; }

}  // namespace fenceline::cli
