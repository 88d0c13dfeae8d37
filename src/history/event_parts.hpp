// Parts of events that the files of the store's verbs share.
#pragma once

#include <string>
#include <vector>

#include "history/history_store.hpp"

namespace fenceline::history {

// What an answer says by itself; what it brings comes on top.
template <class Reply>
Event as_event(const Result<Reply>& reply) {
  if (reply) return {.kind = Kind::ok};
  return {.kind = kind_of(reply.error()), .code = std::string(to_string(reply.error().code))};
}

inline std::int64_t micros(WallTime at) { return at.time_since_epoch().count(); }

// What requests and replies consist of, as events carry it.
JobPart part(const NewJob& job);
JobPart part(const Holding& holding);
JobPart part(const JobId& id);
JobPart part(const Refusal& refusal);
JobPart part(const ActRefusal& refusal);
JobPart part(const Note& note);
JobPart part(const Settlement& settlement);
JobPart part(const Job& job);
JobPart part(const ClaimedJob& claimed);
JobPart part(const std::string& name);
JobPart part(const LockHolding& holding);
JobPart part(const LockGrant& grant);
JobPart part(const LockRefusal& refusal);
JobPart part(const ItemChange& change);
JobPart part(const FiredTick& fired);
JobPart part(const SkippedTicks& range);

template <class Items>
std::vector<JobPart> parts(const Items& items) {
  std::vector<JobPart> all;
  all.reserve(items.size());
  for (const auto& item : items) all.push_back(part(item));
  return all;
}

}  // namespace fenceline::history
