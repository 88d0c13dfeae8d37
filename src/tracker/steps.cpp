#include "tracker/steps.hpp"

#include <algorithm>
#include <set>

#include "tracker/output_note.hpp"

namespace fenceline::tracker {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

bool contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::ranges::find(texts, text) != texts.end();
}

constexpr std::size_t kCommentsContested = kCommentsMax - 100;  // so that people can still be told

Step nothing(std::string reason, std::optional<WallTime> again = std::nullopt) {
  return {.kind = StepKind::nothing, .reason = std::move(reason), .again = again};
}

Marker record_of(MarkerKind kind, const Ledger& ledger, std::string to, std::string why) {
  Marker marker{.kind = kind, .generation = ledger.generation, .stage = ledger.place};
  marker.to = std::move(to);
  marker.why = std::move(why);
  return marker;
}

Step write_record(Marker marker, std::string reason) {
  return {.kind = StepKind::record, .reason = std::move(reason), .marker = std::move(marker)};
}

// Back to an earlier stage, or to people after too many times.
Step send_back(const Protocol& protocol, const Ledger& ledger, std::string to, std::string why, std::string by) {
  const bool too_often = ledger.returns >= protocol.pipeline.loops;
  Marker marker = too_often ? record_of(MarkerKind::contested, ledger, {}, "loops")
                            : record_of(MarkerKind::returned, ledger, std::move(to), std::move(why));
  marker.by = std::move(by);
  return write_record(std::move(marker), too_often ? "loops" : "returned");
}

class Deciding {
 public:
  Deciding(const Protocol& protocol, const Item& item, const Ledger& ledger, const Self& self, WallTime now)
      : protocol_(protocol), item_(item), state_(*item.state), ledger_(ledger), self_(self), now_(now) {}

  Step decide() const {
    if (ledger_.unreadable) return nothing("signed");
    if (ledger_.place == kDone) return done();
    if (!state_.open) return nothing("closed");
    if (ledger_.contested) return contested();
    if (item_.comments.size() >= kCommentsContested) return contest_step(ledger_, "comments");
    if (ledger_.order) return obey(*ledger_.order);
    if (ledger_.holder && now_ < held_since() + protocol_.settled) return nothing("held", ledger_.holder->ends);
    if (const std::optional<Step> step = misplaced()) return *step;
    if (ledger_.holder) return nothing("held", ledger_.holder->ends);
    if (!protocol_.has_place(ledger_.place))
      return ledger_.place == kDead ? tidied("dead") : contest_step(ledger_, "unknown_stage");
    if (ledger_.held || contains(state_.labels, kHoldLabel)) return tidied("on_hold");
    if (const std::optional<Step> step = entry()) return *step;
    if (ledger_.not_before && *ledger_.not_before > now_) return tidied("waits", ledger_.not_before);
    if (static_cast<int>(ledger_.dead.size()) >= kLossesMax) return contest_step(ledger_, "losses");
    if (!contains(self_.places, ledger_.place)) return tidied("not_ours");
    if (!handed_on(protocol_, item_.comments, ledger_)) {
      if (now_ < ledger_.since + protocol_.settled) return nothing("in_flux", ledger_.since + protocol_.settled);
      return contest_step(ledger_, std::string(kOutputMissing));
    }
    return claim();
  }

  // Her command, if she moved it after that.
  std::optional<Step> command_after(WallTime after) const {
    if (ledger_.order) return obey(*ledger_.order);
    const std::optional<Odd> strange = odd();
    if (!strange || !strange->move || strange->move->at < after || !protocol_.is_trusted(strange->move->by) ||
        !may_move_to(protocol_.pipeline, ledger_.place, strange->place))
      return std::nullopt;
    return command(strange->place, strange->move->by);
  }

  // Out of every stage, by a trusted person after that.
  bool was_taken_out_after(WallTime after) const {
    if (in_a_stage()) return false;
    const std::optional<Move> last = last_taken_off();
    return last && last->at >= after && protocol_.is_trusted(last->by);
  }

  // On a tracker without labels a status closes an item.
  bool was_closed_by_a_worker() const {
    const MoveKind kind = protocol_.can.labels ? MoveKind::closed : MoveKind::status_set;
    for (auto move = item_.moves->rbegin(); move != item_.moves->rend(); ++move) {
      if (move->kind == kind || move->kind == MoveKind::closed) return protocol_.is_worker(move->by);
    }
    return false;
  }

 private:
  // A label of ours at which the item is not, and who put it there.
  struct Odd {
    std::string label;
    std::string place;
    std::optional<Move> move;  // the last one that did it; none: the history does not tell
  };

  WallTime held_since() const { return ledger_.holder->ends - protocol_.ttl_of(ledger_.place); }

  std::vector<std::string> shown() const {
    return protocol_.can.labels ? state_.labels : std::vector<std::string>{state_.status};
  }

  std::optional<Move> last_move(MoveKind kind, std::string_view what) const {
    if (!item_.moves) return std::nullopt;
    const auto found = std::find_if(item_.moves->rbegin(), item_.moves->rend(),
                                    [&](const Move& move) { return move.kind == kind && move.what == what; });
    return found == item_.moves->rend() ? std::nullopt : std::optional(*found);
  }

  MoveKind put_kind() const { return protocol_.can.labels ? MoveKind::label_added : MoveKind::status_set; }

  std::optional<Odd> odd() const {
    std::optional<Odd> found;
    for (const std::string& label : shown()) {
      const std::string place = protocol_.place_of(label);
      if (place.empty() || place == kProcessing || place == ledger_.place) continue;
      Odd next{label, place, last_move(put_kind(), label)};
      // Of several the one that was put there last.
      if (!found || (next.move && (!found->move || next.move->at >= found->move->at))) found = std::move(next);
    }
    return found;
  }

  bool in_a_stage() const {
    return std::ranges::any_of(shown(),
                               [this](const std::string& label) { return !protocol_.place_of(label).empty(); });
  }
  bool was_in_the_pipeline() const { return ledger_.since != WallTime{} || !ledger_.claims.empty(); }

  // Who took it out of the pipeline, if it ever was there.
  std::optional<Move> last_taken_off() const {
    std::optional<Move> last;
    bool was_there = was_in_the_pipeline();
    for (const Move& move : *item_.moves) {
      const bool ours = !protocol_.place_of(move.what).empty();
      if (move.kind == MoveKind::label_removed && ours) last = move;
      if (move.kind == MoveKind::status_set && !ours && was_there) last = move;
      was_there = was_there || ours;
    }
    return last;
  }

  // Labels at which the item is not: a command, somebody's meddling, or half done by one of us.
  std::optional<Step> misplaced() const {
    const std::optional<Odd> strange = odd();
    if (!strange && in_a_stage()) return std::nullopt;
    if (!strange && !was_in_the_pipeline() && !self_.sweeps) return nothing("in_no_stage");
    if (!item_.moves)
      return protocol_.can.moves ? Step{.kind = StepKind::read_moves, .reason = "misplaced"} : half_done(ledger_.since);
    if (is_fought_over(protocol_, item_, now_))
      return ledger_.holder ? nothing("held", ledger_.holder->ends) : contest_step(ledger_, "moved_again");
    if (!strange) return taken_out();
    const std::optional<Move>& move = strange->move;
    if (!move || move->at <= ledger_.since) return half_done(ledger_.since);
    if (protocol_.is_trusted(move->by) && may_move_to(protocol_.pipeline, ledger_.place, strange->place))
      return command(strange->place, move->by);
    if (!protocol_.is_worker(move->by)) return put_back(*move);
    // No worker writes labels before its record: that one is gone. A late write is of a place where it has been.
    const bool was_there =
        contains(ledger_.visited, strange->place) || strange->place == protocol_.pipeline.first().name;
    if (!was_there && now_ >= move->at + protocol_.settled && !ledger_.holder)
      return contest_step(ledger_, "record_missing");
    return half_done(move->at);
  }

  Step taken_out() const {
    const std::optional<Move> last = last_taken_off();
    if (!last) return nothing("in_no_stage");
    if (protocol_.is_trusted(last->by)) return nothing("taken_out");
    return protocol_.is_worker(last->by) ? half_done(last->at) : put_back(*last);
  }

  Step half_done(WallTime since) const {
    if (now_ < since + protocol_.settled) return nothing("in_flux", since + protocol_.settled);
    if (item_.moves) {
      const auto ours = std::ranges::count_if(*item_.moves, [this](const Move& move) {
        return protocol_.is_worker(move.by) && move.at > now_ - std::chrono::hours{1};
      });
      if (ours > kMovesAnHourMax && !ledger_.holder) return contest_step(ledger_, "moves");
    }
    Step step = mirror_step(protocol_, state_, ledger_);
    step.reason = "half_done";
    return step;
  }

  // By somebody who may not: once it is put back, then it is left to people.
  Step put_back(const Move& move) const {
    const bool lately = ledger_.restored && *ledger_.restored > now_ - std::chrono::hours{1};
    if (!lately) {
      Marker marker = record_of(MarkerKind::restored, ledger_, {}, {});
      marker.by = move.by.id;
      return write_record(std::move(marker), "put_back");
    }
    if (move.at > *ledger_.restored)
      return ledger_.holder ? nothing("held", ledger_.holder->ends) : contest_step(ledger_, "moved_again", move.by.id);
    Step step = mirror_step(protocol_, state_, ledger_);
    step.reason = "put_back";
    return step;
  }

  // A move by a trusted person: no further than to the entry condition (P1).
  Step command(const std::string& place, const Account& by) const {
    return command_to(place == ledger_.place ? place : place_to_enter(protocol_.pipeline, place), by);
  }
  Step command_to(const std::string& place, const Account& by) const {
    Marker marker = record_of(MarkerKind::moved, ledger_, place, {});
    marker.by = by.id;
    return write_record(std::move(marker), "command");
  }

  Step obey(const Said& said) const {
    if (said.command.kind == CommandKind::reject) {
      const std::string to =
          said.command.stage.empty() ? place_before(protocol_.pipeline, ledger_.place) : said.command.stage;
      // Who says so of what was left to people is the person whom the cap on returns asks for.
      if (ledger_.contested) return command(to, said.by);
      return send_back(protocol_, ledger_, place_to_enter(protocol_.pipeline, to), "rejected", said.by.id);
    }
    return command(said.command.kind == CommandKind::move ? said.command.stage : ledger_.place, said.by);
  }

  Step contested() const {
    if (ledger_.order) return obey(*ledger_.order);
    if (!item_.moves && protocol_.can.moves) return {.kind = StepKind::read_moves, .reason = "contested"};
    if (!item_.moves) return nothing("contested");
    if (const std::optional<Odd> strange = odd();
        strange && strange->move && strange->move->at > *ledger_.contested && protocol_.is_trusted(strange->move->by)) {
      return command(strange->place, strange->move->by);
    }
    if (!protocol_.can.labels) return nothing("contested");
    const std::optional<Move> removed = last_move(MoveKind::label_removed, kContestedLabel);
    if (removed && removed->at > *ledger_.contested)
      return protocol_.is_trusted(removed->by) ? command(ledger_.place, removed->by) : nothing("contested");
    if (contains(state_.labels, kContestedLabel)) {
      // A void record would count for a reader that misses why it is void.
      if (ledger_.leftovers.empty()) return nothing("contested");
      return {.kind = StepKind::erase, .reason = "leftover", .comment = ledger_.leftovers.front()};
    }
    return {.kind = StepKind::add_labels, .reason = "contested", .labels = {std::string(kContestedLabel)}};
  }

  // The last advance closes the item before its labels are taken off, so that it stays in a list until it is closed.
  Step done() const {
    if (state_.open) {
      const std::optional<Odd> strange = odd();
      if (strange || !in_a_stage()) {
        if (!item_.moves && protocol_.can.moves) return {.kind = StepKind::read_moves, .reason = "reopened"};
        if (!strange && (!item_.moves || std::ranges::any_of(*item_.moves, [this](const Move& move) {
              return move.kind == MoveKind::closed && move.at >= ledger_.since;
            })))
          return nothing("done");
        if (strange && strange->move && strange->move->at > ledger_.since && protocol_.is_trusted(strange->move->by))
          return command(strange->place, strange->move->by);
      }
    }
    if (now_ < ledger_.since + protocol_.settled) return nothing("in_flux", ledger_.since + protocol_.settled);
    Step step = mirror_step(protocol_, state_, ledger_);
    step.reason = step.kind == StepKind::nothing ? "done" : "half_done";
    return step;
  }

  std::optional<Step> entry() const {
    const std::optional<Position> at = find_place(protocol_.pipeline, ledger_.place);
    if (!at->at_entry) return std::nullopt;
    const StageSpec& stage = protocol_.pipeline.stages[at->stage];
    if (stage.entry.kind != EntryKind::approval) return std::nullopt;
    const std::optional<WallTime> until = stage.entry.within > Duration{0} && ledger_.since != WallTime{}
                                              ? std::optional(ledger_.since + stage.entry.within)
                                              : std::nullopt;
    const bool in_time_only = until && stage.entry.then != EntryEnd::hold;
    const auto count =
        std::ranges::count_if(ledger_.approvals, [&](const Said& said) { return !in_time_only || said.at < *until; });
    if (count >= stage.entry.count)
      return write_record(record_of(MarkerKind::advanced, ledger_, stage.name, "approved"), "approved");
    if (!until || now_ < *until || stage.entry.then == EntryEnd::hold) return tidied("waits_for_approval", until);
    if (stage.entry.then == EntryEnd::approve)
      return write_record(record_of(MarkerKind::advanced, ledger_, stage.name, "overdue"), "overdue");
    return send_back(protocol_, ledger_, place_before(protocol_.pipeline, ledger_.place), "overdue", {});
  }

  Step claim() const {
    Marker marker{.kind = MarkerKind::claim, .generation = ledger_.generation, .stage = ledger_.place};
    marker.ttl = duration_cast<seconds>(protocol_.ttl_of(ledger_.place)).count();
    marker.over = ledger_.dead;
    return {.kind = StepKind::claim, .reason = marker.over.empty() ? "free" : "takeover", .marker = std::move(marker)};
  }

  // Nobody works on it: what a dead worker left on it is taken off, when its writer must have had its time, then what
  // decides nothing any more.
  Step tidied(std::string why, std::optional<WallTime> again = std::nullopt) const {
    if (self_.sweeps && now_ >= std::max(state_.updated_at, ledger_.since) + protocol_.settled) {
      if (Step step = mirror_step(protocol_, state_, ledger_); step.kind != StepKind::nothing) {
        step.reason = "half_done";
        return step;
      }
      if (!ledger_.leftovers.empty())
        return {.kind = StepKind::erase, .reason = "leftover", .comment = ledger_.leftovers.front()};
    }
    return nothing(std::move(why), again);
  }

  const Protocol& protocol_;
  const Item& item_;
  const ItemState& state_;
  const Ledger& ledger_;
  const Self& self_;
  const WallTime now_;
};

}  // namespace

std::string_view to_string(StepKind kind) {
  switch (kind) {
    case StepKind::nothing: return "nothing";
    case StepKind::read_moves: return "read_moves";
    case StepKind::claim: return "claim";
    case StepKind::record: return "record";
    case StepKind::add_labels: return "add_labels";
    case StepKind::remove_label: return "remove_label";
    case StepKind::set_status: return "set_status";
    case StepKind::close: return "close";
    case StepKind::erase: return "erase";
  }
  return "?";
}

Step next_step(const Protocol& protocol, const Item& item, const Ledger& ledger, const Self& self, WallTime now) {
  return Deciding(protocol, item, ledger, self, now).decide();
}

std::optional<Step> command_since(const Protocol& protocol, const Item& item, const Ledger& ledger, WallTime after) {
  const Self nobody{};
  return Deciding(protocol, item, ledger, nobody, after).command_after(after);
}

Interruption interruption(const Protocol& protocol, const Item& item, const Ledger& ledger, const Claim& claim) {
  const Marker& mine = claim.marker;
  if (ledger.generation < mine.generation) return {};
  if (ledger.generation > mine.generation || ledger.place != mine.stage) return {.reason = "superseded"};
  if (ledger.contested) return {.reason = "contested"};
  if (ledger.order) return {.reason = "moved"};
  const Self nobody{};
  const Deciding deciding(protocol, item, ledger, nobody, claim.posted);
  const bool closed = !item.state->open;
  Ledger as_held = ledger;
  as_held.holder = claim;
  const bool meddled = closed || mirror_step(protocol, *item.state, as_held).kind != StepKind::nothing;
  if (meddled && !item.moves && protocol.can.moves) return {.read_moves = true};
  if (closed && !(item.moves && deciding.was_closed_by_a_worker())) return {.reason = "closed"};
  if (meddled && !closed && item.moves) {
    if (deciding.command_after(claim.posted)) return {.reason = "moved"};
    if (deciding.was_taken_out_after(claim.posted)) return {.reason = "taken_out"};
  }
  const bool there = std::ranges::any_of(ledger.claims, [&](const Claim& each) { return each.id == claim.id; });
  if (!there && !contains(ledger.dead, claim.id)) return {.reason = "claim_deleted"};
  return {};
}

Step contest_step(const Ledger& ledger, std::string why, std::string by) {
  Marker marker = record_of(MarkerKind::contested, ledger, {}, why);
  marker.by = std::move(by);
  return write_record(std::move(marker), std::move(why));
}

bool is_fought_over(const Protocol& protocol, const Item& item, WallTime now) {
  std::set<WallTime> times;
  for (const Move& move : *item.moves) {
    const bool puts = move.kind == MoveKind::label_added || move.kind == MoveKind::status_set;
    if (puts && !protocol.place_of(move.what).empty() && !protocol.is_worker(move.by) &&
        !protocol.is_trusted(move.by) && move.at > now - std::chrono::hours{1})
      times.insert(move.at);
  }
  return static_cast<int>(times.size()) >= kMeddlingMost;
}

Step mirror_step(const Protocol& protocol, const ItemState& state, const Ledger& ledger) {
  const bool done = ledger.place == kDone;
  if (done && state.open) return {.kind = StepKind::close, .reason = "mirror"};
  if (!done && !state.open && !protocol.can.labels) return nothing("closed");  // any other status would open it again
  const bool working = ledger.holder && protocol.claim_label && !done;
  const std::string stage = protocol.label_of(working ? kProcessing : std::string_view(ledger.place));
  if (!protocol.can.labels) {
    if (done || state.status == stage) return nothing("mirrored");
    return {.kind = StepKind::set_status, .reason = "mirror", .labels = {stage}};
  }
  std::vector<std::string> wanted;
  if (!done) wanted.push_back(stage);
  if (working) wanted.push_back(protocol.claimed);
  std::vector<std::string> missing;
  for (const std::string& label : wanted) {
    if (!contains(state.labels, label)) missing.push_back(label);
  }
  if (!missing.empty()) return {.kind = StepKind::add_labels, .reason = "mirror", .labels = std::move(missing)};
  for (const std::string& label : state.labels) {
    const bool ours = !protocol.place_of(label).empty() || (protocol.claim_label && label == protocol.claimed);
    if (ours && !contains(wanted, label))
      return {.kind = StepKind::remove_label, .reason = "mirror", .labels = {label}};
  }
  return nothing("mirrored");
}

Step outcome_step(const Protocol& protocol, const Ledger& ledger, const Claim& claim, OutcomeKind outcome) {
  const std::optional<Position> at = find_place(protocol.pipeline, ledger.place);
  const StageSpec* stage = at ? &protocol.pipeline.stages[at->stage] : nullptr;
  const bool entry = at && at->at_entry;
  // Each look is a comment for everybody who follows the item.
  const Duration check_every = entry ? std::max(stage->entry.every, protocol.ttl_of(ledger.place)) : Duration{0};
  Step step{.kind = StepKind::record};
  const auto ended = [&](MarkerKind kind, std::string to, std::string why, Duration again = Duration{0}) {
    step.marker = record_of(kind, ledger, std::move(to), why);
    step.marker.claim = claim.id;
    step.marker.again = duration_cast<seconds>(again).count();
    if (kind == MarkerKind::failed || kind == MarkerKind::released) step.marker.over = claim.marker.over;
    step.reason = std::move(why);
    return step;
  };
  if (entry && outcome == OutcomeKind::dead) {
    step = send_back(protocol, ledger, place_before(protocol.pipeline, ledger.place), "rejected", {});
    step.marker.claim = claim.id;
    return step;
  }
  switch (outcome) {
    case OutcomeKind::done: return ended(MarkerKind::advanced, place_after(protocol.pipeline, ledger.place), "done");
    case OutcomeKind::dead: return ended(MarkerKind::failed, std::string(kDead), "dead");
    case OutcomeKind::failed: {
      if (entry) return ended(MarkerKind::released, {}, "check", check_every);
      const int attempts = stage && stage->attempts > 0 ? stage->attempts : kAttemptsMaxDefault;
      if (ledger.failures + 1 >= attempts) return ended(MarkerKind::failed, std::string(kDead), "attempts");
      const Duration again =
          std::min(Duration{std::chrono::minutes{1}} * (std::int64_t{1} << std::min(ledger.failures, 6)),
                   Duration{std::chrono::hours{1}});
      return ended(MarkerKind::failed, {}, "failed", again);
    }
    case OutcomeKind::later: return ended(MarkerKind::released, {}, "later", entry ? check_every : kAgainDefault);
    case OutcomeKind::given_back: break;
  }
  if (claim.marker.over.empty()) return {.kind = StepKind::erase, .reason = "given_back", .comment = claim.id};
  return ended(MarkerKind::released, {}, "given_back");
}

std::optional<Step> back_step(const Protocol& protocol, const Ledger& ledger, const Claim& claim, std::string_view to) {
  const std::optional<Position> at = find_place(protocol.pipeline, ledger.place);
  const std::optional<Position> there = find_place(protocol.pipeline, to);
  if (!at || at->at_entry || !there || there->at_entry || there->stage >= at->stage) return std::nullopt;
  Step step = send_back(protocol, ledger, place_to_enter(protocol.pipeline, to), "sent_back", {});
  step.marker.claim = claim.id;
  return step;
}

}  // namespace fenceline::tracker
