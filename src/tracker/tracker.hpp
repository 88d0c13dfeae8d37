// The interface to an issue tracker: what a driver (GitHub, Redmine, ...) must be able to do. Claims, renewals, sweeps,
// repairs and moves of labels are shared code above it (protocol.hpp and what it names), so a driver stays small.
//
//   a driver       turns a verb into requests and answers into values. It reads every page and distinguishes the kinds
//                  of trouble. It knows no rules, and never waits or retries
//   below drivers  the HTTP client that they share caches bodies by ETag: an unchanged one (304) costs nothing of the
//                  primary limit (Cost::charged)
//   above drivers  PatientTracker (patient_tracker.hpp) is a Tracker around a driver: one Budget per process, primary
//                  and secondary limits, Retry-After, waits with jitter, and retries of what did not happen
//
// Rules for every verb: it blocks, ends by its deadline of kVerbTimeout, and can be called from several threads. Times
// in values are the tracker's: its clock alone decides what has expired, and every answer carries it. Texts of others
// are data: a driver neither runs nor trims them. No verb writes the whole set of labels.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"

namespace fenceline::tracker {

using ItemId = std::string;     // as the tracker writes it: "17"
using CommentId = std::string;  // the same

inline constexpr Duration kVerbTimeout = std::chrono::seconds{30};
inline constexpr int kItemsMax = 10'000;    // in one list: the oldest
inline constexpr int kCommentsMax = 2'000;  // of one item: beyond it a read is refused, and the item is left to people
inline constexpr std::size_t kTextBytesMax =
    1 << 18;  // of one comment or body: a longer one is cut there, and so is not a marker

// Who wrote or moved something. Trust goes by `id`; a name can be given to somebody else.
struct Account {
  std::string id;
  std::string name;

  bool operator==(const Account&) const = default;
};

// An item without its comments: what a list shows.
struct ItemState {
  ItemId id;
  std::string title;
  std::string body;
  std::string url;  // for people
  Account author;
  std::vector<std::string> labels;  // sorted, none twice; of a tracker without labels: none
  std::string status;               // its name; of a tracker with labels: empty
  bool open = true;
  std::string version;  // for swap(); empty: the tracker has none
  WallTime updated_at{};

  bool operator==(const ItemState&) const = default;
};

struct Comment {
  CommentId id;
  Account author;
  std::string text;  // as it was posted; line ends are "\n"
  WallTime created_at{};
  std::optional<WallTime>
      edited_at;  // of the last edit by anyone; empty: none, or the tracker does not tell (Capabilities::edit_times)

  bool operator==(const Comment&) const = default;
};

enum class MoveKind { label_added, label_removed, status_set, closed, reopened };

// Who changed what of an item, from its history.
struct Move {
  MoveKind kind = MoveKind::label_added;
  std::string what;  // the label, or the new status; of closed and reopened: empty
  Account by;
  WallTime at{};

  bool operator==(const Move&) const = default;
};

// What an answer cost: requests sent, and those of them that count against the tracker's primary limit (a 304 does
// not).
struct Cost {
  int requests = 0;
  int charged = 0;

  Cost& operator+=(const Cost& other) {
    requests += other.requests;
    charged += other.charged;
    return *this;
  }
  bool operator==(const Cost&) const = default;
};

// What is left of the primary limit, and how long until it is full again; durations, because only the tracker knows its
// clock.
struct Limit {
  std::int64_t left = 0;
  Duration whole_in{0};

  bool operator==(const Limit&) const = default;
};

// In every answer, good or bad, as far as known.
struct Served {
  WallTime now{};  // the tracker's clock when it answered (the Date header), rounded down to Capabilities::time_grain;
                   // of several requests: that of the FIRST
  Cost cost;
  std::optional<Limit> limit;  // of the last request

  bool operator==(const Served&) const = default;
};

template <class T>
struct Answered {
  T value;
  Served served;
};
struct Nothing {
  bool operator==(const Nothing&) const = default;
};

enum class TroubleKind {
  unavailable,  // not reached, or refused before anything was done (connection refused, 503 that says when to come
                // back): nothing changed
  in_doubt,   // a time-out, reset, 500, 502, 503 or 504 after sending, an answer that cannot be read: a write may have
              // happened, now or later. Of a read: as unavailable
  limited,    // primary or secondary limit (403 or 429 that says so): nothing changed; `come_back` says when
  denied,     // credentials or rights (401, 403 that is not a limit)
  refused,    // the tracker will never accept this request (422, 410, a locked conversation, more than kCommentsMax)
  not_found,  // 404. For up to three minutes after an item was made or moved this does not prove that it is gone
  conflict,   // swap(): the item has another version; nothing changed
};

std::string_view to_string(TroubleKind kind);

struct Trouble {
  TroubleKind kind = TroubleKind::unavailable;
  std::string message;  // lower case, no full stop, no secret: "github answers 502 to a comment on 17"
  std::optional<Duration>
      come_back;  // of limited (Retry-After, or the reset less Date); empty: the tracker did not say
  Served served;  // `now` is the epoch if nothing was answered
};

template <class T>
using Answer = std::expected<Answered<T>, Trouble>;

inline std::unexpected<Trouble> trouble(TroubleKind kind, std::string message, Served served = {}) {
  return std::unexpected(Trouble{kind, std::move(message), std::nullopt, std::move(served)});
}

struct Capabilities {
  bool labels = true;       // a stage is a label `stage:NAME`; false: it is the status NAME
  bool ordered_ids = true;  // a comment that was taken earlier has the smaller number as id
  bool edit_times = true;   // Comment::edited_at is told
  bool edits = true;        // one's own comments can be edited and deleted; false: no renewal
  bool moves = true;        // ReadParts::moves is answered, with who and when
  bool swap = false;        // compare-and-swap: swap() works, and every ItemState has a version
  Duration time_grain = std::chrono::seconds{1};

  bool operator==(const Capabilities&) const = default;
};

// Items that are open and have this label (or status); with `closed`, those that are closed and still have it. Without
// a stage: those with any labels or none, for what has lost its own.
struct ListRequest {
  std::string stage;  // the whole label ("stage:ready"), or the status ("ready")
  bool closed = false;
  std::optional<WallTime> changed_after = {};  // only those that changed at that moment or later
};

// What a read must answer. A driver for which one request has it all may answer more.
struct ReadRequest {
  ItemId item;
  bool state = true;
  bool comments = true;
  bool moves = false;
};

struct Item {
  std::optional<ItemState> state;          // there if asked for
  std::vector<Comment> comments;           // all of them, in the tracker's order
  std::optional<std::vector<Move>> moves;  // there if asked for; oldest first

  bool operator==(const Item&) const = default;
};

// Status, open or closed, and a comment of one's own in ONE step, if the item's version is still `version`.
struct SwapRequest {
  ItemId item;
  std::string version;
  std::optional<std::string> status;
  std::optional<bool> open;
  std::string comment;  // empty: none
};

struct Swapped {
  std::string version;               // the new one
  std::optional<CommentId> comment;  // if the tracker tells; else a read finds it

  bool operator==(const Swapped&) const = default;
};

// Labels as they are after a change; empty: the tracker did not say.
struct LabelsAfter {
  std::optional<std::vector<std::string>> labels;

  bool operator==(const LabelsAfter&) const = default;
};

// Every verb may answer unavailable, in_doubt, limited, denied, refused. Every one but post() and swap() can be
// repeated after in_doubt: what was to be is then so, once.
class Tracker {
 public:
  virtual ~Tracker() = default;

  virtual Capabilities capabilities() const = 0;
  // The place, for messages and as part of what is signed: "github:owner/repo". The same for all workers of it,
  // whatever their settings.
  virtual std::string place() const = 0;

  // The account that the credentials belong to.
  virtual Answer<Account> who_am_i() = 0;

  // Every page. What the tracker changes meanwhile may be missed or seen twice in its pages: an item is answered once.
  // May be minutes behind.
  virtual Answer<std::vector<ItemState>> list(const ListRequest& request) = 0;
  // Errors: not_found.
  virtual Answer<Item> read(const ReadRequest& request) = 0;

  // Adds these, each by itself or in one request that leaves all other labels alone; those that are there already: ok.
  // A label that the tracker does not know is made. Errors: not_found.
  virtual Answer<LabelsAfter> add_labels(const ItemId& item, const std::vector<std::string>& labels) = 0;
  // One. Not there: ok. Errors: not_found.
  virtual Answer<LabelsAfter> remove_label(const ItemId& item, const std::string& label) = 0;
  // On a tracker without labels. Has it already: ok. Errors: not_found, refused (no such status, or no way to it).
  virtual Answer<Nothing> set_status(const ItemId& item, const std::string& status) = 0;
  // Closes, or reopens. Is so already: ok. Errors: not_found.
  virtual Answer<Nothing> set_open(const ItemId& item, bool open) = 0;

  // The comment as the tracker took it. Not to be repeated after in_doubt: read first. Errors: not_found.
  virtual Answer<Comment> post(const ItemId& item, const std::string& text) = 0;
  // One's own comment; a driver refuses where it can tell that it is another's. Errors: not_found.
  virtual Answer<Comment> edit(const ItemId& item, const CommentId& comment, const std::string& text) = 0;
  // One's own comment. Not there any more: ok.
  virtual Answer<Nothing> erase(const ItemId& item, const CommentId& comment) = 0;

  // Only with Capabilities::swap. Not to be repeated after in_doubt: read first. Errors: conflict, not_found.
  virtual Answer<Swapped> swap(const SwapRequest& request) = 0;
};

}  // namespace fenceline::tracker
