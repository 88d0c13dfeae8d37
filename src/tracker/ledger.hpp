// What the comments of an item say: where it is, who has it, what people said. A pure function of the comments and the
// tracker's clock: whoever reads the same sees the same (T1).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "tracker/protocol.hpp"

namespace fenceline::tracker {

// A valid claim of the item's generation (T2): by a worker's account, its text exact, its edits only its own renewals,
// not a copy of another. It may be over.
struct Claim {
  CommentId id;
  Marker marker;
  WallTime posted{};
  WallTime ends{};  // its ttl, clamped, after its creation or last renewal by the tracker's stamp, and never later than
                    // its own signed word allows
  bool dead = false;  // named by a later claim or a record, or ended

  bool operator==(const Claim&) const = default;
};

struct Said {
  CommentId id;
  Account by;
  Command command;
  WallTime at{};

  bool operator==(const Said&) const = default;
};

struct Ledger {
  std::int64_t generation = 1;
  std::string place;            // a stage, `gate:S`, `done` or `dead`
  WallTime since{};             // when a record put it there; the epoch: none did
  std::vector<Claim> claims;    // of this generation, in the order of T1
  std::optional<Claim> holder;  // the first of them that is alive
  std::vector<CommentId>
      dead;          // claims of this generation that have run out, or were named as such: what a new claim names
  int failures = 0;  // in this generation
  std::optional<WallTime> not_before;  // after a failure, or if its worker asked to come again
  int returns = 0;                     // to earlier stages, all in all
  std::optional<WallTime> restored;    // the last time in which a move by somebody was put back
  std::optional<WallTime> contested;   // since when; left to people until one of them moves it
  std::string contested_why;
  bool held = false;            // by a trusted person's word
  std::vector<Said> approvals;  // of this generation, each person's first
  std::optional<Said>
      order;  // the first /move or /reject of a trusted person in this generation, or /release of what is contested
  std::vector<std::string> visited;            // places that records have put it to
  std::map<std::string, std::string> outputs;  // by stage: Marker::output of its last record, for the next stage
  std::vector<CommentId> copies;  // of markers: posted again, or carried here from another item. They count as nothing
  bool unreadable = false;        // there are signed markers, and no key here, or none that fits any of them
  std::vector<CommentId> leftovers;  // claims and records of our account that decide nothing any more: may be erased
};

// `self`: the account that this worker uses; only its comments can be leftovers.
Ledger read_ledger(const Protocol& protocol, const ItemId& item, std::vector<Comment> comments, const Account& self,
                   WallTime now);

}  // namespace fenceline::tracker
