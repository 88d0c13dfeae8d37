#include "tracker/patient_tracker.hpp"

#include <algorithm>

namespace fenceline::tracker {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds{1};
constexpr Duration kPauseMost = std::chrono::minutes{1};

}  // namespace

// With up to a quarter more, so that those who were shut out together do not come back together.
bool PatientTracker::wait(Duration duration, Instant give_up_at) {
  const Duration jitter{
      static_cast<Duration::rep>(runtime_.random() % static_cast<std::uint64_t>(duration.count() / 4 + 1))};
  const Instant until = runtime_.now() + duration + jitter;
  return until <= give_up_at && runtime_.sleep_until(until, patience_.stop);
}

template <class Call>
auto PatientTracker::patiently(CallKind kind, Call call) -> decltype(call()) {
  const Instant give_up_at = runtime_.now() + patience_.most;
  Cost spent;
  Duration pause = kFirstPause;
  while (true) {
    if (const Duration shut = budget_.take(kind, patience_.urgency, runtime_.now()); shut > Duration{0}) {
      if (wait(shut, give_up_at)) continue;
      Trouble trouble{TroubleKind::limited, "the budget for " + tracker_.place() + " is used up", shut, {}};
      trouble.served.cost = spent;
      return std::unexpected(std::move(trouble));
    }
    auto answer = call();
    Served& served = answer ? answer->served : answer.error().served;
    budget_.served(served, runtime_.now());
    spent += served.cost;
    served.cost = spent;
    if (answer || (answer.error().kind != TroubleKind::limited && answer.error().kind != TroubleKind::unavailable)) {
      if (kind == CallKind::write) budget_.unlimited();
      return answer;
    }
    if (answer.error().kind == TroubleKind::limited) {
      budget_.limited(answer.error().come_back, runtime_.now());
      continue;
    }
    if (!wait(pause, give_up_at)) return answer;
    pause = std::min(2 * pause, kPauseMost);
  }
}

Answer<Account> PatientTracker::who_am_i() {
  return patiently(CallKind::read, [&] { return tracker_.who_am_i(); });
}
Answer<std::vector<ItemState>> PatientTracker::list(const ListRequest& request) {
  return patiently(CallKind::read, [&] { return tracker_.list(request); });
}
Answer<Item> PatientTracker::read(const ReadRequest& request) {
  return patiently(CallKind::read, [&] { return tracker_.read(request); });
}
Answer<LabelsAfter> PatientTracker::add_labels(const ItemId& item, const std::vector<std::string>& labels) {
  return patiently(CallKind::write, [&] { return tracker_.add_labels(item, labels); });
}
Answer<LabelsAfter> PatientTracker::remove_label(const ItemId& item, const std::string& label) {
  return patiently(CallKind::write, [&] { return tracker_.remove_label(item, label); });
}
Answer<Nothing> PatientTracker::set_status(const ItemId& item, const std::string& status) {
  return patiently(CallKind::write, [&] { return tracker_.set_status(item, status); });
}
Answer<Nothing> PatientTracker::set_open(const ItemId& item, bool open) {
  return patiently(CallKind::write, [&] { return tracker_.set_open(item, open); });
}
Answer<Comment> PatientTracker::post(const ItemId& item, const std::string& text) {
  return patiently(CallKind::write, [&] { return tracker_.post(item, text); });
}
Answer<Comment> PatientTracker::edit(const ItemId& item, const CommentId& comment, const std::string& text) {
  return patiently(CallKind::write, [&] { return tracker_.edit(item, comment, text); });
}
Answer<Nothing> PatientTracker::erase(const ItemId& item, const CommentId& comment) {
  return patiently(CallKind::write, [&] { return tracker_.erase(item, comment); });
}
Answer<Swapped> PatientTracker::swap(const SwapRequest& request) {
  return patiently(CallKind::write, [&] { return tracker_.swap(request); });
}

}  // namespace fenceline::tracker
