// Faults of workers: killed, and stopped for longer than their leases.
#include <csignal>
#include <fstream>

#include "drills/operator.hpp"

namespace fenceline::cli {
namespace {

OperatorFault killed() {
  return {.name = "workers_gone",
          .what = "a worker is killed, and not replaced",
          .metric = "fenceline_workers{state=\"gone\"}",
          .check = "workers_gone",
          .command = "fenceline workers forget OWNER",
          .prepare =
              [](OperatorScene& scene) {
                scene.work({kSceneQueue}, "true");
                scene.watch(scene.work({kSceneQueue}, "true"));
                scene.until("both workers are seen", [&] {
                  return scene.scrape().value_or(Scrape{}).sum("fenceline_workers{state=\"seen\"}") == 2;
                });
              },
          .bring_about = [](OperatorScene& scene) { scene.kill(0); }};
}

// The first worker has a job that runs until it is told; the second one waits for work. The first is stopped
// with all it started, and the second takes over.
void taken_over(OperatorScene& scene) {
  // One that is stopped in the middle of a write may keep everybody from writing, which is another fault.
  scene.until("the worker is paused", [&] {
    scene.signal_all(0, SIGSTOP);
    if (scene.succeeds({"queue", "set", "aside", "--limit", "1"})) return true;
    scene.signal_all(0, SIGCONT);
    return false;
  });
  scene.until("the job is taken over", [&] { return std::ifstream(scene.folder() + "/second").good(); });
}

void prepare_two(OperatorScene& scene) {
  const std::string folder = scene.folder();
  const std::string until_told = "until [ -e " + folder + "/go ]; do sleep 0.05; done";
  scene.run({"enqueue", kSceneQueue});
  scene.work({kSceneQueue}, until_told);
  scene.until("the worker has reported what it holds", [&] {
    return scene.run({"workers", "list", "--json"}).find("\"holding\":[{") != std::string::npos;
  });
  scene.work({kSceneQueue}, "touch " + folder + "/second; " + until_told);
}

OperatorFault worker_stopped() {
  return {.name = "beliefs",
          .what = "a worker is paused (SIGSTOP) past its lease, and its job is taken over",
          .metric = "fenceline_finding{check=\"beliefs\"}",
          .check = "beliefs",
          .command = "kill -CONT PID",
          .prepare =
              [](OperatorScene& scene) {
                prepare_two(scene);
                scene.watch(1);
              },
          .bring_about = taken_over};
}

// When it continues, its outcome comes too late. Until the job ends, doctor names the former holder.
OperatorFault came_back(const std::string& name, const std::string& metric, const std::string& alert,
                        const std::string& what) {
  return {.name = name,
          .what = what,
          .metric = metric,
          .check = "orphans",
          .command = "fenceline job show ID",
          .prepare =
              [](OperatorScene& scene) {
                prepare_two(scene);
                scene.watch(0);
              },
          .bring_about =
              [](OperatorScene& scene) {
                taken_over(scene);
                scene.signal_all(0, SIGCONT);
              },
          .then = [](OperatorScene& scene) { std::ofstream(scene.folder() + "/go").flush(); },
          .alert = alert};
}

OperatorFault none_is_left() {
  return {.name = "no_workers",
          .what = "the last worker is killed",
          .metric = "fenceline_build_info",
          .check = "queue_age",
          .command = "fenceline work QUEUE -- CMD",
          .prepare = [](OperatorScene& scene) { scene.watch(scene.work({kSceneQueue}, "true")); },
          .bring_about =
              [](OperatorScene& scene) {
                scene.kill(0);
                scene.run({"enqueue", kSceneQueue});
              },
          .alert = "FencelineNoWorkers",
          .silences = true};
}

OperatorFault short_lease() {
  return {.name = "config",
          .what = "a worker is started with leases of a second",
          .metric = "fenceline_finding{check=\"config\"}",
          .check = "config",
          .command = "fenceline work QUEUE --ttl DURATION -- CMD",
          .prepare =
              [](OperatorScene& scene) {
                scene.watch(scene.work({"standby"}, "true", {"--ttl", "30s"}));
              },
          .bring_about =
              [](OperatorScene& scene) {
                scene.work({kSceneQueue}, "true");
                // Settings are looked at by a worker that starts, and then once a minute.
                scene.watch(scene.work({"standby"}, "true", {"--ttl", "30s"}));
              },
          .then = [](OperatorScene& scene) { scene.signal(1, SIGTERM); }};
}

}  // namespace

std::vector<OperatorFault> worker_faults() {
  return {none_is_left(),
          killed(),
          short_lease(),
          worker_stopped(),
          came_back("leases_lost", "fenceline_leases_lost_total", "FencelineLeasesLost",
                    "a worker is paused past its lease and continues: its job was given to another"),
          came_back("late_writes", "fenceline_stale_writes_refused_total", "FencelineBeliefs",
                    "the same, and its late outcome is refused by its fence")};
}

}  // namespace fenceline::cli
