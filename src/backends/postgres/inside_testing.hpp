// For tests of applications' own transactions: two sessions of an application beside a store whose clock is moved by
// hand.
#pragma once

#include <gtest/gtest.h>

#include "backends/postgres/inside_session.hpp"
#include "backends/postgres/testing.hpp"

namespace fenceline::test {

class Inside : public testing::Test {
 protected:
  Inside() {
    HandMovedSchema::shared().empty();
    store_ = HandMovedSchema::shared().open(runtime_, clock_);
    for (Session* one : {&app_, &other_}) {
      // Nobody waits in these tests.
      one->must_ask("set lock_timeout = '5s'");
      set_clock(*one);
    }
    app_.must_ask("create table if not exists written (what text)");
    app_.must_ask("truncate written");
  }

  void set_clock(Session& session) {
    session.must_ask("set fenceline.lease = '" + std::to_string(clock_.now().time_since_epoch().count()) +
                     "'; set fenceline.wall = '" + std::to_string(clock_.wall_now().time_since_epoch().count()) + "'");
  }
  void let_time_pass(Duration duration) {
    clock_.advance(duration);
    set_clock(other_);
  }
  static std::string enqueued(Session& in, const std::string& more = "") {
    return in.must_ask("select enqueue('q', '1'" + more + ")").text();
  }
  struct Held {
    std::string id;
    std::string fence;
  };
  static std::vector<Held> claimed(Session& in, const std::string& worker, int n = 1) {
    std::vector<Held> out;
    const Session::Answer answer =
        in.must_ask("select job, fence from claim('q', '" + worker + "', " + std::to_string(n) + ")");
    for (std::size_t row = 0; row < answer.rows.size(); ++row)
      out.push_back({answer.text(row, 0), answer.text(row, 1)});
    return out;
  }
  static std::string held(const Held& one) { return "'" + one.id + "', " + one.fence; }
  std::int64_t count(const std::string& from) { return other_.must_ask("select count(*) from " + from).number(); }
  // A job that A has, and that B takes over once its lease has run out.
  Held one_of_a() {
    enqueued(app_);
    return claimed(app_, "a").at(0);
  }
  Held taken_over() {
    let_time_pass(std::chrono::seconds{31});
    return claimed(other_, "b").at(0);
  }

  ThreadRuntime runtime_;
  ManualClock clock_;
  std::unique_ptr<PostgresStore> store_;
  Session app_{HandMovedSchema::shared().url()};
  Session other_{HandMovedSchema::shared().url()};
};

}  // namespace fenceline::test
