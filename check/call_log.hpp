// A history in memory, small: every name is a number, each call has both of its lines.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "history/format/event.hpp"

namespace fenceline::audit {

using history::Event;
using history::Kind;
using history::Verb;
using Name = std::uint32_t;  // 0: none
using Time = std::int64_t;   // microseconds on the clock of the history
inline constexpr Time kNever = std::numeric_limits<Time>::max();
inline constexpr Time kAlways = std::numeric_limits<Time>::min();

// A line of one of the files.
struct Line {
  std::uint16_t file = 0;
  std::uint32_t number = 0;  // 0: none

  auto operator<=>(const Line&) const = default;
};

class Names {
 public:
  Names() { texts_.push_back(nullptr); }
  Name of(std::string_view text);
  std::string_view text(Name name) const { return name == 0 ? std::string_view{} : std::string_view(*texts_[name]); }

 private:
  std::unordered_map<std::string, Name> numbers_;
  std::vector<const std::string*> texts_;
};

enum class Status : std::uint8_t { unknown, ok, fail };
enum class Outcome : std::uint8_t { none, done, failed, dead, later, given_back };
enum class Reason : std::uint8_t {
  none,
  not_found,
  superseded,
  other_owner,
  finished,
  settled,
  expired,
  state,
  key_taken,
  other_call,
  effect_in_doubt,
  changed,
  other
};
enum class Begun : std::uint8_t { unsaid, act, again, probe, done, busy, held, lost };
enum class Ended : std::uint8_t { unsaid, done, none, held };
enum class Doubt : std::uint8_t { unsaid, hold, repeat, probe };
enum class Life : std::uint8_t { absent, ready, running, waiting, done, dead, cancelled };
std::string_view to_string(Life life);
std::string_view to_string(Outcome outcome);
std::string_view to_string(Reason reason);
std::string_view to_string(Begun begun);
std::string_view to_string(Ended ended);
constexpr bool is_finished(Life life) { return life >= Life::done; }

// One job in one call.
struct Item {
  std::uint32_t job = 0;
  Name other = 0;                // enqueue: the digest; claim: whose lease had run out
  std::uint32_t answer = 0;      // enqueue: the job that stands for it
  Reason reason = Reason::none;  // of a refusal; none: accepted
  Outcome outcome = Outcome::none;
  bool forced = false;
  std::int32_t deliveries = 0;
  std::int32_t failures = 0;
  std::int32_t losses_in_row = 0;
  Name stage = 0;           // enqueue, claim: where it is; change_items: where it goes
  std::int64_t fence = 0;   // of change_items; none: by a person
  std::int64_t amount = 0;  // claim: what is left; of a refusal: the fence that it names
};

// What change_items says of one item, beside its Item.
struct MoveItem {
  Life to = Life::absent;    // absent: it stays where it is
  Life only = Life::absent;  // it must be that; absent: any
  bool fresh = false;
  Name act = 0;
  std::int64_t revision = 0;      // of the record that it rests on
  std::int64_t revision_now = 0;  // that a refusal names
};

// What a call says a pipeline is.
struct PipelineCall {
  struct Stage {
    Name name = 0;
    Name gate = 0;             // none: open
    bool let_in_late = false;  // when the time for approvals is over
    std::int64_t count = 0;
    std::vector<Name> people;  // who may approve; none: anybody
  };
  Name queue = 0;             // with its namespace
  std::vector<Stage> stages;  // none: nobody knows, or it was removed
};

// What a call says of an effect; its call is the call's request.
struct EffectCall {
  Name name = 0;
  Name digest = 0;
  Name dead_call = 0;
  Name result = 0;
  Begun begun = Begun::unsaid;
  Ended ended = Ended::unsaid;
  Doubt policy = Doubt::unsaid;
};

// One lock in one call.
struct LockItem {
  Name resource = 0;  // with its namespace
  Name owner = 0;     // of what is renewed or released
  Name from = 0;      // of a grant: whose lease had run out
  bool refused = false;
  std::int64_t fence = 0;  // of a break: minted by it
};

// What a call says of locks: what it asks for, renews, releases or breaks, and what it was granted.
struct LockCall {
  std::vector<LockItem> items;
  std::vector<LockItem> granted;
  bool shared = false;
  bool window = false;  // held to its end
};

// A tick that fires, or a range of those that are skipped, in one call. Instants are on the store's wall clock.
struct TickItem {
  Time tick = 0;  // the first of a range
  Time last = 0;
  std::uint32_t job = 0;   // none: a range
  bool duplicate = false;  // it had fired before
};

// What a call says of a schedule: what it asks for, and how it is answered.
struct ScheduleCall {
  Name schedule = 0;  // with its namespace
  bool rewinds = false;
  std::int64_t revision = 0;
  std::int64_t revision_then = 0;
  Time from = 0;  // the account moves from here to there; equal: it stays
  Time to = 0;
  Time stands = 0;
  Time wall = 0;
  std::vector<TickItem> fired;
  std::vector<TickItem> skipped;
};

struct Call {
  Verb verb = Verb::none;
  Status status = Status::unknown;
  bool conflict = false;      // failed as one
  bool holds_others = false;  // or: paused
  Life only = Life::absent;   // the state an act is for; absent: any
  Life state = Life::absent;  // that a look saw
  Name by = 0;
  Name owner = 0;
  Name request = 0;  // or the name of a batch
  Name queue = 0;    // with its namespace
  Name stage = 0;
  std::uint32_t queues = 0;  // of a claim: a list of the log
  std::int32_t limit = -1;   // of a claim, a queue; -1: not said
  std::int32_t limit_per_key = -1;
  std::uint32_t effect = 0;    // one of the log's; 0: none
  std::uint32_t lock = 0;      // the same
  std::uint32_t schedule = 0;  // the same
  std::uint32_t pipeline = 0;  // the same
  std::uint32_t moves = 0;     // of change_items: the first of them
  std::uint32_t items = 0;     // the first of them
  std::uint32_t item_count = 0;
  Line asked_line;
  Line answered_line;
  Time asked = 0;
  Time answered = kNever;  // of an unknown one: never, it may still happen
  Time waited = 0;
  Time left =
      0;  // or the floor, what an enqueue found, a purge cancelled, a tidying removed, when a batch was first seen
  Time ttl = 0;

  // It took effect no sooner than this. What the store kept it waiting is known.
  Time earliest() const { return asked + waited; }
  bool may_count() const { return status != Status::fail; }
};

// What is known of a job for good.
struct JobEntry {
  Name id = 0;
  Name queue = 0;  // with its namespace
  Name stage = 0;
  Name group = 0;
  Name limit_key = 0;
  Name key = 0;
  Name digest = 0;
  std::int64_t key_for = 0;
  std::int32_t attempts = 0;
  bool delayed = false;
};

struct HandlerEvent {
  Kind kind = Kind::started;
  Name by = 0;
  Name owner = 0;
  std::uint32_t job = 0;
  std::int64_t fence = 0;
  Time at = 0;
  Line line;
  Outcome outcome = Outcome::none;  // of one that ended
};

// What the recorders said of themselves, taken together.
struct About {
  char guarantee = 'A';     // the weakest
  bool whole = true;        // all of them say so
  bool lease_times = true;  // the clock of leases can be compared with the clock of events
  Time repeats = 0;
  std::string store;
};

// The part of a history that was written on one clock.
class CallLog {
 public:
  CallLog() {
    jobs.emplace_back();
    queue_lists.emplace_back();
    effects.emplace_back();
    locks.emplace_back();
    schedules.emplace_back();
    pipelines.emplace_back();
  }

  void add(const Event& event, Line line);

  std::string_view text(Name name) const { return names.text(name); }
  const Item* items_of(const Call& call) const { return items.data() + call.items; }
  const EffectCall& effect_of(const Call& call) const { return effects[call.effect]; }
  const LockCall& lock_of(const Call& call) const { return locks[call.lock]; }
  const ScheduleCall& schedule_of(const Call& call) const { return schedules[call.schedule]; }
  const MoveItem& move_of(const Call& call, std::uint32_t item) const {
    return moves[call.moves + (item - call.items)];
  }
  // Its name without the namespace: of a lock, of a schedule, of a queue.
  std::string lock_text(Name resource) const;
  std::uint32_t find_job(std::string_view id);  // made if it is new
  // "5f3a90c1": the end of its id, enough to tell jobs apart.
  std::string job_text(std::uint32_t job) const;

  About about;
  Names names;
  std::vector<Call> calls;
  std::vector<Item> items;
  std::vector<EffectCall> effects;      // from 1
  std::vector<LockCall> locks;          // from 1
  std::vector<ScheduleCall> schedules;  // from 1
  std::vector<PipelineCall> pipelines;  // from 1
  std::vector<MoveItem> moves;
  std::vector<JobEntry> jobs;  // from 1
  std::vector<HandlerEvent> handlers;
  std::vector<std::vector<Name>> queue_lists;
  std::vector<Time> crashes;
  std::vector<Time> forgotten;  // of those: the ones in which the store's class may forget something
  Time rest_at = kNever;
  Line rest_line;
  std::int64_t repeated_numbers = 0;  // calls whose number was there before: two recorders of one name

 private:
  void add_recorder(const Event& event);
  void add_invoke(const Event& event, Line line);
  void add_answer(const Event& event, Line line);
  void add_granted(Call& call, const Event& event);
  void add_locks(Call& call, const Event& event);
  void add_lock_answer(Call& call, const Event& event);
  void add_schedule(Call& call, const Event& event);
  void add_schedule_answer(const Call& call, const Event& event);
  void add_pipeline(Call& call, const Event& event);
  void add_moves(Call& call, const Event& event);
  void learn(std::uint32_t job, const Event& request, const history::JobPart& part);
  Name queue_name(const std::string& ns, const std::string& queue);

  std::unordered_map<std::string, std::uint32_t> job_numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t> open_;  // by recorder and number: its call
  std::unordered_map<std::string, std::uint32_t> list_numbers_;
  std::unordered_map<std::uint32_t, Name> namespaces_;  // of open claims, and of open calls about locks
};

}  // namespace fenceline::audit
