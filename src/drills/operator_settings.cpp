// Faults of the store itself: changes that someone makes to it, or to its server, by hand.
#include "drills/operator.hpp"

namespace fenceline::cli {
namespace {

using bench::StoreKind;

// All of them share one alert for warnings, and one for bad findings.
constexpr const char* kWarning = "FencelineStoreFinding";
constexpr const char* kBad = "FencelineStoreFindingBad";

std::string metric_of(const std::string& check) { return "fenceline_finding{check=\"" + check + "\"}"; }

OperatorFault write_lock_held() {
  return {.name = "write_lock",
          .what = "someone leaves a transaction open in `sqlite3`",
          .metric = metric_of("write_lock"),
          .check = "write_lock",
          .command = "kill PID",
          .bring_about =
              [](OperatorScene& scene) {
                scene.outside("{ echo 'BEGIN IMMEDIATE;'; sleep 300; } | sqlite3 " + quoted(scene.file()));
              },
          .alert = kBad,
          .one_alert_for_many = true,
          .only_on = {StoreKind::sqlite},
          .seen_at_start = true};
}

OperatorFault index_dropped() {
  return {.name = "schema_of_file",
          .what = "someone drops an index of the store's file",
          .metric = metric_of("schema"),
          .check = "schema",
          .command = "fuser -k -TERM ... sqlite3 ...",
          .bring_about = [](OperatorScene& scene) { scene.by_hand({"DROP INDEX effect_ns"}); },
          .alert = kBad,
          .one_alert_for_many = true,
          .only_on = {StoreKind::sqlite},
          .seen_at_start = true};
}

OperatorFault function_dropped() {
  return {.name = "schema",
          .what = "someone drops a function of the store's schema",
          .metric = metric_of("schema"),
          .check = "schema",
          .command = "fenceline migrate",
          .bring_about = [](OperatorScene& scene) { scene.by_hand({"drop function worker_orders"}); },
          .alert = kBad,
          .one_alert_for_many = true,
          .only_on = {StoreKind::postgres},
          .seen_at_start = true};
}

OperatorFault vacuum_off() {
  return {.name = "autovacuum",
          .what = "someone turns autovacuum off",
          .metric = metric_of("autovacuum"),
          .check = "autovacuum",
          .command = "psql ...",
          .bring_about =
              [](OperatorScene& scene) {
                scene.at_end([&scene] {
                  scene.by_hand({"alter system reset autovacuum"});
                  scene.by_hand({"select pg_reload_conf()::text"});
                });
                scene.by_hand({"alter system set autovacuum = off"});
                scene.by_hand({"select pg_reload_conf()::text"});
              },
          .alert = kBad,
          .one_alert_for_many = true,
          .only_on = {StoreKind::postgres},
          .takes_the_server = true,
          .seen_at_start = true};
}

void change_setting(OperatorScene& scene, const std::string& name, const std::string& value, const std::string& back) {
  scene.at_end([&scene, name, back] { scene.by_hand({"CONFIG", "SET", name, back}); });
  scene.by_hand({"CONFIG", "SET", name, value});
}

OperatorFault memory_used_up() {
  return {.name = "memory",
          .what = "someone lowers the server's maxmemory below its data",
          .metric = metric_of("memory"),
          .check = "memory",
          .command = "redis-cli ... CONFIG SET maxmemory BYTES",
          .bring_about = [](OperatorScene& scene) { change_setting(scene, "maxmemory", "1000000", "0"); },
          .alert = kBad,
          .one_alert_for_many = true,
          .only_on = {StoreKind::redis},
          .takes_the_server = true,
          .seen_at_start = true};
}

OperatorFault append_only_off() {
  return {.name = "aof",
          .what = "someone turns the append-only file off",
          .metric = metric_of("aof"),
          .check = "aof",
          .command = "redis-cli ... CONFIG SET appendonly yes",
          .bring_about = [](OperatorScene& scene) { change_setting(scene, "appendonly", "no", "yes"); },
          .alert = kWarning,
          .one_alert_for_many = true,
          .only_on = {StoreKind::redis},
          .takes_the_server = true,
          .seen_at_start = true};
}

}  // namespace

std::vector<OperatorFault> setting_faults() {
  return {write_lock_held(), index_dropped(), function_dropped(), vacuum_off(), memory_used_up(), append_only_off()};
}

}  // namespace fenceline::cli
