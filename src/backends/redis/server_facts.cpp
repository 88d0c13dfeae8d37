#include "backends/redis/server_facts.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "backends/redis/redis_errors.hpp"

namespace fenceline::redis {

ServerFacts::ServerFacts(std::string_view info) {
  while (!info.empty()) {
    const std::size_t end = std::min(info.find('\n'), info.size());
    std::string_view line = info.substr(0, end);
    info.remove_prefix(std::min(end + 1, info.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (line.starts_with('#') || colon == std::string_view::npos) continue;
    lines_.emplace(line.substr(0, colon), line.substr(colon + 1));
  }
}

std::string ServerFacts::text(std::string_view name) const {
  const auto found = lines_.find(name);
  return found == lines_.end() ? "" : found->second;
}

std::int64_t ServerFacts::number(std::string_view name) const {
  const std::string said = text(name);
  std::int64_t value = 0;
  std::from_chars(said.data(), said.data() + said.size(), value);
  return value;
}

Command settings_command() {
  return std::move(Command("CONFIG").arg("GET").arg("appendfsync").arg("no-appendfsync-on-rewrite"));
}

ServerSettings settings_in(const Value& config) {
  ServerSettings settings;
  for (std::size_t i = 0; config.is_list() && i + 1 < config.items.size(); i += 2) {
    if (config.items[i].text == "appendfsync") settings.appendfsync = config.items[i + 1].text;
    if (config.items[i].text == "no-appendfsync-on-rewrite")
      settings.fsync_rests_on_rewrite = config.items[i + 1].text == "yes";
  }
  settings.known = !settings.appendfsync.empty();
  return settings;
}

Error info_failed(const Value& error, const std::string& user, const std::string& shown_url) {
  if (error.error_word() != "NOPERM") return error_of(error, shown_url);
  const std::string who = user.empty() ? "default" : user;
  return {Code::denied,
          shown_url + " does not let user " + who +
              " run INFO, which tells whether it is a replica or evicts keys; on the server run: ACL SETUSER " + who +
              " +info"};
}

Result<void> check_server(const ServerFacts& facts, bool accept_eviction, const std::string& shown_url) {
  if (facts.is("redis_mode", "sentinel"))
    return fail(Code::refused, shown_url + " is a Sentinel, which stores no keys; name the server that it monitors");
  if (facts.is("redis_mode", "cluster"))
    return fail(Code::refused, shown_url +
                                   " is part of a Redis Cluster, which spreads the keys of one call over servers; name "
                                   "a standalone server");
  const std::string version = facts.text("redis_version");
  if (facts.number("redis_version") < 7)
    return fail(Code::refused, shown_url + " is Redis " + one_line(version) + "; it must be 7.0 or later");
  if (!facts.is("role", "master")) {
    const std::string primary = facts.text("master_host").empty() ? ""
                                                                  : " (" + one_line(facts.text("master_host")) + ":" +
                                                                        one_line(facts.text("master_port")) + ")";
    return fail(Code::refused, shown_url + " is a replica and does not accept writes; name its primary" + primary);
  }
  if (facts.is("loading", "1"))
    return fail(Code::unavailable, shown_url + " is loading its data from disk; try again when it is done");
  const std::string policy = facts.text("maxmemory_policy");
  if (policy == "noeviction" || accept_eviction) return {};
  return fail(Code::refused,
              shown_url + " may evict jobs and locks when its memory is full (maxmemory-policy " + one_line(policy) +
                  "); on the server run: CONFIG SET maxmemory-policy noeviction, or allow it by --accept eviction");
}

StoreProfile profile_of(const ServerFacts& facts, const ServerSettings& settings, const std::string& shown_url) {
  StoreProfile profile{"redis", shown_url, GuaranteeClass::c, {}};
  std::vector<std::string>& reasons = profile.reasons;
  if (facts.number("aof_enabled") == 0) {
    reasons.push_back(
        "appendonly no: a server crash loses everything since its last snapshot, or everything if it makes none");
  } else if (!settings.known) {
    reasons.push_back(
        "CONFIG GET is not allowed to this user, so appendfsync is not known: it may be everysec, which loses the last "
        "moments");
  } else if (settings.appendfsync == "always" && settings.fsync_rests_on_rewrite) {
    reasons.push_back(
        "no-appendfsync-on-rewrite yes: while the server rewrites its file, a crash of its machine loses what it "
        "acknowledged since");
  } else if (settings.appendfsync == "always") {
    profile.guarantee = GuaranteeClass::b;
    reasons.push_back(
        "appendonly yes and appendfsync always: a write is on the server's disk before it is acknowledged");
  } else if (settings.appendfsync == "everysec") {
    reasons.push_back("appendfsync everysec: a crash of the server's machine loses up to its last two seconds");
  } else {
    reasons.push_back(
        "appendfsync " + one_line(settings.appendfsync) +
        ": a crash of the server's machine loses what its kernel had not written yet, often half a minute");
  }
  const std::string policy = facts.text("maxmemory_policy");
  if (policy != "noeviction") {
    profile.guarantee = GuaranteeClass::d;
    reasons.push_back("maxmemory-policy " + one_line(policy) +
                      ": when its memory is full, the server evicts jobs and locks");
  }
  if (const std::int64_t replicas = facts.number("connected_slaves"); replicas > 0)
    reasons.push_back(std::to_string(replicas) + (replicas == 1 ? " replica gets" : " replicas get") +
                      " a write after it was acknowledged: a failover loses what had not arrived");
  return profile;
}

}  // namespace fenceline::redis
