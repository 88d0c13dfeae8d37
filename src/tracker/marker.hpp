// What workers write into comments: one machine-readable line, and one for people.
//
//   <!-- fenceline/1 claim gen=3 stage=review worker=9f2c41d0 nonce=77e0c9d1a2b3c4d5 item=17 ttl=600 beat=0
//   at=1763441000 over=- name=- mac=... --> fenceline: worker 9f2c41d0 is working on review
//
// A comment is a marker only if its whole text is what marker_text() makes of the marker read from it: no free text, no
// other order, no leading zero, nothing before or after. Anything else that people write, quote or change is not a
// marker. With a key a marker is signed, for its tracker and item, so that nobody else can make one or carry it to
// another item (X4). A marker names its item: one that names another item is a copy and counts as nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::tracker {

enum class MarkerKind {
  claim,  // the only one that is edited (by its renewals) and erased (withdrawn)
  // Records: posted, never edited. `claim` names the one that they end.
  advanced,   // the work of `stage` is accepted, or it is let in; the item is at `to` (P1)
  returned,   // back to the earlier stage `to`
  failed,     // an attempt used up: again after `again`
  released,   // given up at no cost: again after `again`
  moved,      // a trusted person put it to `to`
  restored,   // a move by `by`, who is not trusted, is being put back
  contested,  // left to people, because of `why`
};

std::string_view to_string(MarkerKind kind);

inline constexpr std::string_view kMarkerOpening = "<!-- fenceline/";
inline constexpr std::size_t kOverMax = 40;        // dead claims that a marker names
inline constexpr std::string_view kDone = "done";  // in `to`: all stages are behind it
inline constexpr std::string_view kDead = "dead";  // in `to`: left to people after too many failures
inline constexpr std::string_view kOutputMissing =
    "output_missing";                                      // in `why`: what the stage before handed on is gone
inline constexpr std::string_view kEntryPrefix = "gate:";  // `gate:S`: it waits to be let into S

struct Marker {
  MarkerKind kind = MarkerKind::claim;
  std::int64_t generation = 1;  // each record with a `to` begins the next one
  std::string stage = {};       // where the item is: a stage, or `gate:S`
  std::string worker = {};      // chosen by chance at each start of a worker; says nothing of its machine
  std::string nonce = {};       // of this marker, by chance: how its maker finds it again after a lost reply

  // claim
  std::int64_t ttl = 0;   // seconds
  std::int64_t beat = 0;  // renewals so far
  std::int64_t at = 0;    // seconds of the tracker's clock, never later than it was when the claim was made or renewed;
                          // 0: not said. A copy that is posted later is as old as this says
  std::string name = {};  // chosen by people (--name); may be empty
  // claim, failed, released
  std::vector<CommentId> over =
      {};  // claims that were found expired, or are ended by this: dead from now on, whatever is edited into them
  // records
  std::string to = {};
  CommentId claim = {};
  std::int64_t again = 0;   // seconds
  std::string by = {};      // an account's id
  std::string why = {};     // a word
  std::string output = {};  // of advanced: "ID:DIGEST" of the comment that hands the output on (output_note.hpp)

  bool operator==(const Marker&) const = default;
};

// What a signature covers beside the marker itself, and the key; no key: markers are not signed.
struct Signing {
  std::string key = {};
  std::string place = {};  // Tracker::place()
};

// The whole comment.
std::string marker_text(const Marker& marker, const ItemId& item, const Signing& signing);

enum class MarkerFault {
  none,
  foreign,     // not a marker: the text of somebody
  unsigned_,   // a marker without a signature, or with a wrong one, though there is a key
  unreadable,  // a signed marker, and no key here: leave its item alone
  copied,      // a marker that was made for another item
};

struct ReadMarker {
  std::optional<Marker> marker;  // with MarkerFault::none
  MarkerFault fault = MarkerFault::foreign;
};

ReadMarker read_marker(std::string_view text, const ItemId& item, const Signing& signing);

// Text of others made fit to be posted by our account: no marker can be read from it, now or as part of something
// longer (X5).
std::string neutralised(std::string_view text);

// A name that a claim may carry: letters, digits, '.', '_', '-', at most kWorkerNameBytesMax.
inline constexpr std::size_t kWorkerNameBytesMax = 40;
bool is_worker_name(std::string_view text);

// Words of people: the whole comment, one line, lower case. `stage` may be empty.
enum class CommandKind { approve, reject, move, hold, release };
struct Command {
  CommandKind kind = CommandKind::approve;
  std::string stage = {};

  bool operator==(const Command&) const = default;
};
// "/approve", "/approve publish", "/reject", "/reject ready", "/move review", "/hold", "/release".
std::optional<Command> read_command(std::string_view text);

}  // namespace fenceline::tracker
