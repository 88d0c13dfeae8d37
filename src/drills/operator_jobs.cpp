// Faults of jobs and their queues.
#include <fstream>

#include "drills/operator.hpp"

namespace fenceline::cli {
namespace {

const std::string kLong = "sleep 300";

// Handlers and the drill tell each other by files in its folder.
std::string file(const OperatorScene& scene, const std::string& name) { return quoted(scene.folder() + "/" + name); }
void make_file(OperatorScene& scene, const std::string& name) { std::ofstream(scene.folder() + "/" + name).flush(); }

// Does `first` for its first delivery, and `later` for those that follow.
std::string at_first(const OperatorScene& scene, const std::string& first, const std::string& later) {
  const std::string seen = file(scene, "delivered");
  return "if [ -e " + seen + " ]; then " + later + "; else touch " + seen + "; " + first + "; fi";
}

OperatorFault all_workers_killed() {
  return {.name = "stale_jobs",
          .what = "every worker of a queue is killed while its jobs run",
          .metric = "fenceline_stale_jobs",
          .check = "stale_jobs",
          .command = "fenceline work QUEUE -- CMD",
          .bring_about = [](OperatorScene& scene) {
            scene.run({"enqueue", kSceneQueue});
            const int worker = scene.work({kSceneQueue}, kLong);
            scene.until_jobs(1, "running");
            scene.kill(worker);
          }};
}

OperatorFault one_worker_killed() {
  return {.name = "orphans",
          .what = "one of two workers is killed, and the other takes over its job",
          .metric = "fenceline_orphans_replayed_total",
          .check = "orphans",
          .command = "fenceline job show ID",
          .prepare =
              [](OperatorScene& scene) {
                scene.run({"enqueue", kSceneQueue});
                scene.work({kSceneQueue}, at_first(scene, kLong, "true"));
                scene.until_jobs(1, "running");
                scene.watch(scene.work({kSceneQueue}, "until [ -e " + file(scene, "go") + " ]; do sleep 0.05; done"));
              },
          .bring_about = [](OperatorScene& scene) { scene.kill(0); },
          .then = [](OperatorScene& scene) { make_file(scene, "go"); }};
}

OperatorFault poison() {
  return {.name = "poison_jobs",
          .what = "a job whose command kills the worker that runs it, twice",
          .metric = "fenceline_poison_jobs",
          .check = "poison_jobs",
          .command = "fenceline job cancel ID",
          .bring_about = [](OperatorScene& scene) {
            scene.run({"enqueue", kSceneQueue});
            for (int i = 0; i < 2; ++i) {
              // The parent of the shell is the guardian, and its parent the worker.
              const int worker =
                  scene.work({kSceneQueue}, "read -r pid name state worker rest </proc/$PPID/stat; kill -KILL $worker");
              scene.until("the job kills its worker", [&] { return scene.has_ended(worker); });
            }
          }};
}

OperatorFault died() {
  return {.name = "dead_letters",
          .what = "a handler exits with 65: its job is dead",
          .metric = "fenceline_dead_letters_total",
          .check = "dead_letters",
          .command = "fenceline dead redrive --queue QUEUE --limit 1 --yes",
          .prepare =
              [](OperatorScene& scene) { scene.watch(scene.work({kSceneQueue}, at_first(scene, "exit 65", "true"))); },
          .bring_about =
              [](OperatorScene& scene) {
                scene.run({"enqueue", kSceneQueue});
                scene.until_jobs(1, "dead");
              }};
}

std::string charge(const OperatorScene& scene) {
  return "exec fenceline effect charge -- /bin/sh -c \"touch " + scene.folder() + "/charging; " + kLong + "\"";
}

// A worker is killed between the intent of an effect and its record, and another one meets the doubt.
void killed_in_an_effect(OperatorScene& scene, const std::vector<std::string>& job) {
  scene.run(job);
  const int worker = scene.work({kSceneQueue}, charge(scene));
  scene.until("the effect has begun", [&] { return std::ifstream(scene.folder() + "/charging").good(); });
  scene.kill(worker);
  scene.work({kSceneQueue}, charge(scene));
  scene.until_jobs(1, "waiting");
}

OperatorFault effect_in_doubt() {
  return {.name = "effects_in_doubt",
          .what = "a worker is killed inside an effect",
          .metric = "fenceline_effects_in_doubt",
          .check = "effects_in_doubt",
          .command = "fenceline effects resolve ID NAME --done # or --none if it did not happen",
          .bring_about = [](OperatorScene& scene) {
            killed_in_an_effect(scene, {"enqueue", kSceneQueue});
          }};
}

OperatorFault unserved() {
  return {.name = "queue_age",
          .what = "jobs are enqueued in a queue without a worker",
          .metric = "fenceline_oldest_ready_seconds",
          .check = "queue_age",
          .command = "fenceline work QUEUE -- CMD",
          .bring_about =
              [](OperatorScene& scene) {
                scene.run({"enqueue", kSceneQueue});
              },
          .ages = true};
}

OperatorFault paused() {
  return {.name = "paused_queue",
          .what = "a queue is paused and forgotten",
          .metric = "fenceline_oldest_ready_seconds",
          .check = "queue_age",
          .command = "fenceline queue resume QUEUE",
          .prepare = [](OperatorScene& scene) { scene.watch(scene.work({kSceneQueue}, "true")); },
          .bring_about =
              [](OperatorScene& scene) {
                scene.run({"queue", "pause", kSceneQueue, "--reason", "a drill"});
                scene.run({"enqueue", kSceneQueue});
              },
          .ages = true};
}

OperatorFault group_behind_a_failure() {
  return {
      .name = "groups_blocked",
      .what = "the first job of a group fails, and will be retried hours later",
      .metric = "fenceline_groups_blocked",
      .check = "groups_blocked",
      .command = "fenceline job retry ID",
      .prepare =
          [](OperatorScene& scene) { scene.watch(scene.work({kSceneQueue}, at_first(scene, "exit 1", "true"))); },
      .bring_about =
          [](OperatorScene& scene) {
            for (int i = 0; i < 2; ++i)
              scene.run({"enqueue", kSceneQueue, "--group", "customer-7", "--backoff", "24h", "--backoff-max", "24h"});
          }};
}

OperatorFault group_behind_a_doubt() {
  return {.name = "group_in_doubt",
          .what = "the first job of a group waits for a person",
          .metric = "fenceline_groups_blocked",
          .check = "groups_blocked",
          .command = "fenceline effects resolve ID NAME --done # or --none if it did not happen",
          .bring_about = [](OperatorScene& scene) {
            const std::vector<std::string> job{"enqueue", kSceneQueue, "--group", "customer-7"};
            killed_in_an_effect(scene, job);
            scene.run(job);
          }};
}

OperatorFault item_held() {
  return {.name = "items_on_hold",
          .what = "someone puts an item of a pipeline on hold",
          .metric = "fenceline_finding{check=\"items_on_hold\"}",
          .check = "items_on_hold",
          .command = "fenceline stage release ID",
          .bring_about = [](OperatorScene& scene) {
            const std::string path = scene.folder() + "/docs.toml";
            std::ofstream(path) << "[pipeline]\nname = \"docs\"\nstages = [\"write\", \"review\"]\n";
            scene.run({"pipeline", "apply", path});
            const std::string said = scene.run({"enqueue", "docs"});
            scene.run({"stage", "hold", said.substr(0, said.find('\n')), "--reason", "a drill"});
          }};
}

}  // namespace

std::vector<OperatorFault> job_faults() {
  return {all_workers_killed(),     one_worker_killed(),    poison(),   died(), effect_in_doubt(), unserved(), paused(),
          group_behind_a_failure(), group_behind_a_doubt(), item_held()};
}

}  // namespace fenceline::cli
