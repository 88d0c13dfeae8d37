#include "tracker/fitness.hpp"

#include <algorithm>

#include "base/duration_text.hpp"

namespace fenceline::tracker {

Result<void> check_fitness(const Protocol& protocol, const Fitness& fitness) {
  constexpr std::string_view kInstead = "keep the items in a job store (sqlite, postgres, redis)";
  if (!fitness.idempotent) {
    return fail(Code::refused, "on an issue tracker work can happen twice; pass --idempotent if that is harmless, or " +
                                   std::string(kInstead));
  }
  if (const Result<void> good = check_protocol(protocol); !good) return good;
  if (fitness.trackers != 1) {
    return fail(Code::refused, "a worker serves one tracker, and " + std::to_string(fitness.trackers) +
                                   " were given; start a worker for each, or " + std::string(kInstead));
  }
  if (fitness.work && *fitness.work < kRoundTripsOfWork * fitness.claim) {
    return fail(Code::refused, "work of " + format_duration(*fitness.work) + " is too short for claims that take " +
                                   format_duration(fitness.claim) + "; on an issue tracker an item must take " +
                                   format_duration(kRoundTripsOfWork * fitness.claim) + " or more; " +
                                   std::string(kInstead));
  }
  for (const StageSpec& stage : protocol.pipeline.stages) {
    if (const Duration ttl = protocol.ttl_of(stage.name); ttl < kRoundTripsOfTtl * fitness.claim) {
      return fail(Code::refused, "a ttl of " + format_duration(ttl) + " at stage " + stage.name +
                                     " is too short for claims that take " + format_duration(fitness.claim) +
                                     "; make it " + format_duration(kRoundTripsOfTtl * fitness.claim) +
                                     " or more, or " + std::string(kInstead));
    }
  }
  return {};
}

std::optional<Duration> median(std::vector<Duration> durations) {
  if (durations.empty()) return std::nullopt;
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>((durations.size() - 1) / 2);
  std::ranges::nth_element(durations, middle);
  return *middle;
}

}  // namespace fenceline::tracker
