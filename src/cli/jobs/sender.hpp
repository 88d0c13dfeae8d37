// Sends jobs to the store of an invocation, repeats what is in doubt, prints ids as they are acknowledged.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ascending_uuids.hpp"
#include "base/result.hpp"
#include "cli/frame/command.hpp"
#include "history/work_history.hpp"
#include "traces/exporter.hpp"

namespace fenceline::cli {

class Sender {
 public:
  explicit Sender(Invocation& invocation) : invocation_(invocation) {}

  JobId new_id();
  // The store, made if there is none yet; with --history, what is asked of it is written down.
  Result<Store*> store();

  // All or none. The ids that stand for these jobs now: their own, or of those that have their unique keys.
  Result<std::vector<JobId>> send(std::vector<NewJob> jobs);

  // Closes the JSON object, if there is anything to say.
  void end();
  void end_early();

  std::int64_t sent() const { return sent_; }
  std::int64_t existing() const { return existing_; }

 private:
  // The span of sending these, whose context they carry from now on; nothing if traces are off, or whoever began this
  // one wants none.
  std::optional<traces::Span> begin_span(std::vector<NewJob>& jobs);

  Invocation& invocation_;
  AscendingUuids ids_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<history::WorkHistory> noted_;             // what is sent through it, if it is to be written down
  std::optional<std::unique_ptr<traces::Exporter>> spans_;  // once it was looked whether there is a collector
  std::optional<std::string> stage_;                        // of all jobs, as the store has it
  std::int64_t sent_ = 0;
  std::int64_t existing_ = 0;
  bool opened_ = false;
};

// Some editors open a text with U+FEFF, some tools with two. It is no part of the JSON, and inside another text
// it would break it.
std::string without_byte_order_mark(std::string text);

}  // namespace fenceline::cli
