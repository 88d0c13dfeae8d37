// Redmine as a tracker. A stage is an issue status of that name; a comment is a journal entry with notes.
//
// The compare-and-swap is `lock_version`, which Redmine takes but does not show: a new issue has 1, and each update
// adds one. So it is reckoned from the journals that are read; a wrong number is always refused, never taken. Where it
// does not fit though nothing changed (somebody deleted a comment, or saved an issue unchanged), it is looked for with
// updates that change nothing, and remembered. Comments of ours are never deleted, but emptied: a deleted one would
// take its place in that count, and perhaps its id, with it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/trackers/http_verb.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::tracker {

struct RedmineOptions {
  std::string base;     // "https://redmine.example.org"
  std::string project;  // its identifier
  std::string key;      // of the API
  std::string ca_file;  // empty: the machine's own authorities
};

std::unique_ptr<Tracker> open_redmine(const Clock& clock, RedmineOptions options);

}  // namespace fenceline::tracker
