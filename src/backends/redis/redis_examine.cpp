// What `fenceline doctor` looks at on a Redis server.
#include <algorithm>
#include <map>
#include <optional>

#include "backends/redis/redis_store.hpp"
#include "backends/redis/server_facts.hpp"
#include "backends/redis/store_parts.hpp"
#include "base/utc_text.hpp"
#include "store/store_findings.hpp"

namespace fenceline {
namespace {

using namespace redis;

constexpr int kPagesMeasuredMost =
    3;  // a doctor must come to an end, whosever keys there are; and each worker with metrics looks, too
constexpr int kKeysAtOnce = 1000;
constexpr int kPings = 5;

Finding memory_finding(const ServerFacts& facts, const std::string& cli) {
  const std::int64_t used = facts.number("used_memory"), most = facts.number("maxmemory"),
                     machine = facts.number("total_system_memory");
  const std::string keep_less = "fenceline queue set QUEUE --keep-done 24h";
  if (most == 0) {
    const bool full = machine > 0 && used > machine / 10 * 8;
    return {"memory", full ? FindingStatus::warning : FindingStatus::ok,
            in_units(used) + " used, no maxmemory set, the machine has " + in_units(machine), full ? keep_less : "",
            full ? "a machine that runs out of memory kills the server" : ""};
  }
  const std::int64_t percent = used / std::max<std::int64_t>(most / 100, 1);
  const std::string detail = in_units(used) + " of " + in_units(most) + " used";
  if (percent < 80) return {"memory", FindingStatus::ok, detail, ""};
  const std::int64_t wanted = 2 * std::max(most, used);
  return {"memory", percent >= 95 ? FindingStatus::bad : FindingStatus::warning, detail,
          wanted < machine / 4 * 3 ? cli + " CONFIG SET maxmemory " + std::to_string(wanted) : keep_less,
          "when it is full, nothing can be enqueued, claimed or settled; nothing is lost"};
}

Finding eviction_finding(const ServerFacts& facts, const std::string& cli) {
  const std::string policy = facts.text("maxmemory_policy");
  const std::int64_t evicted = facts.number("evicted_keys");
  if (policy != "noeviction")
    return {"eviction", FindingStatus::bad,
            "maxmemory-policy " + one_line(policy) + "; " + std::to_string(evicted) + " keys went so far",
            cli + " CONFIG SET maxmemory-policy noeviction",
            "when its memory is full, the server evicts jobs, locks and fences"};
  if (evicted > 0)
    return {"eviction", FindingStatus::warning,
            "noeviction now, but " + std::to_string(evicted) +
                " keys were evicted since the server started, or since its figures were reset",
            look_then("fenceline queue list", cli + " CONFIG RESETSTAT"),
            "some of them may have been jobs or locks: look at fenceline queue list before the figures are reset"};
  return {"eviction", FindingStatus::ok, "noeviction, nothing was evicted", ""};
}

Finding aof_finding(const ServerFacts& facts, const ServerSettings& settings, const std::string& cli) {
  if (facts.number("aof_enabled") == 0)
    return {"aof", FindingStatus::warning, "appendonly no", cli + " CONFIG SET appendonly yes",
            "a server crash loses everything since its last snapshot"};
  if (!facts.is("aof_last_write_status", "ok"))
    return {"aof", FindingStatus::bad, "the last write to the append-only file failed",
            cli + " CONFIG GET dir appenddirname",
            "the server accepts no writes until one succeeds: its disk is full or broken"};
  if (!facts.is("aof_last_bgrewrite_status", "ok"))
    return {"aof", FindingStatus::warning, "the last rewrite of the append-only file failed", cli + " BGREWRITEAOF",
            "the file grows until the disk of the server is full"};
  return {"aof", FindingStatus::ok,
          "on, appendfsync " +
              (settings.known ? settings.appendfsync : "not known: CONFIG GET is not allowed to this user") +
              ", last write ok",
          ""};
}

Finding snapshot_finding(const ServerFacts& facts, const std::string& cli) {
  if (facts.is("rdb_last_bgsave_status", "ok"))
    return {"snapshot", FindingStatus::ok,
            "the last one succeeded; " + std::to_string(facts.number("rdb_changes_since_last_save")) + " changes since",
            ""};
  return {"snapshot",
          FindingStatus::bad,
          "the last snapshot failed",
          cli + " BGSAVE",
          "by default the server then accepts no writes",
          WallTime{std::chrono::seconds{facts.number("rdb_last_save_time")}}};
}

Finding clients_finding(const ServerFacts& facts, const std::string& cli) {
  const std::int64_t there = facts.number("connected_clients"), most = facts.number("maxclients");
  const std::string detail = std::to_string(there) + " of " + std::to_string(most) + " connections in use";
  if (most == 0 || there * 10 <= most * 9) return {"clients", FindingStatus::ok, detail, ""};
  return {"clients", FindingStatus::warning, detail, cli + " CONFIG SET maxclients " + std::to_string(most * 2),
          "a worker that starts or reconnects is turned away, and its leases expire"};
}

// What would lift the class.
std::string class_remedy(const ServerFacts& facts, const ServerSettings& settings, const std::string& cli) {
  if (!facts.is("maxmemory_policy", "noeviction")) return cli + " CONFIG SET maxmemory-policy noeviction";
  if (facts.number("aof_enabled") == 0) return cli + " CONFIG SET appendonly yes appendfsync always";
  if (settings.fsync_rests_on_rewrite) return cli + " CONFIG SET no-appendfsync-on-rewrite no";
  return cli + " CONFIG SET appendfsync always";
}

// "fl:{default}:open:mail/:0" is of the kind "open".
std::string kind_of(std::string_view key, std::string_view prefix) {
  key.remove_prefix(std::min(key.size(), prefix.size()));
  const std::size_t end = key.find("}:");
  if (!key.starts_with('{') || end == std::string_view::npos) return std::string(key);
  key.remove_prefix(end + 2);
  return std::string(key.substr(0, key.find(':')));
}

struct Usage {
  std::int64_t keys = 0;
  std::int64_t bytes = 0;
};

Result<Finding> memory_by_kind(Client& client, const std::string& prefix) {
  std::map<std::string, Usage> kinds;
  std::size_t measured = 0;
  bool more = true;
  std::string cursor = "0";
  for (int page_number = 0; more && page_number < kPagesMeasuredMost; ++page_number) {
    // What a prefix may hold means itself: none of it is a wildcard (see redis_address.hpp).
    const Result<Value> page =
        client.call(Command("SCAN").arg(cursor).arg("MATCH").arg(prefix + "*").arg("COUNT").arg(kKeysAtOnce),
                    CallKind::look, kCallTimeout);
    if (!page) return std::unexpected(page.error());
    if (!page->is_list() || page->items.size() != 2) return fail(Code::broken, "an answer to SCAN is not understood");
    cursor = page->items[0].text;
    more = cursor != "0";
    std::vector<Command> asked;
    for (const Value& key : page->items[1].items)
      asked.push_back(std::move(Command("MEMORY").arg("USAGE").arg(key.text).arg("SAMPLES").arg(5)));
    const std::vector<Result<Value>> answers = client.call_many(asked, CallKind::look, kCallTimeout);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i]) return std::unexpected(answers[i].error());
      Usage& usage = kinds[kind_of(page->items[1].items[i].text, prefix)];
      usage.keys += 1;
      usage.bytes += whole_number(*answers[i]).value_or(0);
    }
    measured += answers.size();
  }
  std::vector<std::pair<std::int64_t, std::string>> largest;
  std::int64_t all = 0;
  for (const auto& [kind, usage] : kinds) {
    largest.emplace_back(-usage.bytes, kind);
    all += usage.bytes;
  }
  std::ranges::sort(largest);
  std::string detail = in_units(all) + (more ? " in the first " + std::to_string(measured) + " keys that were met"
                                             : " in " + std::to_string(measured) + " keys");
  for (std::size_t i = 0; i < std::min<std::size_t>(largest.size(), 6); ++i)
    detail += (i == 0 ? ": " : ", ") + largest[i].second + " " + in_units(-largest[i].first);
  return Finding{"memory_by_kind", FindingStatus::ok, detail, ""};
}

// One whose account or bar lies ahead of the clock, as after a clock that was wrong, fires nothing until then.
Finding schedules_finding(std::int64_t all, std::int64_t ahead, WallTime last) {
  if (ahead == 0) return {"schedules", FindingStatus::ok, std::to_string(all), ""};
  return {"schedules", FindingStatus::warning,
          std::to_string(ahead) + " of " + std::to_string(all) + " are accounted for beyond the store's clock, up to " +
              utc_text(last),
          "fenceline schedule list", "they do not fire until the clock gets there"};
}

// Each version of this program has a library of its own, and nobody knows when the last process of an old one has
// ended: they are named, and no harm.
Result<Finding> functions_finding(Client& client) {
  const Result<Value> there = client.call(
      std::move(Command("FUNCTION").arg("LIST").arg("LIBRARYNAME").arg("fenceline_*")), CallKind::look, kCallTimeout);
  if (!there && there.error().code != Code::denied) return std::unexpected(there.error());
  if (!there)
    return Finding{"functions", FindingStatus::ok, "not known: FUNCTION LIST is not allowed to this user", ""};
  bool has_ours = false;
  std::vector<std::string> others;
  for (const Value& one : there->items) {
    for (std::size_t at = 0; at + 1 < one.items.size(); at += 2) {
      if (one.items[at].text != "library_name") continue;
      if (one.items[at + 1].text == library().name) has_ours = true;
      else others.push_back(one_line(one.items[at + 1].text));
    }
  }
  const std::string ours =
      has_ours ? "calls go by function name" : "not loaded: calls are sent as scripts, which costs the server more";
  if (others.empty()) return Finding{"functions", FindingStatus::ok, ours, ""};
  std::string names;
  for (const std::string& name : others) names += (names.empty() ? "" : ", ") + name;
  return Finding{"functions", FindingStatus::ok, ours + "; of other versions of this program: " + names, ""};
}

// Whoever opens the store next looks at it, and would refuse, or lay keys out by another plan.
Result<Finding> layout_finding(Client& client, const std::string& prefix, const std::string& cli) {
  const std::string key = prefix + "layout";
  const Result<Value> there = client.call(std::move(Command("GET").key(key)), CallKind::look, kCallTimeout);
  if (!there) return std::unexpected(there.error());
  if (there->text == kLayout) return Finding{"schema", FindingStatus::ok, "layout " + there->text, ""};
  if (there->text.empty())
    return Finding{"schema", FindingStatus::bad, "the key " + key + " is missing",
                   cli + " SET " + shell_word(key) + " " + std::string(kLayout),
                   "a program of another version would take the store for an empty one"};
  return Finding{"schema", FindingStatus::bad,
                 "the key " + key + " says '" + one_line(there->text).substr(0, 40) + "', and this program knows " +
                     std::string(kLayout),
                 "apt-get install --only-upgrade fenceline",
                 "scripts of one version do not find the jobs of another; this program is refused when it reconnects"};
}

}  // namespace

Result<std::vector<Finding>> RedisStore::examine() {
  Client& client = parts_->client;
  Runtime& runtime = parts_->runtime;
  const std::string cli = redis_cli_line(client.address());
  std::vector<Duration> took;
  std::optional<Finding> clock;
  for (int i = 0; i < kPings; ++i) {
    const Instant began = runtime.now();
    const WallTime asked = runtime.wall_now();
    const Result<Value> time = client.call(Command("TIME"), CallKind::look, kCallTimeout);
    if (!time) return std::unexpected(time.error());
    took.push_back(runtime.now() - began);
    const WallTime answered = runtime.wall_now();
    const Result<WallTime> server = decoded(parts_->url(), [&] {
      const std::vector<Value>& words = list_in(*time, 2);
      return WallTime{std::chrono::seconds{number_in(words[0])} + Duration{number_in(words[1])}};
    });
    if (!server) return std::unexpected(server.error());
    clock = clock_finding(*server, asked, answered, "timedatectl set-ntp true");
  }
  const Result<Value> info = client.call(Command("INFO"), CallKind::look, kCallTimeout);
  if (!info) return std::unexpected(info.error());
  const Result<Value> config = client.call(settings_command(), CallKind::look, kCallTimeout);
  const ServerSettings settings = config ? settings_in(*config) : ServerSettings{};
  const ServerFacts facts(info->text);
  const std::string host = client.address().host.empty() ? "localhost" : client.address().host;
  std::vector<Finding> findings{
      class_finding(profile_of(facts, settings, parts_->url()), parts_->profile, class_remedy(facts, settings, cli)),
      {"version", FindingStatus::ok, one_line(facts.text("redis_version")), ""},
      *clock,
      round_trip_finding(took, "ping -c 5 " + shell_word(host)),
      memory_finding(facts, cli),
      eviction_finding(facts, cli),
      aof_finding(facts, settings, cli),
      snapshot_finding(facts, cli),
      clients_finding(facts, cli)};
  Result<Finding> layout = layout_finding(client, parts_->prefix, cli);
  if (!layout) return std::unexpected(layout.error());
  findings.push_back(std::move(*layout));
  Result<Finding> functions = functions_finding(client);
  if (!functions) return std::unexpected(functions.error());
  findings.push_back(std::move(*functions));
  const Result<Value> accounts =
      parts_->run(parts_->call_of(script_of("schedules_ahead"), "default"), CallKind::look, kCallTimeout);
  if (!accounts) return std::unexpected(accounts.error());
  Result<Finding> schedules = decoded(parts_->url(), [&] {
    const std::vector<Value>& words = list_in(*accounts, 3);
    return schedules_finding(number_in(words[0]), number_in(words[1]), wall_in(words[2]));
  });
  if (!schedules) return std::unexpected(schedules.error());
  findings.push_back(std::move(*schedules));
  Result<Finding> kinds = memory_by_kind(client, parts_->prefix);
  if (kinds) findings.push_back(std::move(*kinds));
  else if (kinds.error().code == Code::denied)
    findings.push_back(
        {"memory_by_kind", FindingStatus::ok, "not known: SCAN or MEMORY USAGE is not allowed to this user", ""});
  else return std::unexpected(kinds.error());
  return findings;
}

}  // namespace fenceline
