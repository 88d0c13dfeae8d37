// The trace of a lease-expiry round, and what must be true of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fenceline::cli {

struct TraceEvent {
  std::string event;
  std::string who;  // "A" or "B"
  std::int64_t pid = 0;
  std::int64_t fence = 0;        // of lease_acquired and execution_started
  bool forced = false;           // of lease_acquired: taken over from an expired lease
  std::int64_t stale_fence = 0;  // of stale_write_refused
  std::int64_t current_fence = 0;
  std::string reason;
  std::string status;  // of worker_exit
};

// {"event":"lease_acquired","who":"A","pid":12,...}, one line.
std::string to_json(const TraceEvent& event);
// An event of that form; `event` is empty if the line is something else.
TraceEvent parse_trace_event(const std::string& line);
// The event for people at a terminal, in at most 80 columns: "B  pid 34  takes the job over under fence 17".
std::string to_line(const TraceEvent& event);

// What is wrong with the trace of one round, as a sentence; empty if A's late write was refused under an older
// fence and B's was accepted, in two processes, in this order.
std::string fault_of(const std::vector<TraceEvent>& trace);

}  // namespace fenceline::cli
