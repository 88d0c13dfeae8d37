// A promise that did not hold, in words, with the few lines that show it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/call_log.hpp"

namespace fenceline::audit {

struct ExcerptLine {
  Line line;
  std::string words;  // "claim of worker-1: job 5f3a90c1 granted under fence 12"
};

struct Violation {
  std::string promise;               // "L3"
  std::string sentence;              // "job 5f3a90c1 was granted to b under fence 12 while a held it under fence 11"
  std::vector<ExcerptLine> excerpt;  // by time
  Time at = 0;                       // when it was certain
  std::uint32_t job = 0;
};

// "2026-11-16T05:17:52Z", of the store's wall clock.
std::string instant(Time at);

// Tells of calls in words, one job at a time.
class Words {
 public:
  explicit Words(const CallLog& log) : log_(log) {}

  // Both lines of a call; `job` chooses what is told of it (0: all in general).
  void add_call(std::vector<ExcerptLine>& to, std::uint32_t call, std::uint32_t job) const;
  void add_handler(std::vector<ExcerptLine>& to, const HandlerEvent& event) const;
  std::string owner(Name name) const { return name == 0 ? "nobody" : std::string(log_.text(name)); }

 private:
  std::string asked(const Call& call, std::uint32_t job) const;
  std::string answered(const Call& call, std::uint32_t job) const;
  std::string answered_about_locks(const Call& call) const;
  std::string asked_of_schedule(const ScheduleCall& schedule) const;
  std::string asked_of_item(const MoveItem& move, const Item& item) const;
  std::string answered_about_schedule(const ScheduleCall& schedule) const;
  const CallLog& log_;
};

// Of these calls, each once, in the order of their lines.
std::vector<ExcerptLine> excerpt_of(const CallLog& log, std::vector<std::uint32_t> calls, std::uint32_t job);

}  // namespace fenceline::audit
