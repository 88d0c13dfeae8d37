#include "metrics/metered_log.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace fenceline::metrics {
namespace {

std::string_view word(const LogEvent& event, std::string_view key) {
  const auto found = std::ranges::find(event.fields, key, &LogField::key);
  const std::string* text = found == event.fields.end() ? nullptr : std::get_if<std::string>(&found->value);
  return text ? std::string_view(*text) : std::string_view();
}

double number(const LogEvent& event, std::string_view key) {
  const auto found = std::ranges::find(event.fields, key, &LogField::key);
  const std::int64_t* value = found == event.fields.end() ? nullptr : std::get_if<std::int64_t>(&found->value);
  return value ? static_cast<double>(*value) : 0;
}

void ended(Metrics& metrics, const LogEvent& event) {
  const std::string_view queue = word(event, "queue");
  const std::string_view outcome = word(event, "outcome");
  metrics.add(Family::outcomes, {queue, outcome});
  if (outcome == "failed" || outcome == "dead") metrics.add(Family::failures, {queue});
}

using Count = void (*)(Metrics&, const LogEvent&);

const std::map<std::string, Count, std::less<>>& counts() {
  static const std::map<std::string, Count, std::less<>> all{
      {"job_settled", [](Metrics& m, const LogEvent& e) { ended(m, e); }},
      // A delivery that an operator ended does not count as a loss.
      {"lease_lost",
       [](Metrics& m, const LogEvent& e) {
         if (word(e, "why") != "revoked") m.add(Family::leases_lost, {"job"});
       }},
      {"claim_abandoned", [](Metrics& m, const LogEvent&) { m.add(Family::leases_abandoned, {"job"}); }},
      {"outcome_dropped", [](Metrics& m, const LogEvent&) { m.add(Family::leases_abandoned, {"job"}); }},
      {"lock_lost", [](Metrics& m, const LogEvent&) { m.add(Family::leases_lost, {"lock"}); }},
      {"lock_abandoned", [](Metrics& m, const LogEvent&) { m.add(Family::leases_abandoned, {"lock"}); }},
      {"lock_release_failed", [](Metrics& m, const LogEvent&) { m.add(Family::leases_abandoned, {"lock"}); }},
      {"lock_failed_open", [](Metrics& m, const LogEvent&) { m.add(Family::fail_open); }},
      {"tick_fired", [](Metrics& m, const LogEvent&) { m.add(Family::ticks_fired); }},
      {"ticks_skipped",
       [](Metrics& m, const LogEvent& e) { m.add(Family::ticks_skipped, {word(e, "reason")}, number(e, "count")); }},
      {"tracker_claimed",
       [](Metrics& m, const LogEvent& e) {
         m.add(Family::deliveries, {word(e, "queue")});
         if (word(e, "reason") == "takeover") m.add(Family::takeovers, {"item"});
       }},
      {"tracker_settled", [](Metrics& m, const LogEvent& e) { ended(m, e); }},
      {"tracker_claim_lost", [](Metrics& m, const LogEvent&) { m.add(Family::leases_lost, {"item"}); }},
      {"tracker_outcome_void", [](Metrics& m, const LogEvent&) { m.add(Family::stale_writes_refused, {"settle"}); }},
      {"tracker_outcome_unwritten", [](Metrics& m, const LogEvent&) { m.add(Family::leases_abandoned, {"item"}); }},
      {"tracker_renewal_failed", [](Metrics& m, const LogEvent&) { m.add(Family::renewal_failures, {"item"}); }},
  };
  return all;
}

}  // namespace

void MeteredLog::write(const LogEvent& event) {
  if (const auto found = counts().find(event.name); found != counts().end()) found->second(metrics_, event);
  inner_.write(event);
}

}  // namespace fenceline::metrics
