// Lock clients of simulated processes on one memory store, in virtual time; a test decides what becomes of each call.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backends/memory/memory_store.hpp"
#include "services/lock_client.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "store/forwarding_store.hpp"
#include "support/results.hpp"

namespace fenceline::test {

enum class Fate {
  fine,
  refused,       // unavailable at once
  request_lost,  // in doubt at the timeout, nothing happened
  reply_lost,    // in doubt at the timeout, though it happened
};

// The way from one process to the store.
class LockRoad final : public ForwardingStore {
 public:
  LockRoad(Runtime& runtime, Store& inner) : ForwardingStore(inner), runtime_(runtime) {}

  std::function<Fate(const std::string& verb, int call)> fate = [](const std::string&, int) { return Fate::fine; };
  Duration reply_takes{0};
  std::vector<AcquireRequest> asked;
  std::vector<RenewRequest> renewed;

  // When the verb was called.
  const std::vector<Instant>& calls(const std::string& verb) { return calls_[verb]; }
  int count(const std::string& verb) { return static_cast<int>(calls_[verb].size()); }
  int count_between(const std::string& verb, Instant from, Instant to) {
    return static_cast<int>(std::ranges::count_if(calls_[verb], [&](Instant at) { return from < at && at < to; }));
  }

  Result<AcquireReply> acquire(const AcquireRequest& request) override {
    asked.push_back(request);
    return call<AcquireReply>("acquire", request.timeout, [&] { return inner_.acquire(request); });
  }
  Result<RenewReply> renew(const RenewRequest& request) override {
    renewed.push_back(request);
    return call<RenewReply>("renew", request.timeout, [&] { return inner_.renew(request); });
  }
  Result<ReleaseReply> release(const ReleaseRequest& request) override {
    return call<ReleaseReply>("release", request.timeout, [&] { return inner_.release(request); });
  }
  Result<void> withdraw(const WithdrawRequest& request) override {
    return call<void>("withdraw", request.timeout, [&] { return inner_.withdraw(request); });
  }
  Result<std::optional<LockRow>> lock(const std::string& ns, const std::string& resource) override {
    return call<std::optional<LockRow>>("lock", kCallTimeout, [&] { return inner_.lock(ns, resource); });
  }
  Result<TidyReply> tidy(const TidyRequest& request) override {
    return call<TidyReply>("tidy", request.timeout, [&] { return inner_.tidy(request); });
  }

 private:
  template <class T>
  Result<T> call(const std::string& verb, Duration timeout, const std::function<Result<T>()>& body) {
    std::vector<Instant>& calls = calls_[verb];
    calls.push_back(runtime_.now());
    const Fate what = fate(verb, static_cast<int>(calls.size()) - 1);
    if (what == Fate::refused) return fail(Code::unavailable, "the store is away");
    if (what == Fate::request_lost) {
      runtime_.sleep_for(timeout, {});
      return fail(Code::in_doubt, "no reply in time");
    }
    Result<T> reply = body();
    if (what == Fate::reply_lost) {
      runtime_.sleep_for(timeout, {});
      return fail(Code::in_doubt, "no reply in time");
    }
    if (reply_takes > Duration{0}) runtime_.sleep_for(reply_takes, {});
    return reply;
  }

  Runtime& runtime_;
  std::map<std::string, std::vector<Instant>> calls_;
};

class LoggedEvents final : public LogSink {
 public:
  void write(const LogEvent& event) override { events_.push_back(event); }
  int count(const std::string& name) const {
    return static_cast<int>(std::ranges::count_if(events_, [&](const LogEvent& e) { return e.name == name; }));
  }
  // Of the last event of that name.
  LogEvent last(const std::string& name) const {
    LogEvent found{Level::debug, "", {}};
    for (const LogEvent& event : events_) {
      if (event.name == name) found = event;
    }
    return found;
  }
  std::string text(const std::string& name, const std::string& key) const {
    for (const LogField& field : last(name).fields) {
      if (field.key == key && std::holds_alternative<std::string>(field.value))
        return std::get<std::string>(field.value);
    }
    return "";
  }

 private:
  std::vector<LogEvent> events_;
};

// Instants count from the start of the test.
class LocksInVirtualTime : public testing::Test {
 protected:
  struct Process {
    Process(LocksInVirtualTime& test, const std::string& name)
        : runtime(test.simulation, test.machine, name), road(runtime, test.memory), place(name) {}

    sim::SimRuntime runtime;
    LockRoad road;
    LoggedEvents events;
    std::string place;
    Duration tidy_every = std::chrono::minutes{10};
  };

  sim::StackPool stacks;
  sim::Simulation simulation{7, stacks};
  sim::Machine machine{"m", Duration{0}, 0, std::chrono::hours{24 * 365 * 50}};
  sim::SimRuntime server{simulation, machine, "store"};  // a clock
  MemoryStore memory{server};
  Process a{*this, "a"};
  Process b{*this, "b"};
  Process c{*this, "c"};

  using Body = std::function<void(LockClient&, std::stop_token)>;
  // `body` is the main of that process.
  void start(Process& process, Body body) {
    process.runtime.start([&process, body = std::move(body)](std::stop_token stop) {
      LockClient client(make_lock_parts(process.runtime, Log(process.events), process.road,
                                        {.ns = "default", .place = process.place, .tidy_every = process.tidy_every}));
      body(client, stop);
    });
  }
  void start(Process& process, std::function<void(LockClient&)> body) {
    start(process, [body = std::move(body)](LockClient& client, std::stop_token) { body(client); });
  }
  void run(Duration until) { simulation.run_until(Instant{until}); }
  void sleep(Process& process, Duration by) { process.runtime.sleep_for(by, {}); }
  Instant now() const { return simulation.now(); }

  std::optional<LockRow> row(const std::string& resource) { return must(memory.lock("default", resource)); }
  std::int64_t waiters(const std::string& name) {
    const std::optional<LockRow> found = row(name);
    return found ? found->waiters_count : 0;
  }
  bool is_free(const std::string& resource) {
    const std::optional<LockRow> found = row(resource);
    return !found || !found->free_in;
  }
  void break_lock(const std::string& resource) {
    must(memory.break_lock({.ns = "default",
                            .resource = resource,
                            .request = "break-" + std::to_string(now().time_since_epoch().count()),
                            .act = {"ana", "stuck"}}));
  }
};

inline Instant at(Duration since_the_start) { return Instant{since_the_start}; }

}  // namespace fenceline::test
