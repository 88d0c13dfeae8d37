// The format of histories: what happened between some processes and their store, one event a line, as JSON. Whoever
// checks a history knows this folder and nothing else of the program.
//
// A recorder (one start of one process) begins with a line that says who it is. Then each call has two lines: `invoke`
// before it, and one of `ok`, `fail` (it did not happen, or was refused) and `unknown` (it may have happened, or still
// may) after it. An invoke without a second line is unknown too. Both carry the recorder and its number of the call.
// Several recorders may share a file, since every line is whole. What a field does not say has its default, and is left
// out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace fenceline::history {

inline constexpr std::int64_t kFormatVersion = 1;
inline constexpr std::size_t kLineBytesMax = 16 << 20;  // an enqueue of 10,000 jobs with long names fits
inline constexpr int kDepthMax = 3;                     // an object, in a list, in an object

enum class Kind {
  recorder,  // the first line of a recorder
  invoke,
  ok,
  fail,
  unknown,
  started,  // a handler begins with its job, or somebody with the work under a lock
  acted,    // it did something to the world, and believed that it may
  told,     // it was told to stop
  ended,    // it returned
  rest,     // from here on all that was enqueued, and not held back by a pause, should be finished
  crash,    // the store crashed here, and may have forgotten what its class lets it forget
};
std::string_view to_string(Kind kind);

// The verbs of a store that a history knows. `look` is job().
enum class Verb {
  none,
  enqueue,
  open_batch,
  claim,
  give_back,
  extend,
  settle,
  record,
  cancel,
  retry,
  purge,
  set_queue,
  pause,
  tidy,
  stopped,
  look,
  begin_effect,
  finish_effect,
  resolve_effect,
  raise_floor,
  remove_namespace,
  acquire,
  renew,
  release,
  withdraw,
  break_lock,
  step_ticks,  // one step of one schedule
  change_schedule,
  put_pipeline,
  see_pipeline,  // a reading of it, whenever it shows another one than the recorder knew
  change_items,
};
inline constexpr Verb kVerbLast = Verb::change_items;
std::string_view to_string(Verb verb);

// A job in a request or a reply. Times are microseconds, everywhere.
struct JobPart {
  std::string id;
  std::string queue;  // enqueue, and what a claim granted; so are the next three
  std::string stage;
  std::string group;
  std::string limit_key;
  std::string key;  // enqueue
  std::int64_t key_for = 0;
  std::string digest;         // of the payload as a JSON value
  bool delayed = false;       // its run time lies ahead
  std::int64_t attempts = 0;  // allowed; enqueue and claim
  std::int64_t fence = 0;
  std::int64_t left = 0;  // what a claim granted; so are the next six
  std::int64_t deliveries = 0;
  std::int64_t failures = 0;
  std::int64_t losses = 0;
  std::int64_t losses_in_row = 0;
  bool forced = false;
  std::string from;          // whose lease had run out
  std::string outcome;       // settle
  std::string reason;        // of a refusal
  std::int64_t current = 0;  // the fence that a refusal names
  std::string holder;        // of the unique key, in a refused retry; of a lock: whose it is
  std::int64_t tick = 0;     // of a schedule; of a skipped range the first
  std::int64_t last = 0;     // of a skipped range; so is the next
  std::int64_t count = 0;
  // Of change_items, with the stage as it is stored and, by a holder, the fence and the outcome: whether the delivery
  // ended well.
  std::string state;          // that it is put into; empty: it stays where it is
  std::string only;           // by a person: the state that it must be in
  bool fresh = false;         // failures and losses begin anew
  std::string act;            // "item_approved"
  std::int64_t revision = 0;  // of the record: that the decision rests on; in a refusal: as it is
  // Of a stage of a pipeline, by its name.
  std::string gate;  // approval, of `count` people, or check; empty: open
  std::string then;  // when the time for approvals is over: hold, reject, approve

  bool operator==(const JobPart&) const = default;
};

struct Event {
  Kind kind = Kind::invoke;
  std::string by;                        // the recorder
  std::int64_t n = 0;                    // its number of the call
  std::int64_t at = 0;                   // on the recorder's clock, which never jumps
  std::optional<std::int64_t> store_at;  // on the store's own, where somebody knows it

  // Of a recorder.
  std::int64_t version = 0;
  std::string store;         // "sqlite"
  std::string guarantee;     // its class: A, B, C or D
  std::string clock;         // names the clock of `at`: times of one clock can be compared
  std::string store_clock;   // the clock that leases run on; the same name: they can be compared with `at`
  bool whole = false;        // every call of anyone to these queues is in the history
  std::int64_t repeats = 0;  // the way to the store may deliver a request again, so long after it was sent

  // Of an invoke.
  Verb verb = Verb::none;
  std::string ns;
  std::string owner;    // the actor; of handlers' events too
  std::string request;  // of begin_effect and finish_effect: the call; of resolve_effect: the one that it is about
  std::vector<std::string> queues;
  std::string queue;
  std::string stage;
  std::string name;                   // of a batch, of an effect
  std::string only;                   // the state that an act is for
  std::optional<std::int64_t> limit;  // of a claim, a queue
  std::optional<std::int64_t> limit_per_key;
  std::int64_t ttl = 0;
  bool holds_others = false;
  bool paused = false;
  std::string digest;         // of what an effect asks for
  std::string policy;         // of an effect in doubt: hold, repeat, probe
  std::string dead_call;      // an intent of this call counts as in doubt
  std::string end;            // of an effect: done, none, held
  std::vector<JobPart> jobs;  // of requests, and what a claim granted; a look and handlers' events have one
  // Of locks, each by its resource as its id: the names that are asked for, what is renewed, released or broken, and
  // what was granted. `owner` and `request` are the acquire's.
  std::vector<JobPart> locks;
  bool shared = false;      // of an acquire
  bool to_its_end = false;  // of an acquire: a window
  // Of a schedule, by its `name`. Instants are on the store's wall clock. Ticks that fire each have their job as its
  // id, skipped ranges their reason; the jobs stand there once more, as enqueues.
  std::string change;     // put, pause, resume, remove, rewind, run
  std::int64_t from = 0;  // the account moves from here,
  std::int64_t to = 0;    // to here; both none: it stays
  std::vector<JobPart> ticks;
  std::vector<JobPart> skipped;
  // Of a pipeline, by its `name`: its stages in order (none: it was removed), and who may approve at which of them
  // (`stage`; none at one: anybody).
  std::vector<JobPart> stages;
  std::vector<JobPart> people;

  // Of an answer.
  std::string code;  // of fail and unknown
  std::vector<JobPart> refused;
  std::vector<std::string> ids;  // of an enqueue
  std::int64_t existing = 0;
  std::optional<std::int64_t> first_seen;
  std::int64_t left = 0;
  std::int64_t waited = 0;
  std::int64_t count = 0;   // purged, or tidied
  std::string state;        // of a look; empty: no such job
  std::string verdict;      // of begin_effect: act, again, probe, done, busy, held, lost; the last with its refusal
  std::int64_t stands = 0;  // where the account of a schedule is; ticks that had fired before are among the refused
  std::int64_t wall = 0;    // what the store's wall clock shows

  // Of either.
  std::string result;         // digest of an effect's result: as its end says, or as it is replayed
  std::int64_t floor = 0;     // of raise_floor: asked for, and as it stands
  std::int64_t revision = 0;  // of a schedule or a pipeline: asked for (0: there is none), and as it is then

  bool operator==(const Event&) const = default;
};

// One line, without its end.
std::string to_line(const Event& event);

// Strict: what is not exactly this format is refused, in words for people that name the field. Errors: invalid.
Result<Event> parse_line(std::string_view line);

}  // namespace fenceline::history
