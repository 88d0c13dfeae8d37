// How a command that works on an item of an issue tracker sends it back. A tracker has no fence under which the command
// could write by itself, and the command has no token: it leaves word in a folder of its worker's, which only this user
// can read, and the worker writes it in place of the outcome, under the same conditions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/job.hpp"
#include "tracker/tracker_worker.hpp"

namespace fenceline::cli {

class SentBackFolder {
 public:
  // `stages`: where items may be sent back to. Commands that are started from now on find it. Errors: unavailable.
  static Result<std::unique_ptr<SentBackFolder>> make(const std::vector<std::string>& stages);
  ~SentBackFolder();
  SentBackFolder(const SentBackFolder&) = delete;
  SentBackFolder& operator=(const SentBackFolder&) = delete;

  // What this delivery's command asked for, once.
  std::optional<tracker::SentBack> take(const Job& job);

 private:
  explicit SentBackFolder(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

// From inside a command of such a worker; the last word counts. Errors: usage (not there), conflict (it is not at a
// stage yet, or no such stage).
Result<void> ask_to_be_sent_back(const std::string& to, const std::string& reason);

}  // namespace fenceline::cli
