#include "metrics/metered_tracker.hpp"

namespace fenceline::metrics {

using namespace tracker;

namespace {

constexpr std::int64_t kBudgetLow = 500;  // GitHub: of 5000 an hour

}  // namespace

template <class Call>
auto MeteredTracker::counted(std::string_view kind, Call call) -> decltype(call()) {
  const Instant asked = clock_.now();
  auto answer = call();
  count(kind, answer ? answer->served : answer.error().served, answer ? nullptr : &answer.error(), asked);
  return answer;
}

void MeteredTracker::count(std::string_view kind, const Served& served, const Trouble* trouble, Instant asked) {
  const Instant now = clock_.now();
  metrics_.add(Family::tracker_requests, {kind}, served.cost.requests);
  metrics_.observe(Family::store_call_seconds, {kOther}, seconds_of(now - asked));
  const std::optional<TroubleKind> what = trouble ? std::optional(trouble->kind) : std::nullopt;
  count_budget(served, what);
  const bool denied = what == TroubleKind::denied;
  const bool away = what == TroubleKind::unavailable || what == TroubleKind::in_doubt;
  set_finding("tracker_token", denied ? FindingStatus::bad : FindingStatus::ok);
  set_finding("store_away", away ? FindingStatus::bad : FindingStatus::ok);
  if (!denied && !away) return metrics_.answered(now);
  metrics_.add(Family::store_errors, {kOther, denied ? std::string_view(kOther) : to_string(*what)});
  metrics_.not_answered();
}

// As `fenceline doctor` judges it.
void MeteredTracker::count_budget(const Served& served, std::optional<TroubleKind> what) {
  if (served.limit) metrics_.set(Family::tracker_budget_left, static_cast<double>(served.limit->left));
  if (what == TroubleKind::limited || (served.limit && served.limit->left == 0))
    return set_finding("tracker_budget", FindingStatus::bad);
  if (served.limit)
    set_finding("tracker_budget", served.limit->left < kBudgetLow ? FindingStatus::warning : FindingStatus::ok);
}

void MeteredTracker::set_finding(std::string_view check, FindingStatus status) {
  metrics_.set(Family::finding, {check}, static_cast<double>(status));
}

Answer<Account> MeteredTracker::who_am_i() {
  return counted("read", [&] { return inner_.who_am_i(); });
}
Answer<std::vector<ItemState>> MeteredTracker::list(const ListRequest& request) {
  return counted("read", [&] { return inner_.list(request); });
}
Answer<tracker::Item> MeteredTracker::read(const ReadRequest& request) {
  return counted("read", [&] { return inner_.read(request); });
}
Answer<LabelsAfter> MeteredTracker::add_labels(const ItemId& item, const std::vector<std::string>& labels) {
  return counted("write", [&] { return inner_.add_labels(item, labels); });
}
Answer<LabelsAfter> MeteredTracker::remove_label(const ItemId& item, const std::string& label) {
  return counted("write", [&] { return inner_.remove_label(item, label); });
}
Answer<Nothing> MeteredTracker::set_status(const ItemId& item, const std::string& status) {
  return counted("write", [&] { return inner_.set_status(item, status); });
}
Answer<Nothing> MeteredTracker::set_open(const ItemId& item, bool open) {
  return counted("write", [&] { return inner_.set_open(item, open); });
}
Answer<Comment> MeteredTracker::post(const ItemId& item, const std::string& text) {
  return counted("write", [&] { return inner_.post(item, text); });
}
Answer<Comment> MeteredTracker::edit(const ItemId& item, const CommentId& comment, const std::string& text) {
  return counted("write", [&] { return inner_.edit(item, comment, text); });
}
Answer<Nothing> MeteredTracker::erase(const ItemId& item, const CommentId& comment) {
  return counted("write", [&] { return inner_.erase(item, comment); });
}
Answer<Swapped> MeteredTracker::swap(const SwapRequest& request) {
  return counted("write", [&] { return inner_.swap(request); });
}

}  // namespace fenceline::metrics
