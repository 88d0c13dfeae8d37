// GitHub's issues as a tracker. A stage is a label `stage:NAME`. Pull requests are no items.
#pragma once

#include <memory>
#include <string>

#include "backends/trackers/http_verb.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::tracker {

struct GithubOptions {
  std::string base = "https://api.github.com";
  std::string repository;  // "owner/name"
  std::string token;
  std::string ca_file;  // empty: the machine's own authorities
};

std::unique_ptr<Tracker> open_github(const Clock& clock, GithubOptions options);

}  // namespace fenceline::tracker
