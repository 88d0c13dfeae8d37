#include "metrics/metered_log.hpp"

#include "support/metrics_fixture.hpp"

namespace fenceline::metrics::test {
namespace {

struct LogCase {
  LogEvent event;
  Family family;
  std::vector<std::string> labels = {};
  double by = 1;
  std::set<std::string> also = {};
};

std::vector<LogCase> log_cases() {
  const auto event = [](std::string name, std::vector<LogField> fields = {}) {
    return LogEvent{Level::warn, std::move(name), std::move(fields)};
  };
  return {
      {event("job_settled", {{"queue", "mail"}, {"outcome", "done"}}), Family::outcomes, {"mail", "done"}},
      {event("job_settled", {{"queue", "mail"}, {"outcome", "failed"}}),
       Family::outcomes,
       {"mail", "failed"},
       1,
       {"fenceline_failures_total"}},
      {event("job_settled", {{"queue", "rare"}, {"outcome", "dead"}}),
       Family::failures,
       {"other"},
       1,
       {"fenceline_outcomes_total"}},
      {event("lease_lost", {{"why", "lease_not_renewed"}}), Family::leases_lost, {"job"}},
      {event("claim_abandoned"), Family::leases_abandoned, {"job"}},
      {event("outcome_dropped", {{"outcome", "done"}}), Family::leases_abandoned, {"job"}},
      {event("lock_lost", {{"why", "superseded"}}), Family::leases_lost, {"lock"}},
      {event("lock_abandoned", {{"why", "dropped"}}), Family::leases_abandoned, {"lock"}},
      {event("lock_release_failed"), Family::leases_abandoned, {"lock"}},
      {event("lock_failed_open", {{"at", "acquire"}}), Family::fail_open},
      {event("tick_fired", {{"late_us", 12}}), Family::ticks_fired},
      {event("ticks_skipped", {{"count", 7}, {"reason", "missed"}}), Family::ticks_skipped, {"missed"}, 7},
      {event("ticks_skipped", {{"count", 2}, {"reason", "of_tomorrow"}}), Family::ticks_skipped, {"other"}, 2},
      {event("tracker_claimed", {{"queue", "mail"}, {"reason", "free"}}), Family::deliveries, {"mail"}},
      {event("tracker_claimed", {{"reason", "takeover"}}),
       Family::takeovers,
       {"item"},
       1,
       {"fenceline_deliveries_total"}},
      {event("tracker_settled", {{"outcome", "done"}}), Family::outcomes, {"other", "done"}},
      {event("tracker_claim_lost"), Family::leases_lost, {"item"}},
      {event("tracker_outcome_void"), Family::stale_writes_refused, {"settle"}},
      {event("tracker_outcome_unwritten"), Family::leases_abandoned, {"item"}},
      {event("tracker_renewal_failed"), Family::renewal_failures, {"item"}},
  };
}

TEST_F(Metered, EachEventCountsForItsFamilyAndNoOther) {
  const std::vector<FamilySpec> specs = families({.version = "1", .store = "memory"});
  for (const LogCase& one : log_cases()) {
    const auto value = [&] {
      if (one.labels.size() == 2) return metrics.value(one.family, {one.labels[0], one.labels[1]});
      return one.labels.empty() ? metrics.value(one.family) : metrics.value(one.family, {one.labels.front()});
    };
    const double was = value();
    sink.write(one.event);
    EXPECT_EQ(value() - was, one.by) << one.event.name;
    Names expected = one.also;
    expected.insert(specs[static_cast<std::size_t>(one.family)].name);
    EXPECT_EQ(moved(), expected) << one.event.name;
  }
}

TEST_F(Metered, EveryOutcomeOfATrackerCountsUnderItsOwnNameAndOneOfTomorrowAsOther) {
  std::vector<std::string> outcomes{"sent_back"};
  for (const OutcomeKind kind :
       {OutcomeKind::done, OutcomeKind::failed, OutcomeKind::dead, OutcomeKind::later, OutcomeKind::given_back})
    outcomes.emplace_back(to_string(kind));
  for (const std::string& outcome : outcomes) {
    log.info("tracker_settled", {{"item", "1"}, {"outcome", outcome}});
    EXPECT_EQ(metrics.value(Family::outcomes, {"other", outcome}), 1) << outcome;
    EXPECT_EQ(metrics.value(Family::outcomes, {"other", "other"}), 0) << outcome;
  }
  log.info("tracker_settled", {{"item", "1"}, {"outcome", "of_tomorrow"}});
  log.info("tracker_settled", {{"item", "1"}});
  EXPECT_EQ(metrics.value(Family::outcomes, {"other", "other"}), 2);
}

TEST_F(Metered, AnOperatorsActDoesNotCountAsALossAndOtherEventsAreIgnored) {
  log.warn("lease_lost", {{"job", "x"}, {"why", "revoked"}});
  log.info("worker_started", {{"owner", "w-1"}});
  EXPECT_EQ(moved(), Names{});
}

class LastEvent final : public LogSink {
 public:
  void write(const LogEvent& event) override { name = event.name; }
  std::string name;
};

TEST_F(Metered, EveryEventIsForwarded) {
  LastEvent last;
  MeteredLog metered(metrics, last);
  Log(metered).debug("anything");
  EXPECT_EQ(last.name, "anything");
  Log(metered).warn("lock_lost");
  EXPECT_EQ(last.name, "lock_lost");
}

}  // namespace
}  // namespace fenceline::metrics::test
