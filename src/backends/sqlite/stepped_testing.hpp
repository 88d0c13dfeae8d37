// For tests of what a verb costs, in steps of SQLite's machine and not in time.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/sqlite/opening.hpp"
#include "backends/sqlite/testing.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::test {

// The verbs on a connection of their own, with a count of what SQLite's machine did for them.
class SteppedStore {
 public:
  SteppedStore() : db_(sqlite::open_in_memory(clock_, {.path = ":memory:"})), names_(*db_) {}

  template <class Reply, class Request>
  Reply run(Result<Reply> (*verb)(sqlite::Call&, const Request&), const Request& request) {
    db_->execute("BEGIN");
    steps();
    sqlite::Call call(*db_, names_, clock_, clock_.now());
    Result<Reply> reply = verb(call, request);
    sqlite::write_depths(call);
    last_steps_ = steps();
    db_->execute("COMMIT");
    if constexpr (!std::is_void_v<Reply>) return must(std::move(reply));
  }
  std::int64_t last_steps() const { return last_steps_; }
  ManualClock& clock() { return clock_; }

  void add(NewJob job, int times = 1, Duration apart = Duration{0}) {
    while (times > 0) {
      EnqueueRequest request{.ns = "default"};
      for (int i = 0; i < std::min(times, kBatchMax); ++i) {
        job.id = job_id(++last_);
        job.delay += apart;
        request.jobs.push_back(job);
      }
      run(&sqlite::enqueue, request);
      times -= kBatchMax;
    }
  }
  std::vector<ClaimedJob> claim(int limit = 1) {
    return run(&sqlite::claim, a_claim("a", std::to_string(++last_), limit)).jobs;
  }
  void set_limit_per_key(int most) {
    run(&sqlite::set_queue,
        SetQueueRequest{.ns = "default", .queue = "q", .change = {.limit_per_key = most}, .act = {.actor = "ada"}});
  }
  std::int64_t count(const char* sql) { return db_->number(sql).value_or(-1); }

 private:
  std::int64_t steps() {
    std::int64_t total = 0;
    for (sqlite3_stmt* s = sqlite3_next_stmt(db_->handle(), nullptr); s; s = sqlite3_next_stmt(db_->handle(), s))
      total += sqlite3_stmt_status(s, SQLITE_STMTSTATUS_VM_STEP, 1);
    return total;
  }

  ManualClock clock_;
  std::unique_ptr<sqlite::Database> db_;
  sqlite::Names names_;
  std::uint64_t last_ = 0;
  std::int64_t last_steps_ = 0;
};

}  // namespace fenceline::test
