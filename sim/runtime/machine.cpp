#include "sim/runtime/machine.hpp"

#include <utility>

#include "base/check.hpp"

namespace fenceline::sim {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
// True time zero on a calendar: 2026-01-01. Any fixed day would do.
constexpr WallTime kEpoch{std::chrono::seconds{1'767'225'600}};
// Ten years: beyond it a deadline is "never", and sums stay far from overflow.
constexpr Duration kNever = std::chrono::days{3650};

}  // namespace

Machine::Machine(std::string name, Duration offset, std::int64_t rate_ppm, Duration wall_offset)
    : name_(std::move(name)), offset_(offset), rate_ppm_(rate_ppm), wall_offset_(wall_offset) {
  check(rate_ppm > -kMillion && rate_ppm < kMillion, "a clock must go forward, and less than twice too fast");
}

Instant Machine::local(Instant true_time) const {
  const std::int64_t passed = true_time.time_since_epoch().count();
  return Instant{offset_ + Duration{passed + passed / kMillion * rate_ppm_ + passed % kMillion * rate_ppm_ / kMillion}};
}

WallTime Machine::wall(Instant true_time) const {
  return kEpoch + (local(true_time).time_since_epoch() - offset_) + wall_offset_;
}

Instant Machine::true_time(Instant local_time) const {
  if (local_time.time_since_epoch() - offset_ > kNever) return Instant::max();
  const std::int64_t local_passed = (local_time.time_since_epoch() - offset_).count();
  if (local_passed <= 0) return Instant{};
  // The quotient is off by rounding only: step to the exact first moment.
  const std::int64_t rate = kMillion + rate_ppm_;
  Instant guess{Duration{local_passed / rate * kMillion + local_passed % rate * kMillion / rate}};
  while (local(guess) >= local_time && guess > Instant{}) guess -= Duration{1};
  while (local(guess) < local_time) guess += Duration{1};
  return guess;
}

}  // namespace fenceline::sim
