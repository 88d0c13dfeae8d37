// What a server says of itself, whether it can be a store, and what a crash of it can take.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "backends/redis/command.hpp"
#include "backends/redis/resp.hpp"
#include "base/result.hpp"
#include "store/store.hpp"

namespace fenceline::redis {

// The lines NAME:VALUE of INFO.
class ServerFacts {
 public:
  explicit ServerFacts(std::string_view info);

  std::string text(std::string_view name) const;     // empty: it does not say
  std::int64_t number(std::string_view name) const;  // 0: it does not say
  bool is(std::string_view name, std::string_view value) const { return text(name) == value; }

 private:
  std::map<std::string, std::string, std::less<>> lines_;
};

// What CONFIG GET says, where it is allowed.
struct ServerSettings {
  bool known = false;
  std::string appendfsync;
  bool fsync_rests_on_rewrite = false;  // no-appendfsync-on-rewrite
};
Command settings_command();
ServerSettings settings_in(const Value& config);  // an error: not known

// Errors: refused (a cluster, a sentinel, before 7.0, a replica, one that evicts, unless that is accepted), unavailable
// (it is loading).
Result<void> check_server(const ServerFacts& facts, bool accept_eviction, const std::string& shown_url);

// An INFO that was not allowed. Errors: denied, with what to do; else as error_of.
Error info_failed(const Value& error, const std::string& user, const std::string& shown_url);

StoreProfile profile_of(const ServerFacts& facts, const ServerSettings& settings, const std::string& shown_url);

}  // namespace fenceline::redis
