// What all workers of one tracker agree on. The protocol in short:
//
// - Comments decide. Records (marker.hpp) by the workers' accounts say where an item is; each record with a `to` begins
//   the next generation. A claim is valid for one generation; the smallest valid live claim has the item (T1, T2;
//   ledger.hpp).
// - Labels show this to people, and are how people command (steps.hpp). A worker writes the comment first and the
// labels
//   after it, so that anybody can read from the comments what is unfinished, and repair it (P2). Labels are added
//   before others are removed: an item is always in a list.
// - To claim: read; if nobody has the item, post a claim that names the dead ones; read back. The smallest claim works,
//   the others withdraw their own (T3).
// - To advance: read; if the generation is still the claim's, post the record. The first valid record of a generation
//   counts, a later one is void (T4).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/pipeline.hpp"
#include "tracker/marker.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::tracker {

inline constexpr Duration kTtlDefault = std::chrono::seconds{600};
inline constexpr int kLossesMax = 5;         // so many claims at one place run out before it is left to people
inline constexpr int kMovesAnHourMax = 100;  // of an item's labels by workers; beyond it somebody fights with them
inline constexpr int kMeddlingMost = 4;      // moments in an hour at which somebody who may not has moved an item
inline constexpr Duration kAgainDefault = std::chrono::minutes{10};  // of an attempt that asked to come again

inline constexpr std::string_view kStagePrefix = "stage:";
inline constexpr std::string_view kProcessing = "processing";
inline constexpr std::string_view kClaimedLabel = "claimed";
inline constexpr std::string_view kContestedLabel = "contested";
inline constexpr std::string_view kHoldLabel = "hold";

struct Protocol {
  PipelineSpec pipeline;
  Signing signing = {};
  std::vector<std::string> workers = {};  // ids of the accounts that workers use
  std::vector<std::string> people = {};   // ids of the accounts whose moves are commands and whose approvals count
  Capabilities can = {};
  bool claim_label = true;  // false: a claim changes no label, for trackers where bots react to them
  std::string claimed = std::string(kClaimedLabel);  // the label of a claimed item
  std::string in_progress = {};  // the label or status of an item that is worked on; empty: that of `processing`
  Duration settled = std::chrono::seconds{
      180};  // for so long a write may not be visible to everybody, and what looks unfinished is left to its writer

  bool is_worker(const Account& account) const;
  bool is_trusted(const Account& account) const;  // never a worker's account
  Duration ttl_of(std::string_view place) const;
  // "stage:review", or the status "review"; of `processing` what the pipeline's file calls it.
  std::string label_of(std::string_view place) const;
  // Which place a label or status is of; `processing` too. Empty: none of ours.
  std::string place_of(std::string_view label) const;
  bool has_place(std::string_view place) const;
  // Labels of ours as we spell them: some trackers show them in the letters in which somebody made them first.
  void spell(std::vector<std::string>& labels) const;
  void spell(Item& item) const;
};

// Where an item is after work at `place` was accepted, or it was let in: a stage, `gate:S`, or `done`. Automatic
// conditions are passed at once.
std::string place_after(const PipelineSpec& spec, std::string_view place);
// Of a stage: the one before; of `gate:S`: the stage before S; the first one stays.
std::string place_before(const PipelineSpec& spec, std::string_view place);
// Where somebody who wants an item at `place` gets it: to the wait for its entry condition, if it has one.
std::string place_to_enter(const PipelineSpec& spec, std::string_view place);
// Whether a person may move an item from there; from a place that is not in the pipeline any more: anywhere.
bool may_move_to(const PipelineSpec& spec, std::string_view from, std::string_view to);
// The stage's index, of `gate:S` that of S. Empty: no place of the pipeline.
std::optional<Position> find_place(const PipelineSpec& spec, std::string_view place);
std::string place_name(const PipelineSpec& spec, Position position);

// Whether a pipeline can be used on a tracker. Errors: refused, with what to use instead; invalid.
Result<void> check_protocol(const Protocol& protocol);

// In the order of T1.
bool comes_before(const Comment& a, const Comment& b, const Capabilities& can);

}  // namespace fenceline::tracker
