#include "sim/scenarios/seed_history.hpp"

#include "base/check.hpp"

namespace fenceline::sim {
namespace {

// By then no copy of a request is under way any more.
constexpr Duration kCopiesArriveWithin = std::chrono::minutes{2};

}  // namespace

history::Recorder& SeedHistory::recorder(const std::string& by) {
  recorders_.push_back(std::make_unique<history::Recorder>(
      truth_, *this,
      history::RecorderOptions{.by = by,
                               .store = "simulated",
                               .guarantee = 'B',
                               .store_clock = leases_by_order_ ? "" : truth_.boot_id(),
                               .whole = true,
                               .repeats = repeats_ ? kCopiesArriveWithin : Duration{0}}));
  return *recorders_.back();
}

audit::Verdict SeedHistory::check() const {
  audit::Checker checker;
  std::uint32_t number = 0;
  for (const std::string& line : lines_) {
    const Result<history::Event> event = history::parse_line(line);
    fenceline::check(event.has_value(), "a history that was written can be read");
    checker.add(*event, {0, ++number});
  }
  return checker.finish();
}

void SeedHistory::tell(Violations& violations) const {
  for (const audit::Violation& violation : check().violations)
    violations.add(violation.promise, violation.sentence + " (by its history)");
}

std::string SeedHistory::text() const {
  std::string text;
  for (const std::string& line : lines_) text += line + "\n";
  return text;
}

}  // namespace fenceline::sim
