#include "drills/trace.hpp"

#include <nlohmann/json.hpp>

namespace fenceline::cli {

std::string to_json(const TraceEvent& event) {
  nlohmann::ordered_json json{{"event", event.event}, {"who", event.who}, {"pid", event.pid}};
  if (event.event == "lease_acquired") json["forced"] = event.forced;
  if (event.fence != 0) json["fence"] = event.fence;
  if (event.event == "stale_write_refused") {
    json["stale_fence"] = event.stale_fence;
    json["current_fence"] = event.current_fence;
    json["reason"] = event.reason;
  }
  if (!event.status.empty()) json["status"] = event.status;
  return json.dump();
}

TraceEvent parse_trace_event(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return {};
  return {.event = json.value("event", ""),
          .who = json.value("who", ""),
          .pid = json.value("pid", std::int64_t{0}),
          .fence = json.value("fence", std::int64_t{0}),
          .forced = json.value("forced", false),
          .stale_fence = json.value("stale_fence", std::int64_t{0}),
          .current_fence = json.value("current_fence", std::int64_t{0}),
          .reason = json.value("reason", ""),
          .status = json.value("status", "")};
}

std::string to_line(const TraceEvent& event) {
  const std::string begin = event.who + "  pid " + std::to_string(event.pid) + "  ";
  if (event.event == "lease_acquired")
    return begin + (event.forced ? "takes the job over" : "claims the job") + " under fence " +
           std::to_string(event.fence);
  if (event.event == "execution_started") return begin + "starts the handler";
  if (event.event == "stale_write_refused")
    return begin + "writes late: refused, fence " + std::to_string(event.stale_fence) + " is stale";
  if (event.event == "worker_exit") return begin + "exits: " + event.status;
  return begin + event.event;
}

std::string fault_of(const std::vector<TraceEvent>& trace) {
  struct Expected {
    const char* event;
    const char* who;
  };
  static constexpr Expected kOrder[] = {
      {"lease_acquired", "A"},      {"execution_started", "A"}, {"lease_acquired", "B"}, {"execution_started", "B"},
      {"stale_write_refused", "A"}, {"worker_exit", "A"},       {"worker_exit", "B"}};
  if (trace.size() != std::size(kOrder))
    return "the trace has " + std::to_string(trace.size()) + " events instead of 7";
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace[i].event != kOrder[i].event || trace[i].who != kOrder[i].who)
      return "event " + std::to_string(i + 1) + " is " + trace[i].event + " of " + trace[i].who + " instead of " +
             kOrder[i].event + " of " + kOrder[i].who;
  }
  const TraceEvent& first = trace[0];
  const TraceEvent& second = trace[2];
  const TraceEvent& refused = trace[4];
  if (first.forced) return "A's lease was taken over from another holder";
  if (!second.forced) return "B was granted the job without taking it over";
  if (second.fence <= first.fence) return "L2: B's fence is not larger than A's";
  if (trace[1].fence != first.fence || trace[3].fence != second.fence)
    return "a worker started under a fence that it was not granted";
  if (refused.stale_fence != first.fence || refused.current_fence != second.fence || refused.reason != "superseded")
    return "J3: the refusal does not name A's fence, B's fence and 'superseded'";
  if (trace[5].status != "stale") return "A ended as '" + trace[5].status + "' instead of 'stale'";
  if (trace[6].status != "success") return "B ended as '" + trace[6].status + "' instead of 'success'";
  if (first.pid == second.pid || first.pid == 0 || second.pid == 0) return "A and B are not two processes";
  return {};
}

}  // namespace fenceline::cli
