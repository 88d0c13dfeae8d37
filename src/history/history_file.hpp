// A history in a file. Several processes may append to one: each line is one write of its own, so a kill leaves whole
// lines.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "history/recorder.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::history {

class HistoryFile final : public Sink {
 public:
  // Made for its owner alone: a history names keys and queues. Errors: broken (it cannot be opened), invalid (what is
  // there is no history, or ends in the middle of a line).
  static Result<std::unique_ptr<HistoryFile>> open(const std::string& path, Runtime& runtime, Log log);
  ~HistoryFile() override;
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  // A disk that is full ends the history, not the work: said once in the log, and nothing more is written, so that what
  // is there stays true.
  void write(std::string line) override;

 private:
  HistoryFile(int fd, std::string path, Log log);

  const int fd_;
  const std::string path_;
  Log log_;
  std::mutex mutex_;
  bool failed_ = false;
};

}  // namespace fenceline::history
