// Faults of schedules.
#include "drills/operator.hpp"

namespace fenceline::cli {
namespace {

using bench::StoreKind;

void add(OperatorScene& scene) { scene.run({"schedule", "add", "report", "--every", "1m", "--queue", "mail"}); }

// Moves how far the ticks of the schedule are accounted for.
void move_account(OperatorScene& scene, const std::string& microseconds) {
  if (scene.kind() == StoreKind::sqlite)
    scene.by_hand({"UPDATE fenceline_schedule SET resolved_to = resolved_to + " + microseconds});
  if (scene.kind() == StoreKind::postgres)
    scene.by_hand({"update schedule set resolved_to = resolved_to + " + microseconds});
  if (scene.kind() == StoreKind::redis)
    scene.by_hand({"EVAL",
                   "for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*:schedule')) do local s = "
                   "cmsgpack.unpack(redis.call('HGET', key, 'report')) s[3] = s[3] + tonumber(ARGV[2]) "
                   "redis.call('HSET', key, 'report', cmsgpack.pack(s)) redis.call('ZADD', key .. 's_at', "
                   "string.format('%.0f', s[3]), 'report') end return 1",
                   "0", scene.prefix(), microseconds});
}

OperatorFault late() {
  return {.name = "schedules_late",
          .what = "no worker fires schedules, and a tick is due (backdated by hand)",
          .metric = "fenceline_schedule_lag_seconds",
          .check = "schedules_late",
          .command = "fenceline work QUEUE -- CMD",
          .bring_about =
              [](OperatorScene& scene) {
                add(scene);
                move_account(scene, "-300000000");
              },
          .ages = true};
}

OperatorFault ahead() {
  return {.name = "schedules_ahead",
          .what = "someone moves a schedule a day ahead, by hand",
          .metric = "fenceline_schedules_ahead",
          .check = "schedules_ahead",
          .command = "fenceline schedule rewind NAME --to TIME",
          .bring_about = [](OperatorScene& scene) {
            add(scene);
            move_account(scene, "86400000000");
          }};
}

}  // namespace

std::vector<OperatorFault> schedule_faults() { return {late(), ahead()}; }

}  // namespace fenceline::cli
