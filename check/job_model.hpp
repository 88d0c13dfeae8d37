// What a job may do, as a state machine: the rules of the promises, written down here once more. A state is what a
// history lets one know, so it holds bounds where only bounds are known.
//
// What nobody could see is explained as late as possible, and only if something in the history can have done it: a
// claim whose answer was lost may have granted the job, a claim of anything may have buried it, tidying may have
// removed it. In a history that is not whole there may be others at work, and much less is certain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/call_log.hpp"

namespace fenceline::audit {

using CallNumber = std::uint32_t;
inline constexpr CallNumber kNoCall = 0xffffffff;

// A call as it concerns one job.
struct JobOp {
  CallNumber call = kNoCall;  // none: the rest, by which everything should be finished
  std::uint32_t item = kNoCall;
  Time asked = 0;
  Time answered = kNever;
  bool optional = false;  // it may never have happened
};

struct JobState {
  Life life = Life::absent;
  std::uint8_t bump = 0;            // the newest fence: 0 is `fence`, 1 may be larger, 2 is larger
  Outcome outcome = Outcome::none;  // accepted under `fence`
  bool run_out = false;             // somebody saw that the lease has ended
  bool told = false;                // `fence` is known from a refusal alone: it may be that of a grant that nobody saw
  bool strange = false;             // nothing is known of it: it was there before the history
  Name owner = 0;
  Name request = 0;
  Name act = 0;  // the request of the last act
  std::int64_t fence = 0;
  Time now = kAlways;              // no sooner than this was the last step
  Time lease_least = kAlways;      // the lease ends no sooner,
  Time lease_most = kNever;        // and no later
  Time stretch = 0;                // by which renewals without an answer may have moved that,
  std::int64_t stretch_fence = 0;  // under this fence; its grant may be answered in the same moment
  Time slot_least = kAlways;       // a revoked delivery keeps its slot at least so long
  std::int64_t slot_fence = 0;
  std::int32_t deliveries = 0;
  std::int32_t failures = 0;
  std::int32_t losses_in_row = 0;
  std::int32_t unseen = 0;  // deliveries that nobody saw
  Name stage = 0;
  Name change = 0;            // the request that changed its record last
  std::int64_t revision = 0;  // of the record; if others were at work: no less than this
  std::vector<Name> held;     // effects in doubt for which it waits, or waited when an operator cancelled it; sorted

  // What led here, for the excerpt; no part of the state.
  CallNumber enqueued = kNoCall, granted = kNoCall, renewed = kNoCall, ended = kNoCall, changed = kNoCall;

  bool same_as(const JobState& other) const;
  std::uint64_t hash() const;
};

// Why a step is not lawful.
struct Complaint {
  std::string promise;
  std::string sentence;
  std::vector<CallNumber> calls;
};

// What else is in the history that nobody sees in a job's own calls.
class Unseen {
 public:
  explicit Unseen(const CallLog& log);
  // How many claims that may have granted a job of this queue, without anyone knowing, were sent by then.
  std::int32_t claims(Name queue, Time by) const;
  bool removals(Time by) const { return first_removal_ <= by; }

 private:
  std::vector<std::vector<Time>> claims_;  // by queue, sorted
  Time first_removal_ = kNever;
};

class JobModel {
 public:
  JobModel(const CallLog& log, const Unseen& unseen, std::uint32_t job)
      : log_(log), unseen_(unseen), job_(job), entry_(log.jobs[job]) {}

  JobState start() const;
  // All states that the step may lead to; none: it is not lawful. `why`, if given, is told.
  void step(const JobState& state, const JobOp& op, std::vector<JobState>& next, Complaint* why) const;
  // A renewal without an answer was sent.
  void stretch(JobState& state, const JobOp& op) const;
  // The store may have forgotten its last moments: of the job only the fences are known, which grow all the same.
  void forget(JobState& state) const;

 private:
  struct At;  // one try of one step
  bool apply(At& at) const;
  bool enqueue(At& at) const;
  bool grant(At& at) const;
  bool repeated_grant(At& at) const;
  bool give_back(At& at) const;
  bool extend(At& at) const;
  bool settle(At& at) const;
  bool record(At& at) const;
  bool begin_effect(At& at) const;
  bool finish_effect(At& at) const;
  bool resolve_effect(At& at) const;
  static void hold(At& at);
  static void release(At& at);
  static bool has_live_lease(const JobState& state);
  bool refusal(At& at, const char* promise) const;
  bool cancel(At& at) const;
  bool retry(At& at) const;
  bool purge(At& at) const;
  bool stopped(At& at) const;
  bool change(At& at) const;
  bool may_change(const At& at) const;
  bool change_refused(At& at, bool repeated) const;
  bool look(At& at) const;
  bool rest(At& at) const;
  bool older_or_unknown_fence(At& at, const char* promise, const char* verb) const;
  void revoke(At& at) const;
  void settle_as(JobState& state, Outcome outcome) const;
  bool may_be_buried(const JobState& state, const JobOp& op) const;
  JobState buried(JobState state) const;
  bool may_be_granted_unseen(const JobState& state, const JobOp& op) const;
  JobState granted_unseen(JobState state) const;
  std::int32_t unseen_left(const JobState& state, Time by) const;

  const CallLog& log_;
  const Unseen& unseen_;
  const std::uint32_t job_;
  const JobEntry& entry_;
};

}  // namespace fenceline::audit
