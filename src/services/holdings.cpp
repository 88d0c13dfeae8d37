#include "services/holdings.hpp"

#include <algorithm>
#include <set>

namespace fenceline {
namespace {

// A late renewal is only there to see its refusal: not worth more.
constexpr int kLateTries = 5;

bool may_renew(const Delivery& delivery) { return delivery.renewable && !delivery.told && !delivery.lost; }

std::optional<Instant> next_try(const Delivery& delivery, const LeaseTimes& times) {
  const std::optional<Duration> offset = renewal_try(delivery.tries, times);
  if (!offset || !may_renew(delivery)) return std::nullopt;
  return counted_from(delivery.trust.lease_until(), times) + *offset;
}

Instant unstarted_until(const Delivery& delivery, const LeaseTimes& times) {
  return std::min(delivery.start_by, stop_work_at(delivery.trust.lease_until(), times));
}

}  // namespace

Holdings::Load Holdings::load() const {
  const std::lock_guard lock(mutex_);
  Load load;
  load.unsaid = !stopped_.empty();
  load.crowded = crowded_;
  for (const auto& [holding, delivery] : all_) {
    if (delivery->phase == Phase::waiting) ++load.waiting;
    if (delivery->phase == Phase::running) ++load.running;
    if (delivery->phase == Phase::returned) ++load.returned;
    load.alone = load.alone || must_run_alone(delivery->job.losses_in_row);
  }
  return load;
}

std::vector<Holding> Holdings::believed() const {
  const std::lock_guard lock(mutex_);
  std::vector<Holding> held;
  for (const auto& [holding, delivery] : all_) {
    if (!delivery->lost) held.push_back(holding);
  }
  return held;
}

std::vector<DeliveryPtr> Holdings::add(Instant now, const std::vector<DeliveryPtr>& deliveries) {
  const std::lock_guard lock(mutex_);
  std::vector<DeliveryPtr> revoked;
  for (const DeliveryPtr& delivery : deliveries) {
    if (unseen_.contains(delivery->holding())) {
      delivery->lost = delivery->revoked = true;
      revoked.push_back(delivery);
    } else if (all_.emplace(delivery->holding(), delivery).second) {
      delivery->start_by = now + times_.renew_after;
      waiting_.push_back(delivery);  // otherwise a repeated claim returned what is held already
    }
  }
  return revoked;
}

DeliveryPtr Holdings::start_next(Instant now, int& given_back) {
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty()) {
    const DeliveryPtr next = waiting_.front();
    if (now < stop_work_at(next->trust.lease_until(), times_)) {
      waiting_.pop_front();
      next->phase = Phase::running;
      if (next->job.timeout > Duration{0}) next->times_out_at = now + next->job.timeout;
      return next;
    }
    give_back(next);
    given_back += 1;
  }
  return nullptr;
}

bool Holdings::has_waiting() const {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

bool Holdings::returned(const DeliveryPtr& delivery, Outcome outcome) {
  const std::lock_guard lock(mutex_);
  delivery->times_out_at.reset();
  delivery->ignores_at.reset();
  crowded_ = false;
  if (delivery->lost) {
    all_.erase(delivery->holding());
    if (delivery->revoked) stopped_[delivery->holding()] = delivery->ended_by;
    return false;
  }
  delivery->phase = Phase::returned;
  delivery->outcome = std::move(outcome);
  return true;
}

int Holdings::give_back_waiting() {
  const std::lock_guard lock(mutex_);
  const int count = static_cast<int>(waiting_.size());
  while (!waiting_.empty()) give_back(DeliveryPtr(waiting_.front()));
  return count;
}

std::vector<DeliveryPtr> Holdings::running() const {
  const std::lock_guard lock(mutex_);
  std::vector<DeliveryPtr> found;
  for (const auto& [holding, delivery] : all_) {
    if (delivery->phase == Phase::running) found.push_back(delivery);
  }
  return found;
}

void Holdings::stop_renewing_running() {
  const std::lock_guard lock(mutex_);
  for (const auto& [holding, delivery] : all_) {
    if (delivery->phase == Phase::running) delivery->renewable = false;
  }
}

std::optional<Instant> Holdings::next_renewal() const {
  const std::lock_guard lock(mutex_);
  std::optional<Instant> earliest;
  for (const auto& [holding, delivery] : all_) take_earlier(earliest, next_try(*delivery, times_));
  for (const DeliveryPtr& delivery : late_) take_earlier(earliest, delivery->ended_by);
  return earliest;
}

std::optional<Instant> Holdings::next_end_of_lost() const {
  const std::lock_guard lock(mutex_);
  std::optional<Instant> earliest;
  for (const DeliveryPtr& delivery : late_) take_earlier(earliest, delivery->ended_by);
  return earliest;
}

Holdings::Renewal Holdings::begin_renewal(Instant now) {
  const std::lock_guard lock(mutex_);
  Renewal renewal;
  std::set<JobId> named;
  // From the back: of two fences of one job the newer one may be alive.
  for (auto it = all_.rbegin(); it != all_.rend(); ++it) {
    const DeliveryPtr& delivery = it->second;
    // After a pause several tries lie behind us; they are one.
    while (next_try(*delivery, times_).value_or(Instant::max()) <= now) ++delivery->tries;
    if (!may_renew(*delivery) || now >= delivery->trust.lease_until()) continue;
    if (named.insert(delivery->job.id).second) renewal.live.push_back(delivery);
  }
  std::reverse(renewal.live.begin(), renewal.live.end());
  std::erase_if(late_, [&](const DeliveryPtr& delivery) {
    if (now < delivery->ended_by) return false;
    if (named.insert(delivery->job.id).second) renewal.late.push_back(delivery);
    return true;  // one that we hold anew has no refusal left to see
  });
  return renewal;
}

void Holdings::put_off(const std::vector<DeliveryPtr>& late, Instant again) {
  const std::lock_guard lock(mutex_);
  for (const DeliveryPtr& delivery : late) {
    if (++delivery->tries >= kLateTries) continue;
    delivery->ended_by = again;
    late_.push_back(delivery);
  }
}

bool Holdings::renewed(const DeliveryPtr& delivery, Instant answered_at, Duration left) {
  const std::lock_guard lock(mutex_);
  if (!may_renew(*delivery) || answered_at >= delivery->trust.lease_until()) return false;
  delivery->tries = 0;
  delivery->ended_by = answered_at + left;
  return true;
}

bool Holdings::refused(const DeliveryPtr& delivery, Instant now) {
  const std::lock_guard lock(mutex_);
  delivery->renewable = false;
  // Settled in the meantime, or about to be told so: the answer to its outcome is the one that counts.
  if (delivery->lost || delivery->phase == Phase::returned || !all_.contains(delivery->holding())) return false;
  give_up(delivery, now);
  return true;
}

Holdings::Overdue Holdings::overdue(Instant now) {
  const std::lock_guard lock(mutex_);
  Overdue overdue;
  for (const auto& [holding, delivery] : all_) {
    if (delivery->ignores_at && now >= *delivery->ignores_at) {
      delivery->ignores_at.reset();
      delivery->renewable = false;  // one that hangs must not keep its job from others for ever
      overdue.ignoring.push_back({delivery, delivery->lost});
    }
    if (delivery->lost) continue;
    if (delivery->times_out_at && now >= *delivery->times_out_at) {
      delivery->times_out_at.reset();
      delivery->ignores_at = now + 2 * stop_grace(times_);  // a command that is killed after the first is gone by then
      overdue.timed_out.push_back(delivery);
    }
    const Instant trusted = delivery->trust.lease_until();
    switch (delivery->phase) {
      case Phase::waiting:
        // Behind handlers that take long it would wait on, renewed for ever, while others have nothing to do (J8).
        if (now < unstarted_until(*delivery, times_)) break;
        give_back(delivery);
        crowded_ = true;
        overdue.given_back += 1;
        break;
      case Phase::running:
        if (!delivery->told && now >= stop_work_at(trusted, times_)) {
          delivery->told = true;
          overdue.told.push_back(delivery);
        }
        if (now >= trusted) overdue.lost.push_back(delivery);
        break;
      case Phase::returned:
        if (now < trusted) break;
        delivery->lost = true;  // nobody works under it; its outcome is still sent
        delivery->notes.close();
        break;
    }
  }
  for (const DeliveryPtr& delivery : overdue.lost) {
    give_up(delivery, now);
    late_.push_back(delivery);
  }
  return overdue;
}

std::optional<Instant> Holdings::next_deadline() const {
  const std::lock_guard lock(mutex_);
  std::optional<Instant> earliest;
  for (const auto& [holding, delivery] : all_) {
    take_earlier(earliest, delivery->ignores_at);
    if (delivery->lost) continue;
    take_earlier(earliest, delivery->times_out_at);
    const Instant trusted = delivery->trust.lease_until();
    const bool ends_next = delivery->told || delivery->phase == Phase::returned;
    if (delivery->phase == Phase::waiting) take_earlier(earliest, unstarted_until(*delivery, times_));
    else take_earlier(earliest, ends_next ? trusted : stop_work_at(trusted, times_));
  }
  return earliest;
}

std::vector<Settlement> Holdings::outcomes(std::size_t most, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  std::vector<Settlement> found;
  std::size_t taken = 0;
  for (const auto& [holding, delivery] : all_) {
    if (found.size() == most) break;
    if (delivery->phase != Phase::returned) continue;
    if (!found.empty() && found.back().id == holding.id) continue;
    taken += delivery->outcome.result.size();
    if (!found.empty() && taken > bytes) break;
    found.push_back({holding.id, holding.fence, delivery->outcome});
  }
  return found;
}

DeliveryPtr Holdings::find(const Holding& holding) const {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(holding);
  return found == all_.end() ? nullptr : found->second;
}

void Holdings::settled(const Holding& holding) {
  const std::lock_guard lock(mutex_);
  all_.erase(holding);
}

// Nobody has worked on it: it goes back as it came.
void Holdings::give_back(const DeliveryPtr& delivery) {
  delivery->phase = Phase::returned;
  delivery->outcome = Outcome{.kind = OutcomeKind::given_back};
  std::erase(waiting_, delivery);
}

// A handler that runs keeps its place until it returns; what never ran is forgotten.
void Holdings::give_up(const DeliveryPtr& delivery, Instant now) {
  delivery->lost = true;
  delivery->notes.close();
  delivery->tries = 0;
  delivery->times_out_at.reset();
  if (delivery->phase == Phase::running) delivery->ignores_at = now + stop_grace(times_);
  if (delivery->phase != Phase::waiting) return;
  std::erase(waiting_, delivery);
  all_.erase(delivery->holding());
}

}  // namespace fenceline
