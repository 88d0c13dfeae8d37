// What to do next with an item: at most one write, with its reason. Pure: it depends on the pipeline, the item as it
// was read, who asks, and the tracker's clock. If a worker is killed between any two writes, the same function, called
// by anybody later, repairs what it left.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "model/job.hpp"
#include "tracker/ledger.hpp"
#include "tracker/protocol.hpp"

namespace fenceline::tracker {

enum class StepKind {
  nothing,
  read_moves,    // who moved its labels must be known first: read again, with moves
  claim,         // post `marker`
  record,        // post `marker`
  add_labels,    // `labels`
  remove_label,  // the only one of `labels`
  set_status,    // the only one of `labels`
  close,
  erase,  // `comment`, of our own account
};
std::string_view to_string(StepKind kind);

struct Step {
  StepKind kind = StepKind::nothing;
  std::string reason = {};  // a word or two, for logs: "half_done"
  Marker marker = {};       // without worker and nonce
  std::vector<std::string> labels = {};
  CommentId comment = {};
  std::optional<WallTime> again = {};  // of nothing: when it may be otherwise by itself
};

struct Self {
  Account account;
  std::vector<std::string> places;  // at which this worker works
  bool sweeps = false;              // it also repairs what others left
};

// `item` has its state; moves too, if a step asked for them.
Step next_step(const Protocol& protocol, const Item& item, const Ledger& ledger, const Self& self, WallTime now);

// The first label (or status, or open and closed) that is not as the comments have it; nothing if all are. Labels of
// others are left alone, and those that a living claim needs are kept (T3). What people closed is never opened again.
Step mirror_step(const Protocol& protocol, const ItemState& state, const Ledger& ledger);

// Whether somebody who may not keeps moving the item, even if no label is wrong just now. `item` has its moves.
bool is_fought_over(const Protocol& protocol, const Item& item, WallTime now);
// Why the work under a live claim must stop: a person closed or moved the item, took it out of the pipeline or deleted
// the claim; or somebody else has written the outcome. What it comes to must not count as done.
struct Interruption {
  bool read_moves = false;  // who did it must be known first: ask again with moves
  std::string reason = {};  // "closed", "moved", "taken_out", "claim_deleted", "contested", "superseded"; empty: go on
};
// `claim` is ours, as it was posted. A read that is older than the claim interrupts nothing.
Interruption interruption(const Protocol& protocol, const Item& item, const Ledger& ledger, const Claim& claim);

// What a trusted person has commanded since `after`, by a comment or by moving labels, whatever else is going on.
// `item` has its moves.
std::optional<Step> command_since(const Protocol& protocol, const Item& item, const Ledger& ledger, WallTime after);
// Leaves it to people.
Step contest_step(const Ledger& ledger, std::string why, std::string by = {});

// What an outcome at the ledger's place means for the item: the record to post, or to erase the claim if nothing must
// be remembered. `claim` is ours.
Step outcome_step(const Protocol& protocol, const Ledger& ledger, const Claim& claim, OutcomeKind outcome);

// The same, if the handler asked that the item goes back to `to`, or to its entry condition if it has one. Empty: `to`
// is not an earlier stage, or the item waits for an entry condition.
std::optional<Step> back_step(const Protocol& protocol, const Ledger& ledger, const Claim& claim, std::string_view to);

}  // namespace fenceline::tracker
