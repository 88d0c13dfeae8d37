#include "tracker/budget.hpp"

#include <algorithm>

namespace fenceline::tracker {
namespace {

constexpr Duration kMinute = std::chrono::minutes{1};
constexpr Duration kHour = std::chrono::hours{1};
constexpr Duration kUnsaid = std::chrono::minutes{1};
constexpr Duration kUnsaidMost = std::chrono::minutes{15};
constexpr std::int64_t kPrimaryLeft = 50;  // kept for what is urgent

}  // namespace

Duration Budget::take(CallKind kind, Urgency urgency, Instant now) {
  const std::scoped_lock lock(mutex_);
  if (now < closed_until_) return closed_until_ - now;
  const bool urgent = urgency == Urgency::urgent;
  if (primary_ && primary_->left <= (urgent ? 0 : kPrimaryLeft) && now < primary_at_ + primary_->whole_in)
    return primary_at_ + primary_->whole_in - now;
  if (kind == CallKind::read) return Duration{0};
  while (!writes_.empty() && writes_.front() + kHour <= now) writes_.pop_front();
  const auto wait_for = [&](int allowed, Duration window) {
    const auto room = static_cast<std::size_t>(std::max(1, urgent ? allowed : allowed * 4 / 5));
    const auto first = std::ranges::partition_point(writes_, [&](Instant at) { return at + window <= now; });
    const auto count = static_cast<std::size_t>(writes_.end() - first);
    return count < room ? Duration{0} : *(writes_.end() - static_cast<std::ptrdiff_t>(room)) + window - now;
  };
  const Duration wait = std::max(wait_for(options_.writes_a_minute, kMinute), wait_for(options_.writes_an_hour, kHour));
  if (wait > Duration{0}) return wait;
  writes_.push_back(now);
  ++written_;
  return Duration{0};
}

void Budget::served(const Served& served, Instant now) {
  const std::scoped_lock lock(mutex_);
  if (!served.limit) return;
  primary_ = served.limit;
  primary_at_ = now;
}

void Budget::limited(std::optional<Duration> come_back, Instant now) {
  const std::scoped_lock lock(mutex_);
  ++limits_;
  const Duration unsaid = std::min(kUnsaid * (std::int64_t{1} << std::min(in_row_++, 4)), kUnsaidMost);
  closed_until_ = std::max(closed_until_, now + std::clamp(come_back.value_or(unsaid), Duration{0}, kHour));
}

void Budget::unlimited() {
  const std::scoped_lock lock(mutex_);
  in_row_ = 0;
}

std::int64_t Budget::writes() const {
  const std::scoped_lock lock(mutex_);
  return written_;
}

std::int64_t Budget::limits() const {
  const std::scoped_lock lock(mutex_);
  return limits_;
}

}  // namespace fenceline::tracker
