#include "backends/postgres/claim_cursors.hpp"

#include <algorithm>

namespace fenceline::postgres {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds{1};
constexpr int kShareOfLooks = 20;  // of all the time, looks from the beginning take at most a twentieth
constexpr Duration kLookAtLeastEvery = std::chrono::seconds{10};
constexpr std::size_t kPlacesMost = 10'000;  // then all are forgotten: they are hints

}  // namespace

std::vector<ClaimCursor> ClaimCursors::for_claim(const ClaimRequest& request, Instant now) const {
  const std::lock_guard lock(mutex_);
  std::vector<ClaimCursor> cursors;
  std::int32_t number = 0;
  for (const std::string& queue : request.queues) {
    ++number;
    const auto found = places_.find({request.ns, request.stage, queue});
    if (found == places_.end() || found->second.by_rank.empty()) return {};
    const Place& place = found->second;
    const Duration pause =
        std::max(place.came_short ? Duration{0} : kLookEvery, std::min(place.took * kShareOfLooks, kLookAtLeastEvery));
    if (now - place.looked > pause) return {};
    for (const auto& [rank, last] : place.by_rank) cursors.push_back({number, rank, last.first, last.second});
  }
  return cursors;
}

void ClaimCursors::learn(const ClaimRequest& request, bool rescanned, bool came_short,
                         const std::vector<ClaimCursor>& granted, Instant sent, Instant answered) {
  const std::lock_guard lock(mutex_);
  if (places_.size() > kPlacesMost) places_.clear();
  std::int32_t number = 0;
  for (const std::string& queue : request.queues) {
    ++number;
    Place& place = places_[{request.ns, request.stage, queue}];
    std::map<std::int16_t, std::pair<std::int64_t, std::int64_t>> last;
    for (const ClaimCursor& cursor : granted) {
      if (cursor.queue != number) continue;
      auto& at = last.try_emplace(cursor.rank, cursor.run_at, cursor.seq).first->second;
      at = std::max(at, std::pair(cursor.run_at, cursor.seq));
    }
    for (const auto& [rank, at] : last) {
      auto& known = place.by_rank.try_emplace(rank, at).first->second;
      // A look from the beginning may have met something behind the cursor, with more of it to come.
      known = rescanned ? at : std::max(known, at);
    }
    place.came_short = came_short;
    if (!rescanned) continue;
    place.looked = answered;
    place.took = answered - sent;
  }
}

}  // namespace fenceline::postgres
