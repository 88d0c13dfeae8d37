// The history of one worker: its file, its recorder and the store that it works on, put together.
#pragma once

#include <memory>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "history/history_file.hpp"
#include "history/history_store.hpp"
#include "history/recorder.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline::history {

class WorkHistory {
 public:
  // All must outlive it. Errors: those of HistoryFile::open.
  static Result<std::unique_ptr<WorkHistory>> open(const std::string& path, Runtime& runtime, Log log, Store& store);

  Store& store() { return store_; }
  Recorder& recorder() { return recorder_; }

 private:
  WorkHistory(std::unique_ptr<HistoryFile> file, Runtime& runtime, Store& store);

  std::unique_ptr<HistoryFile> file_;
  Recorder recorder_;
  HistoryStore store_;
};

}  // namespace fenceline::history
