// Sends jobs to the store of an invocation, repeats what is in doubt, prints ids as they are acknowledged.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ascending_uuids.hpp"
#include "base/result.hpp"
#include "cli/frame/command.hpp"
#include "cli/frame/measured.hpp"

namespace fenceline::cli {

class Sender {
 public:
  explicit Sender(Invocation& invocation) : invocation_(invocation) {}

  JobId new_id();
  // Opened when it is first asked for; the store is made if there is none yet. Errors: those of open_traces(), of
  // MetricsPort::open(), and of opening the store.
  Result<Session*> session();

  // All or none. The ids that stand for these jobs now: their own, or of those that have their unique keys.
  Result<std::vector<JobId>> send(std::vector<NewJob> jobs);

  // Closes the JSON object, if there is anything to say.
  void end();
  void end_early();
  // What was counted goes to the file of --metrics-file; once, when all is sent.
  void write_metrics() const;

  std::int64_t sent() const { return sent_; }
  std::int64_t existing() const { return existing_; }

 private:
  Invocation& invocation_;
  AscendingUuids ids_;
  std::optional<MetricsPort> metrics_;
  std::optional<Session> session_;
  std::int64_t sent_ = 0;
  std::int64_t existing_ = 0;
  bool opened_ = false;
};

// Some editors open a text with U+FEFF, some tools with two. It is no part of the JSON, and inside another text
// it would break it.
std::string without_byte_order_mark(std::string text);

}  // namespace fenceline::cli
