// What `fenceline doctor` looks at on a Redis server.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "backends/redis/redis_store.hpp"
#include "backends/redis/server_facts.hpp"
#include "backends/redis/store_parts.hpp"
#include "base/duration_text.hpp"
#include "base/utc_text.hpp"

namespace fenceline {
namespace {

using namespace redis;

constexpr std::size_t kKeysMeasuredMost = 20'000;  // a doctor must come to an end
constexpr Duration kClocksApartMost = std::chrono::seconds{5};
constexpr int kKeysAtOnce = 1000;

std::string in_units(std::int64_t bytes) {
  const bool small = bytes < (1 << 20);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), small ? "%.1f KiB" : "%.1f MiB", static_cast<double>(bytes) / (small ? 1 << 10 : 1 << 20));
  return text.data();
}

Finding memory_finding(const ServerFacts& facts) {
  const std::int64_t used = facts.number("used_memory"), most = facts.number("maxmemory");
  if (most == 0) {
    const std::int64_t machine = facts.number("total_system_memory");
    const bool full = machine > 0 && used > machine / 10 * 8;
    return {"memory", full ? FindingStatus::warning : FindingStatus::ok, in_units(used) + " used, no maxmemory set, the machine has " + in_units(machine),
            full ? "shorten what is kept: fenceline queue set QUEUE --keep-done 24h" : ""};
  }
  const std::int64_t percent = used / std::max<std::int64_t>(most / 100, 1);
  const FindingStatus status = percent >= 95 ? FindingStatus::bad : percent >= 80 ? FindingStatus::warning : FindingStatus::ok;
  return {"memory", status, in_units(used) + " of " + in_units(most) + " used; when it is full, what would add is refused and nothing is lost",
          status == FindingStatus::ok ? "" : "shorten what is kept: fenceline queue set QUEUE --keep-done 24h"};
}

Finding eviction_finding(const ServerFacts& facts) {
  const std::string policy = facts.text("maxmemory_policy");
  const std::int64_t evicted = facts.number("evicted_keys");
  if (policy != "noeviction")
    return {"eviction", FindingStatus::bad, "maxmemory-policy " + one_line(policy) + ": the server may throw jobs and locks away; " + std::to_string(evicted) + " keys went so far",
            "redis-cli CONFIG SET maxmemory-policy noeviction"};
  if (evicted > 0) return {"eviction", FindingStatus::warning, "noeviction now, but " + std::to_string(evicted) + " keys were evicted since the server started", "fenceline queue list"};
  return {"eviction", FindingStatus::ok, "noeviction, nothing was evicted", ""};
}

Finding aof_finding(const ServerFacts& facts, const ServerSettings& settings) {
  if (facts.number("aof_enabled") == 0)
    return {"aof", FindingStatus::warning, "appendonly no: a crash takes all since the last snapshot", "redis-cli CONFIG SET appendonly yes"};
  if (!facts.is("aof_last_write_status", "ok")) return {"aof", FindingStatus::bad, "the last write to the append-only file failed; the server takes no writes", "df -h on the server"};
  if (!facts.is("aof_last_bgrewrite_status", "ok")) return {"aof", FindingStatus::warning, "the last rewrite of the append-only file failed", "look at the server's log"};
  return {"aof", FindingStatus::ok, "on, appendfsync " + (settings.known ? settings.appendfsync : "not known: CONFIG GET is not allowed to this user") + ", last write ok", ""};
}

Finding snapshot_finding(const ServerFacts& facts) {
  if (!facts.is("rdb_last_bgsave_status", "ok")) return {"snapshot", FindingStatus::bad, "the last snapshot failed; by default the server takes no writes then", "look at the server's log"};
  return {"snapshot", FindingStatus::ok, "the last one went well; " + std::to_string(facts.number("rdb_changes_since_last_save")) + " changes since", ""};
}

Finding clients_finding(const ServerFacts& facts) {
  const std::int64_t there = facts.number("connected_clients"), most = facts.number("maxclients");
  const bool many = most > 0 && there > most / 10 * 9;
  return {"clients", many ? FindingStatus::warning : FindingStatus::ok, std::to_string(there) + " of " + std::to_string(most) + " connections in use",
          many ? "redis-cli CONFIG SET maxclients " + std::to_string(most * 2) : ""};
}

// The server's is the store's clock; this machine's only shows whether one of them is wrong.
Finding clock_finding(WallTime server, WallTime asked, WallTime answered) {
  const WallTime ours = asked + (answered - asked) / 2;
  const Duration apart = server > ours ? server - ours : ours - server;
  const std::string detail = "the server's clock and this machine's are " + format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(apart)) + " apart";
  if (apart <= kClocksApartMost + (answered - asked)) return {"clock", FindingStatus::ok, detail, ""};
  return {"clock", FindingStatus::warning, detail + "; leases run on the server's", "timedatectl status, on both"};
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
  while (more && measured < kKeysMeasuredMost) {
    // What a prefix may hold means itself: none of it is a wildcard (see redis_address.hpp).
    const Result<Value> page = client.call(Command("SCAN").arg(cursor).arg("MATCH").arg(prefix + "*").arg("COUNT").arg(kKeysAtOnce), CallKind::look, kCallTimeout);
    if (!page) return std::unexpected(page.error());
    if (!page->is_list() || page->items.size() != 2) return fail(Code::broken, "an answer to SCAN is not understood");
    cursor = page->items[0].text;
    more = cursor != "0";
    std::vector<Command> asked;
    for (const Value& key : page->items[1].items) asked.push_back(std::move(Command("MEMORY").arg("USAGE").arg(key.text).arg("SAMPLES").arg(20)));
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
  std::string detail = in_units(all) + (more ? " in the first " + std::to_string(measured) + " keys" : " in " + std::to_string(measured) + " keys");
  for (std::size_t i = 0; i < std::min<std::size_t>(largest.size(), 6); ++i) detail += (i == 0 ? ": " : ", ") + largest[i].second + " " + in_units(-largest[i].first);
  return Finding{"memory_by_kind", FindingStatus::ok, detail, ""};
}

// One whose account or bar lies ahead of the clock, as after a clock that was wrong, fires nothing until then.
Finding schedules_finding(std::int64_t all, std::int64_t ahead, WallTime last) {
  if (ahead == 0) return {"schedules", FindingStatus::ok, std::to_string(all), ""};
  return {"schedules", FindingStatus::warning, std::to_string(ahead) + " of " + std::to_string(all) + " are accounted for beyond the store's clock, up to " + utc_text(last), "fenceline schedule list"};
}

// Each version of this program has a library of its own, and nobody knows when the last process of an old one has ended.
Result<Finding> functions_finding(Client& client) {
  const Result<Value> there = client.call(std::move(Command("FUNCTION").arg("LIST").arg("LIBRARYNAME").arg("fenceline_*")), CallKind::look, kCallTimeout);
  if (!there && there.error().code != Code::denied) return std::unexpected(there.error());
  if (!there) return Finding{"functions", FindingStatus::ok, "not known: FUNCTION LIST is not allowed to this user", ""};
  bool has_ours = false;
  std::vector<std::string> others;
  for (const Value& one : there->items) {
    for (std::size_t at = 0; at + 1 < one.items.size(); at += 2) {
      if (one.items[at].text != "library_name") continue;
      if (one.items[at + 1].text == library().name) has_ours = true;
      else others.push_back(one_line(one.items[at + 1].text));
    }
  }
  const std::string ours = has_ours ? "verbs are called by name" : "not loaded: verbs are sent as scripts, which costs the server more";
  if (others.empty()) return Finding{"functions", FindingStatus::ok, ours, ""};
  return Finding{"functions", FindingStatus::warning, ours + "; " + std::to_string(others.size()) + " libraries of other versions of this program are there too",
                 "if no such program runs any more: redis-cli FUNCTION DELETE " + others.front()};
}

}  // namespace

Result<std::vector<Finding>> RedisStore::examine() {
  Client& client = parts_->client;
  const WallTime asked = parts_->runtime.wall_now();
  const Result<Value> time = client.call(Command("TIME"), CallKind::look, kCallTimeout);
  const WallTime answered = parts_->runtime.wall_now();
  if (!time) return std::unexpected(time.error());
  const Result<Value> info = client.call(Command("INFO"), CallKind::look, kCallTimeout);
  if (!info) return std::unexpected(info.error());
  const Result<Value> config = client.call(settings_command(), CallKind::look, kCallTimeout);
  const ServerSettings settings = config ? settings_in(*config) : ServerSettings{};
  const ServerFacts facts(info->text);
  Result<WallTime> server = decoded(parts_->url(), [&] {
    const std::vector<Value>& words = list_in(*time, 2);
    return WallTime{std::chrono::seconds{number_in(words[0])} + Duration{number_in(words[1])}};
  });
  if (!server) return std::unexpected(server.error());
  std::vector<Finding> findings{{"redis_version", FindingStatus::ok, one_line(facts.text("redis_version")), ""},
                                memory_finding(facts),
                                eviction_finding(facts),
                                aof_finding(facts, settings),
                                snapshot_finding(facts),
                                clients_finding(facts),
                                clock_finding(*server, asked, answered)};
  Result<Finding> functions = functions_finding(client);
  if (!functions) return std::unexpected(functions.error());
  findings.push_back(std::move(*functions));
  const Result<Value> accounts = parts_->run(parts_->call_of(script_of("schedules_ahead"), "default"), CallKind::look, kCallTimeout);
  if (!accounts) return std::unexpected(accounts.error());
  Result<Finding> schedules = decoded(parts_->url(), [&] {
    const std::vector<Value>& words = list_in(*accounts, 3);
    return schedules_finding(number_in(words[0]), number_in(words[1]), wall_in(words[2]));
  });
  if (!schedules) return std::unexpected(schedules.error());
  findings.push_back(std::move(*schedules));
  Result<Finding> kinds = memory_by_kind(client, parts_->prefix);
  if (kinds) findings.push_back(std::move(*kinds));
  else if (kinds.error().code == Code::denied) findings.push_back({"memory_by_kind", FindingStatus::ok, "not known: SCAN or MEMORY USAGE is not allowed to this user", ""});
  else return std::unexpected(kinds.error());
  return findings;
}

}  // namespace fenceline
