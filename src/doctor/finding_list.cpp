#include "doctor/finding_list.hpp"

#include <algorithm>
#include <utility>

namespace fenceline::doctor {

void FindingList::add(FindingStatus status, std::string detail, std::string remedy, std::optional<WallTime> since) {
  found_.push_back({check_, status, std::move(detail), std::move(remedy), why_, since});
}

std::vector<Finding> FindingList::told(std::size_t most, std::string ok) && {
  if (found_.empty()) return {{check_, FindingStatus::ok, std::move(ok), "", "", {}}};
  // The worst first, and of these what lasts longest.
  std::ranges::stable_sort(found_, [](const Finding& a, const Finding& b) {
    if (a.status != b.status) return a.status > b.status;
    return a.since && b.since ? *a.since < *b.since : a.since.has_value() && !b.since;
  });
  const std::int64_t beside = untold_ + static_cast<std::int64_t>(found_.size() - std::min(found_.size(), most));
  if (beside == 0) return std::move(found_);
  const FindingStatus worst = found_.size() > most ? found_[most].status : FindingStatus::warning;
  found_.resize(std::min(found_.size(), most));
  found_.push_back({check_, worst, "and " + std::to_string(beside) + " more", look_, why_, {}});
  return std::move(found_);
}

}  // namespace fenceline::doctor
