// The checker of histories: takes events in any order, then says which promises did not hold.
//
// What it holds against a store is certain: for every order of events that the history allows, and for every fate of
// calls without an answer, some promise is broken. What it does not find may still be wrong. Times are compared only
// within one clock; a history over several is checked clock by clock, and for what needs no times.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check/call_log.hpp"
#include "check/linearize.hpp"
#include "check/violation.hpp"

namespace fenceline::audit {

struct CheckOptions {
  std::optional<char> guarantee;  // in place of the class that the history names
  bool whole = false;             // every call of anyone is in the history, though it does not say so
  bool rests = false;             // at its end everything should be finished
  bool crashed = false;           // the store crashed meanwhile: nothing is held against it that its class may forget
  Effort effort;
};

struct Verdict {
  std::vector<Violation> violations;  // by time, the first ones
  std::int64_t violations_in_all = 0;
  std::int64_t events = 0;
  std::int64_t calls = 0;
  std::int64_t unknown_calls = 0;
  std::int64_t jobs = 0;
  std::int64_t deliveries = 0;
  std::int64_t handlers = 0;  // events of theirs
  std::int64_t locks = 0;
  std::int64_t lock_grants = 0;
  std::int64_t schedules = 0;
  std::int64_t ticks = 0;  // of theirs, fired
  std::int64_t items = 0;  // of pipelines
  std::int64_t moves = 0;  // of theirs
  std::int64_t recorders = 0;
  std::int64_t clocks = 0;
  std::int64_t gave_up = 0;      // jobs with so many possible orders that nobody looked at all of them
  std::int64_t passed_over = 0;  // broken promises that the class does not make
  char guarantee = 'A';
  std::string store;
  bool whole = false;
  bool lease_times = false;

  bool holds() const { return violations_in_all == 0; }
};

class Checker {
 public:
  explicit Checker(CheckOptions options = {});
  ~Checker();

  // `file` and `line` are told in excerpts. Errors are the reader's business: any event of the format is taken.
  void add(const Event& event, Line line);
  // Once, at the end.
  Verdict finish();

 private:
  struct Clock;
  Clock& clock_of(const std::string& by);

  CheckOptions options_;
  std::map<std::string, std::unique_ptr<Clock>, std::less<>> clocks_;
  std::map<std::string, std::string, std::less<>> recorders_;  // their clocks
  std::int64_t events_ = 0;
};

}  // namespace fenceline::audit
