#include "tracker/ledger.hpp"

#include <algorithm>
#include <set>

namespace fenceline::tracker {
namespace {

struct Marked {
  const Comment* comment;
  Marker marker;
};

// Whoever works with another key will have written again by then.
constexpr Duration kMisfitFor = std::chrono::hours{24};

// Where there is no signature, only its time tells an edit. Trackers may stamp a new comment a few milliseconds apart.
bool was_edited(const Protocol& protocol, const Comment& comment) {
  return comment.edited_at && *comment.edited_at >= comment.created_at + protocol.can.time_grain;
}
// What a signature covers needs no comparison of times: whatever else was pasted over it is not signed.
bool was_altered(const Protocol& protocol, const Comment& comment) {
  return protocol.signing.key.empty() && was_edited(protocol, comment);
}

WallTime seconds_after_epoch(std::int64_t seconds) { return WallTime{std::chrono::seconds{seconds}}; }

// Posted long after it was made: a copy whose original may be gone, or a request whose sender has given up.
bool came_late(const Comment& comment, const Marker& claim) {
  return claim.at != 0 && comment.created_at > seconds_after_epoch(claim.at) + 2 * kVerbTimeout;
}

// When the ttl began: by the tracker's stamp of the claim or of its last renewal, and never later than the marker says
// itself. So old text that is pasted back, or posted again, is as old as it was.
std::optional<WallTime> began(const Protocol& protocol, const Comment& comment, const Marker& marker) {
  if (was_altered(protocol, comment) || (marker.beat > 0 && protocol.signing.key.empty())) return std::nullopt;
  const WallTime said = marker.at == 0 ? comment.created_at : seconds_after_epoch(marker.at);
  if (marker.beat == 0) return std::min(comment.created_at, said);
  return protocol.can.edit_times ? std::min(comment.edited_at.value_or(comment.created_at), said) : said;
}

class Reading {
 public:
  Reading(const Protocol& protocol, const ItemId& item, std::vector<Comment> comments, const Account& self,
          WallTime now)
      : protocol_(protocol), item_(item), comments_(std::move(comments)), self_(self), now_(now) {
    std::ranges::sort(comments_,
                      [this](const Comment& a, const Comment& b) { return comes_before(a, b, protocol_.can); });
    ledger_.place = protocol_.pipeline.first().name;
  }

  Ledger read() {
    for (const Comment& comment : comments_) {
      if (protocol_.is_worker(comment.author)) {
        marker(comment);
      } else if (protocol_.is_trusted(comment.author) && !was_edited(protocol_, comment)) {
        word(comment);
      }
    }
    claims();
    // By a worker with another key, or who spells the tracker otherwise. Beside valid ones it is the copy of something.
    if (misfit_ && !fits_) ledger_.unreadable = true;
    return std::move(ledger_);
  }

 private:
  void marker(const Comment& comment) {
    const ReadMarker read = read_marker(comment.text, item_, protocol_.signing);
    if (read.fault == MarkerFault::unreadable) ledger_.unreadable = true;
    misfit_ = misfit_ || (read.fault == MarkerFault::unsigned_ &&
                          now_ < comment.edited_at.value_or(comment.created_at) + kMisfitFor);
    if (read.fault == MarkerFault::copied) ledger_.copies.push_back(comment.id);
    if (!read.marker) return;
    fits_ = true;
    // In the order of T1 the first one is the original, whatever was posted again.
    if (!nonces_.insert(read.marker->nonce).second) {
      ledger_.copies.push_back(comment.id);
      if (read.marker->kind != MarkerKind::claim) leftover(comment);
      return;
    }
    if (read.marker->kind == MarkerKind::claim) {
      // A claim of a later generation is proof of it: the record that began it was deleted, or slipped through between
      // two pages.
      // But what is left to people leaves its generation by their word alone: a claim that missed that is not proof.
      if (read.marker->generation > ledger_.generation && !ledger_.contested)
        next_generation(read.marker->generation, read.marker->stage, comment.created_at);
      if (came_late(comment, *read.marker)) {
        ledger_.copies.push_back(comment.id);
        leftover(comment);
        return;
      }
      claims_.push_back({&comment, *read.marker});
    } else if (!was_altered(protocol_, comment)) {
      record(comment, *read.marker);
    }
  }

  void record(const Comment& comment, const Marker& record) {
    // One of a later generation than expected: those between were deleted by somebody; that they were there is proof
    // enough.
    const bool counts = (record.generation > ledger_.generation && !ledger_.contested) ||
                        (record.generation == ledger_.generation && record.stage == ledger_.place &&
                         !(ledger_.contested && record.kind != MarkerKind::moved));
    if (!counts) {
      // One of a later generation may count for those who see more than we do.
      if (record.generation <= ledger_.generation) leftover(comment);
      return;
    }
    if (record.generation > ledger_.generation) next_generation(record.generation, record.stage, comment.created_at);
    named_.insert(record.over.begin(), record.over.end());
    if (!record.claim.empty()) ended_.insert(record.claim);
    switch (record.kind) {
      case MarkerKind::claim: return;
      case MarkerKind::failed: ++ledger_.failures; [[fallthrough]];
      case MarkerKind::released:
        ledger_.not_before = comment.created_at + std::chrono::seconds{record.again};
        if (record.kind == MarkerKind::released) supersede_released();
        if (record.to.empty()) passing_.push_back({&comment, record});  // the last failure says that it is dead
        break;
      case MarkerKind::returned: ++ledger_.returns; break;
      case MarkerKind::restored: ledger_.restored = comment.created_at; return;
      case MarkerKind::contested:
        ledger_.contested = comment.created_at;
        ledger_.contested_why = record.why;
        ledger_.order.reset();  // what was said before has led to this
        return;
      case MarkerKind::advanced:
        if (!record.output.empty()) ledger_.outputs[record.stage] = record.output;
        else ledger_.outputs.erase(record.stage);
        break;
      case MarkerKind::moved:
        // Whoever lets it go on without the output that it misses lets it begin with none.
        if (ledger_.contested_why == kOutputMissing)
          if (const std::optional<Position> at = find_place(protocol_.pipeline, ledger_.place); at && at->stage > 0)
            ledger_.outputs.erase(protocol_.pipeline.stages[at->stage - 1].name);
        break;
    }
    if (!record.to.empty()) next_generation(record.generation + 1, record.to, comment.created_at);
  }

  void next_generation(std::int64_t generation, const std::string& place, WallTime at) {
    for (const Marked& passing : passing_) leftover(*passing.comment);
    passing_.clear();
    ledger_.generation = generation;
    ledger_.place = place;
    ledger_.visited.push_back(place);
    ledger_.since = at;
    ledger_.failures = 0;
    ledger_.not_before.reset();
    ledger_.contested.reset();
    ledger_.contested_why.clear();
    ledger_.approvals.clear();
    ledger_.order.reset();
    named_.clear();
    ended_.clear();
  }

  // Of those that gave up for now the last one counts, unless the claim that it ended is still there.
  void supersede_released() {
    std::erase_if(passing_, [this](const Marked& passing) {
      const bool needed = passing.marker.kind != MarkerKind::released ||
                          std::ranges::find(comments_, passing.marker.claim, &Comment::id) != comments_.end();
      if (!needed) leftover(*passing.comment);
      return !needed;
    });
  }

  // What a trusted person says counts for the generation in which it is said.
  void word(const Comment& comment) {
    const std::optional<Command> command = read_command(comment.text);
    if (!command) return;
    const Said said{comment.id, comment.author, *command, comment.created_at};
    switch (command->kind) {
      case CommandKind::hold: ledger_.held = true; return;
      case CommandKind::release:
        ledger_.held = false;
        if (ledger_.contested && !ledger_.order) ledger_.order = said;
        return;
      case CommandKind::approve:
        if (may_approve(*command, comment.author)) ledger_.approvals.push_back(said);
        return;
      case CommandKind::reject:
      case CommandKind::move:
        if (!ledger_.order && may_order(*command, comment.author)) ledger_.order = said;
        return;
    }
  }

  // Back is to an earlier stage, and from the wait for an approval by those who may let it in.
  bool may_order(const Command& command, const Account& by) const {
    const PipelineSpec& spec = protocol_.pipeline;
    const std::optional<Position> from = find_place(spec, ledger_.place);
    const std::optional<Position> to = find_place(spec, command.stage);
    if (!command.stage.empty() && !to) return false;
    if (command.kind == CommandKind::move) return may_move_to(spec, ledger_.place, command.stage);
    if (!from || (to && (to->at_entry || to->stage >= from->stage))) return false;
    return !from->at_entry || spec.stages[from->stage].entry.kind != EntryKind::approval ||
           is_named(spec.stages[from->stage].entry, by);
  }

  static bool is_named(const StageEntry& entry, const Account& by) {
    return entry.by.empty() || std::ranges::find(entry.by, by.id) != entry.by.end() ||
           std::ranges::find(entry.by, by.name) != entry.by.end();
  }

  bool may_approve(const Command& command, const Account& by) const {
    if (!ledger_.place.starts_with(kEntryPrefix)) return false;
    const std::string_view stage = std::string_view(ledger_.place).substr(kEntryPrefix.size());
    if (!command.stage.empty() && command.stage != stage) return false;
    const std::optional<std::size_t> index = protocol_.pipeline.find(stage);
    if (!index) return false;
    return is_named(protocol_.pipeline.stages[*index].entry, by) &&
           std::ranges::none_of(ledger_.approvals, [&](const Said& said) { return said.by.id == by.id; });
  }

  void claims() {
    for (const Marked& marked : claims_) {
      if (marked.marker.generation != ledger_.generation || marked.marker.stage != ledger_.place) {
        if (marked.marker.generation <= ledger_.generation) leftover(*marked.comment);
        continue;
      }
      named_.insert(marked.marker.over.begin(), marked.marker.over.end());
      if (const std::optional<WallTime> from = began(protocol_, *marked.comment, marked.marker)) {
        const Duration ttl =
            std::clamp(Duration{std::chrono::seconds{marked.marker.ttl}}, Duration{0}, protocol_.ttl_of(ledger_.place));
        ledger_.claims.push_back({marked.comment->id, marked.marker, marked.comment->created_at, *from + ttl});
      }
    }
    std::set<CommentId> dead = named_;
    for (const CommentId& id : ended_) dead.erase(id);
    for (Claim& claim : ledger_.claims) {
      claim.dead = named_.contains(claim.id) || ended_.contains(claim.id);
      const bool over = claim.dead || claim.ends <= now_;
      if (over && !ended_.contains(claim.id)) dead.insert(claim.id);
      if (over) leftover_claim(claim.id);
      if (!over && !ledger_.holder) ledger_.holder = claim;
    }
    ledger_.dead.assign(dead.begin(), dead.end());
  }

  void leftover(const Comment& comment) {
    if (comment.author.id == self_.id) ledger_.leftovers.push_back(comment.id);
  }
  // Only what is dead for good: one that has merely run out may have been renewed in what we do not see yet.
  void leftover_claim(const CommentId& id) {
    const auto comment = std::ranges::find(comments_, id, &Comment::id);
    if (named_.contains(id) || ended_.contains(id)) leftover(*comment);
  }

  const Protocol& protocol_;
  const ItemId& item_;
  std::vector<Comment> comments_;
  const Account& self_;
  const WallTime now_;
  Ledger ledger_;
  std::vector<Marked> claims_;
  std::vector<Marked> passing_;  // records that count only in their generation
  bool misfit_ = false, fits_ = false;
  std::set<CommentId> named_, ended_;
  std::set<std::string> nonces_;
};

}  // namespace

Ledger read_ledger(const Protocol& protocol, const ItemId& item, std::vector<Comment> comments, const Account& self,
                   WallTime now) {
  return Reading(protocol, item, std::move(comments), self, now).read();
}

}  // namespace fenceline::tracker
