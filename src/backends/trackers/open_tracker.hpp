// From an address to an issue tracker. The one place that knows which drivers there are.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "http/http_server.hpp"
#include "runtime/clock.hpp"
#include "tracker/tracker.hpp"

namespace fenceline {

// github:OWNER/NAME, redmine+https://HOST[:PORT][/PATH]/PROJECT. Whether an address means a tracker, right or wrong.
bool is_tracker_url(std::string_view url);

// Where a tracker is, without its secret.
struct TrackerAddress {
  enum class Kind { github, redmine };
  Kind kind = Kind::github;
  std::string base;   // of its API
  std::string place;  // OWNER/NAME, or the project's identifier

  bool operator==(const TrackerAddress&) const = default;
};

// What is named in the environment; empty: it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// `environment`: GITHUB_API_URL names another server than github.com, as it does on GitHub's own runners. http:// is
// for this machine alone: elsewhere a token would be read on its way. Errors: invalid.
Result<TrackerAddress> parse_tracker_url(std::string_view url, const Environment& environment);

// A secret of the environment, or of the file that NAME_FILE names, which must be its owner's alone (mode 0600). The
// first of the names that is set counts. Errors: denied (none is set, or others may read the file), unavailable (it
// cannot be read), invalid (it holds no secret).
Result<std::string> secret_from(const std::vector<std::string>& names, const Environment& environment);

// GitHub: FENCELINE_GITHUB_TOKEN, GH_TOKEN or GITHUB_TOKEN; Redmine: FENCELINE_REDMINE_KEY; each also as NAME_FILE.
// FENCELINE_CA_FILE: authorities that are trusted. Asks the tracker nothing yet. The clock must outlive it. Errors:
// those of the two above.
Result<std::unique_ptr<tracker::Tracker>> open_tracker(const Clock& clock, std::string_view url,
                                                       const Environment& environment);

// Who answers the deliveries of a tracker that tells by itself what changed. `secret` is what it signs them with,
// `workers` are ids of accounts whose own doings are no news; `hint` is called by several threads. Errors: refused
// (this tracker has none), those of the address.
Result<http::HttpHandler> open_webhook(Log log, std::string_view url, const Environment& environment,
                                       std::string secret, std::vector<std::string> workers,
                                       std::function<void(const tracker::ItemId&)> hint);

}  // namespace fenceline
