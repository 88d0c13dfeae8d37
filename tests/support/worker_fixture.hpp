// A worker of the production code on a memory store whose answers a test can take away, in real time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backends/memory/memory_store.hpp"
#include "runtime/thread_runtime.hpp"
#include "services/worker.hpp"
#include "store/forwarding_store.hpp"
#include "support/results.hpp"

namespace fenceline::test {

using Delivered = Run;  // gtest has a Run of its own

// A memory store whose answers a test can take away: `before` fails a call that then does not happen, `after` fails one
// that did. Both get the verb and how often it was called before.
class TroubledStore final : public ForwardingStore {
 public:
  using Trouble = std::function<std::optional<Error>(const std::string& verb, int call)>;

  explicit TroubledStore(Clock& clock) : TroubledStore(std::make_unique<MemoryStore>(clock)) {}

  Trouble before = [](const std::string&, int) { return std::nullopt; };
  Trouble after = [](const std::string&, int) { return std::nullopt; };
  std::function<std::optional<ExtendReply>(const ExtendRequest&)> on_extend = [](const ExtendRequest&) {
    return std::nullopt;
  };

  std::function<void(ClaimReply&)> on_claimed = [](ClaimReply&) {};  // before its reply is taken away

  std::atomic<bool> orders_wake_up = true;  // false: no wake-up tells of an order

  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override {
    if (!request.orders) return inner_.watch(request, std::move(on_change));
    return inner_.watch(request, [this, on_change = std::move(on_change)] {
      if (orders_wake_up) on_change();
    });
  }

  int calls(const std::string& verb) const {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(verb);
    return found == calls_.end() ? 0 : found->second;
  }

  Result<ClaimReply> claim(const ClaimRequest& r) override {
    return call<ClaimReply>("claim", [&] {
      Result<ClaimReply> reply = inner_.claim(r);
      if (reply) on_claimed(*reply);
      return reply;
    });
  }
  Result<void> give_back(const GiveBackRequest& r) override {
    return call<void>("give_back", [&] { return inner_.give_back(r); });
  }
  Result<ExtendReply> extend(const ExtendRequest& r) override {
    return call<ExtendReply>("extend", [&]() -> Result<ExtendReply> {
      if (const auto reply = on_extend(r)) return *reply;
      return inner_.extend(r);
    });
  }
  Result<SettleReply> settle(const SettleRequest& r) override {
    return call<SettleReply>("settle", [&] { return inner_.settle(r); });
  }
  Result<BacklogReply> backlog(const BacklogRequest& r) override {
    return call<BacklogReply>("backlog", [&] { return inner_.backlog(r); });
  }
  Result<OrdersReply> orders(const std::string& ns, const std::string& owner) override {
    return call<OrdersReply>("orders", [&] { return inner_.orders(ns, owner); });
  }
  Result<void> stopped(const StoppedRequest& r) override {
    return call<void>("stopped", [&] { return inner_.stopped(r); });
  }
  Result<RecordReply> record(const RecordRequest& r) override {
    return call<RecordReply>("record", [&] { return inner_.record(r); });
  }
  Result<BeginEffectReply> begin_effect(const BeginEffectRequest& r) override {
    return call<BeginEffectReply>("begin_effect", [&] { return inner_.begin_effect(r); });
  }
  Result<FinishEffectReply> finish_effect(const FinishEffectRequest& r) override {
    return call<FinishEffectReply>("finish_effect", [&] { return inner_.finish_effect(r); });
  }
  Result<TidyReply> tidy(const TidyRequest& r) override {
    return call<TidyReply>("tidy", [&] { return inner_.tidy(r); });
  }
  Result<void> report_worker(const WorkerReport& r) override {
    return call<void>("report_worker", [&] { return inner_.report_worker(r); });
  }

 private:
  explicit TroubledStore(std::unique_ptr<MemoryStore> memory) : ForwardingStore(*memory), memory_(std::move(memory)) {}

  template <class T>
  Result<T> call(const std::string& verb, const std::function<Result<T>()>& body) {
    int number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = calls_[verb]++;
    }
    if (const auto error = before(verb, number)) return std::unexpected(*error);
    Result<T> result = body();
    if (const auto error = after(verb, number)) return std::unexpected(*error);
    return result;
  }

  std::unique_ptr<MemoryStore> memory_;
  mutable std::mutex mutex_;
  std::map<std::string, int> calls_;
};

class EventList final : public LogSink {
 public:
  void write(const LogEvent& event) override {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }
  int count(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::ranges::count_if(events_, [&](const LogEvent& e) { return e.name == name; }));
  }
  // Of the last event of that name.
  std::string field(const std::string& name, const std::string& key) const {
    const std::lock_guard lock(mutex_);
    std::string value;
    for (const LogEvent& event : events_) {
      if (event.name != name) continue;
      for (const LogField& f : event.fields) {
        if (f.key == key && std::holds_alternative<std::string>(f.value)) value = std::get<std::string>(f.value);
      }
    }
    return value;
  }
  std::optional<std::int64_t> number(const std::string& name, const std::string& key) const {
    std::optional<std::int64_t> value;
    for (const LogEvent& event : all(name)) {
      for (const LogField& f : event.fields) {
        if (f.key == key && std::holds_alternative<std::int64_t>(f.value)) value = std::get<std::int64_t>(f.value);
      }
    }
    return value;
  }
  std::vector<LogEvent> all(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    std::vector<LogEvent> found;
    std::ranges::copy_if(events_, std::back_inserter(found), [&](const LogEvent& e) { return e.name == name; });
    return found;
  }
  static std::string text_of(const LogEvent& event, const std::string& key) {
    for (const LogField& f : event.fields) {
      if (f.key == key && std::holds_alternative<std::string>(f.value)) return std::get<std::string>(f.value);
    }
    return "";
  }

 private:
  mutable std::mutex mutex_;
  std::vector<LogEvent> events_;
};

class HandlerOf final : public Handler {
 public:
  explicit HandlerOf(std::function<RunResult(const Delivered&)> body) : body_(std::move(body)) {}
  RunResult run(const Delivered& run) override { return body_(run); }

 private:
  std::function<RunResult(const Delivered&)> body_;
};

class WorkerOnMemory : public testing::Test {
 protected:
  ThreadRuntime runtime;
  TroubledStore store{runtime};
  EventList events;
  WorkerOptions options{
      .queues = {"mail"}, .ttl = std::chrono::seconds{1}, .drain_grace = std::chrono::seconds{5}, .drain = true};

  std::vector<JobId> enqueue(int count, int attempts_max = kAttemptsMaxDefault, const std::string& queue = "mail") {
    EnqueueRequest request{.ns = "default"};
    std::vector<JobId> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back(make_uuid7(runtime.wall_now(), runtime.random(), runtime.random()));
      request.jobs.push_back({.id = ids.back(), .queue = queue, .attempts_max = attempts_max});
    }
    must(store.enqueue(request));
    return ids;
  }
  JobId enqueue(NewJob job) {
    job.id = make_uuid7(runtime.wall_now(), runtime.random(), runtime.random());
    job.queue = "mail";
    must(store.enqueue({.ns = "default", .jobs = {job}}));
    return job.id;
  }
  ActReply cancel(const JobId& id) {
    return must(store.cancel({.ns = "default", .ids = {id}, .request = "cancel", .act = {"ana", ""}}));
  }
  ActReply retry(const JobId& id) {
    return must(store.retry({.ns = "default", .ids = {id}, .request = "retry", .act = {"ana", ""}}));
  }
  // To the only worker there is.
  void order(WorkerOrder order) {
    const std::vector<WorkerRow> rows = must(store.workers("default"));
    ASSERT_EQ(rows.size(), 1u);
    must(store.order_worker({.ns = "default", .owner = rows.front().report.owner, .order = order, .act = {"ana", ""}}));
  }
  // All that the job logged.
  std::string logged(const JobId& id) {
    std::string text;
    const LogReply reply = must(store.log({.ns = "default", .id = id})).value();
    for (const LogChunk& chunk : reply.chunks) text += chunk.bytes;
    return text;
  }
  // False if it did not come to be in ten seconds.
  bool eventually(const std::function<bool()>& holds) {
    for (const Instant end = runtime.now() + std::chrono::seconds{10}; runtime.now() < end;
         runtime.sleep_for(std::chrono::milliseconds{2}, {})) {
      if (holds()) return true;
    }
    return holds();
  }
  Job job(const JobId& id) { return must(store.job("default", id)).value(); }

  Result<WorkReport> work(std::function<RunResult(const Delivered&)> body, std::stop_token stop = {}) {
    HandlerOf handler(std::move(body));
    return JobWorker(runtime, Log(events), store, handler, options).run(std::move(stop));
  }
};

inline RunResult done(const Delivered&) { return {.result = "\"ok\""}; }

// Ends when it is told to.
inline RunResult wait_for_stop(const Delivered& run, Runtime& runtime) {
  runtime.sleep_for(std::chrono::hours{1}, run.stop);
  return {.kind = OutcomeKind::failed, .error = "told to stop"};
}

}  // namespace fenceline::test
