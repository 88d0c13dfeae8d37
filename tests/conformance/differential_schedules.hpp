// The part of the stream that is about schedules. It has chance of its own, so that what the rest of the stream makes
// up does not depend on it, and moves no clock. Every schedule has a tick each beat of the stream; jobs of ticks come
// in a queue of their own, and are worked off here. A few names are used over and over, many others rarely, so that
// some are forgotten.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "conformance/reply_text.hpp"
#include "store/store.hpp"

namespace fenceline::test {

inline const std::string kTicksQueue = "ticks";

class DifferentialSchedules {
 public:
  using Note = std::function<void(const std::string& verb, const std::string& answer)>;
  using Compare = std::function<void(const std::string& verb, const std::string& request, const std::string& expected,
                                     const std::string& got)>;

  DifferentialSchedules(Store& oracle, Store& store, std::uint64_t seed, Note note, Compare compare)
      : oracle_(oracle), store_(store), chance_(seed), note_(std::move(note)), compare_(std::move(compare)) {}

  // One operation, or none.
  void step();
  // All schedules of both namespaces and what became of their ticks, to the end.
  void compare_everything();

 private:
  void step_ticks();
  void change_schedule();
  void schedules();
  void ticks();
  void work();

  // As the oracle has them, removed ones too; and what its clock shows.
  std::vector<ScheduleRow> rows(const std::string& ns);
  std::vector<TickRow> fired_after(const std::string& ns, const ScheduleRow& row);
  // Most often one that is there.
  ScheduleRow any_row(const std::string& ns);
  std::string any_name();
  NewJob made_up_job();
  TickStep made_up_step(const std::string& ns, const ScheduleRow& row);
  void spoil(StepRequest& request);
  ChangeScheduleRequest made_up_change(const std::string& ns);
  void make_rewind(ChangeScheduleRequest& request, const ScheduleRow& row);
  void edit_moved_back(ChangeScheduleRequest& request);
  void spoil(ChangeScheduleRequest& request);
  void note_step(const StepRequest& request, const StepReply& reply, bool repeat);
  void note_change(const ChangeScheduleRequest& request, const ChangeScheduleReply& reply,
                   const std::optional<ScheduleRow>& before);
  void compare_page_by_page(SchedulesRequest request);
  void compare_page_by_page(TicksRequest request);

  std::uint64_t below(std::uint64_t n) { return chance_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[below(items.size())];
  }

  template <class Call>
  auto both(const std::string& verb, const std::string& request, const Call& call) {
    const auto expected = call(oracle_);
    const auto got = call(store_);
    compare_(verb, request, text_of(expected), text_of(got));
    if (!expected) note_(verb, std::string(to_string(expected.error().code)));
    return expected;
  }

  Store& oracle_;
  Store& store_;
  std::mt19937_64 chance_;
  Note note_;
  Compare compare_;
  WallTime now_{};
  std::uint64_t last_number_ = 0;
  std::deque<StepRequest> steps_;  // the last ones that were not malformed
  std::deque<ChangeScheduleRequest> changes_;
  std::deque<std::pair<std::string, JobId>> jobs_;  // the last ones of ticks, by namespace
};

}  // namespace fenceline::test
