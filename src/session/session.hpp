// One store as a process uses it: opened from a URL, written down, counted and traced. Client and every command of the
// program stand on it, so that both ask a store the same way.
//
// From the caller to the store:
//
//   stages()   StageStore    the names that people give to stages; below it the store's own
//   store()    MeteredStore  counts calls, and times what the caller waits for: all below
//              HistoryStore  writes down what the store was asked and what it answered, with nothing between the two,
//                            so that what a checker knows of when a call took effect is as narrow as can be
//              the backend
//
// Handlers likewise (handler_chain.hpp). Parts that were not asked for are left out, and cost nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "runtime/runtime.hpp"
#include "services/retry_until_known.hpp"
#include "session/open_store.hpp"
#include "store/store.hpp"
#include "traces/span.hpp"

namespace fenceline {

class Measurement;
class StageStore;

namespace history {
class Recorder;
}

// What is counted besides the work of the process itself.
struct MeasureOptions {
  std::vector<std::string> queues = {};                           // that have a label of their own
  std::function<Result<std::vector<Finding>>(Store&)> more = {};  // what else is found when a store is examined
  bool samples = true;          // looks at the store now and then; false: only counts, for a short run
  std::string lock_class = {};  // see metrics::MetricsOptions
  std::vector<std::string> lock_names = {};
};

struct SessionOptions {
  std::string ns = "default";
  std::string history = {};                      // a file that every call is added to; empty: none
  std::optional<MeasureOptions> metrics = {};    // empty: no metrics
  std::unique_ptr<traces::SpanSink> spans = {};  // where spans go; null: nowhere
  LogSink* log = nullptr;                        // where the events of services go; null: where the store's go
  RetryPolicy retries = {};
};

// Used as a pointer to store(): `session->claim(...)`, `LockClient(..., *session, ...)`. Safe to use from several
// threads.
class Session {
 public:
  // Opens the store. `runtime` and `sink` must outlive it. Errors: those of open_store(), and of the history's file.
  static Result<Session> open(Runtime& runtime, LogSink& sink, const OpenOptions& store, SessionOptions options);
  // The same over a store that is open. Errors: those of the history's file.
  static Result<Session> over(Runtime& runtime, LogSink& sink, std::unique_ptr<Store> store, SessionOptions options);
  static Result<Session> over(Runtime& runtime, LogSink& sink, Store& store, SessionOptions options);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Over the same store, with the same counters and spans, written down in a file of its own. This one must outlive it.
  // Errors: those of the history's file.
  Result<Session> recorded_in(const std::string& file) const;

  Runtime& runtime() const;
  Log log() const;  // counted, for services
  const std::string& ns() const;

  Store& store() const;
  Store& operator*() const { return store(); }
  Store* operator->() const { return &store(); }
  StageStore& stages() const;
  Store& backend() const;  // for features of one kind of store; its calls are neither recorded nor counted

  history::Recorder* recorder() const;  // null: no history
  traces::SpanSink* spans() const;      // null: no traces
  Measurement* measurement() const;     // null: no metrics
  std::string metrics_text() const;     // empty: no metrics

  // Repeats a call of the store that can be repeated, as retry_until_known() does.
  template <class Call>
  auto until_known(const std::stop_token& stop, Call call, bool* doubted = nullptr) const {
    return retry_until_known(runtime(), stop, std::move(call), retries(), doubted);
  }
  RetryPolicy retries() const;

  // Adds the jobs, all or none, and once whatever answers get lost (J1), with a span around it that they carry on.
  // Errors: those of StageStore::enqueue, after a doubt as error_after_doubt() has them.
  Result<EnqueueReply> enqueue(std::vector<NewJob> jobs, const std::stop_token& stop = {}) const;

 private:
  struct Parts;
  explicit Session(std::unique_ptr<Parts> parts);
  static Result<Session> assemble(std::unique_ptr<Parts> parts, const std::string& history);

  std::unique_ptr<Parts> parts_;
};

}  // namespace fenceline
