// The loop of a worker on a tracker: looks for items, claims, runs the handler, renews, advances, and makes whole what
// others left. All rules are those of steps.hpp; here are the calls, their order and the times.
//
// Trust (L5): a handler is told, and gone, before its claim ends on the tracker's clock. Each answer ties that clock to
// ours: it was read between the question and the answer, so the earliest moment counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "handler/handler.hpp"
#include "runtime/runtime.hpp"
#include "tracker/budget.hpp"
#include "tracker/fitness.hpp"
#include "tracker/hints.hpp"
#include "tracker/patient_tracker.hpp"
#include "tracker/steps.hpp"

namespace fenceline::tracker {

// What a handler asked for while it ran: its item goes back to an earlier stage, whatever else comes of the run.
struct SentBack {
  std::string to;      // a stage that is not before the current one: ignored
  std::string reason;  // in words, for whoever works on it next; may be empty
};

// What a worker does at a place: a stage, or the check of one (`gate:S`).
struct PlaceWork {
  std::string place;
  Handler* handler = nullptr;  // must outlive the worker
  std::function<std::optional<SentBack>(const Job&)> sent_back =
      {};  // asked once when the handler has returned; empty: it never does
};

struct TrackerWorkerOptions {
  Protocol protocol;
  std::vector<PlaceWork> work;
  int concurrency = 1;
  Duration poll = std::chrono::seconds{30};
  Duration read_back =
      std::chrono::seconds{2};  // between a claim and its reading back, so that everybody else's is seen
  Duration drain_grace = std::chrono::seconds{30};  // what running handlers get at a stop before they are told
  std::string name = {};                            // in the visible line of its claims (is_worker_name); empty: none
  BudgetOptions budget = {};
  Fitness fitness = {};     // `claim` is measured here; work too, if it is not said
  bool until_idle = false;  // returns when nothing is left that it could do, now or later by itself
};

struct TrackerWorkerCounts {
  std::int64_t scans = 0;
  std::int64_t scan_requests = 0, scan_charged = 0;  // of scans in which nothing was to do
  std::int64_t claims = 0;                           // won
  std::int64_t lost_races = 0;
  int claim_requests_most = 0;  // that one claim took, without repeats after trouble
  std::int64_t renewals = 0;
  int renewal_requests_most = 0;
  std::int64_t advances = 0;
  std::int64_t voided = 0;             // outcomes of an older generation
  std::int64_t lost = 0;               // handlers that were stopped because their claim ended
  std::int64_t stopped_by_people = 0;  // the item was closed or moved, or its claim deleted, while it was worked on
  std::int64_t repairs = 0;
  std::int64_t contested = 0;
  std::int64_t sent_back = 0;   // by its handlers
  std::int64_t hints = 0;       // items that somebody heard of
  std::int64_t hint_looks = 0;  // at them
  std::int64_t writes = 0;
  std::int64_t limits = 0;
};

// The tracker's clock as one answer told it.
struct TrackerMoment {
  WallTime told{};
  Instant asked{}, answered{};

  // Never later than the tracker's own.
  WallTime least_at(Instant local) const { return told + (local - answered); }
  // Until then the tracker's clock has not reached `when`.
  Instant safe_until(WallTime when, Duration grain) const { return asked + (when - told) - grain; }
};

inline constexpr Duration kSettleAtStop = std::chrono::minutes{1};

class TrackerWorker {
 public:
  TrackerWorker(Runtime& runtime, Log log, Tracker& tracker, TrackerWorkerOptions options);
  ~TrackerWorker();

  // Works until `stop`, or forever. At a stop handlers get `drain_grace`, then they are told; their outcomes are
  // written if that takes no longer than kSettleAtStop. Errors: refused (a precondition does not hold, or the account
  // is not a worker's), denied (the token is refused; while it works: for a minute, at least three times in a row), and
  // whatever else ends it.
  Result<void> run(std::stop_token stop);

  // Looks once at every item of the pipeline, and makes whole what others left; claims nothing. Errors as those of
  // run().
  Result<void> sweep(std::stop_token stop);

  // Somebody heard that this item changed: it is looked at soon, and again until it shows something newer (hints.hpp).
  // Only a hint. May be called from any thread.
  void hint(const ItemId& item);

  TrackerWorkerCounts counts() const;
  // In its markers; by chance at each start.
  const std::string& name() const { return worker_; }

 private:
  struct Holding;
  struct Looked;
  // What became of an item when it was last looked at; finished ones are removed.
  struct Seen {
    WallTime updated_at{};
    std::string reason;
    std::optional<WallTime> again;
    WallTime looked_at{};
    std::string place;
  };

  void make_patient();
  Result<void> greet(std::stop_token stop);
  Result<void> know_statuses();
  Result<void> still_fit();
  // When to ask whether the token is still good; far away unless it was refused.
  Instant next_probe() const;
  // Asks, when it is time. Errors: denied (refused for a minute, and at least three times in a row).
  Result<void> still_let_in();
  Error shut_out_error(const std::string& message) const;
  // Ends what is worked on: at once, or after the grace of a stop. Returns within bounds, whatever the tracker does.
  void end_holdings(bool at_once);
  bool all_finished_by(Instant when);
  // Whether something was done, or is being done by anybody.
  bool scan(bool sweeps);
  // Oldest first. Whoever lost races looks a few items further, so that many workers do not all go for the same one.
  std::vector<ItemState> in_order(std::vector<ItemState> items);
  // Another worker has it, or is just changing it, at a place that is ours: a drain waits for that.
  bool is_unsettled(const Seen& seen) const;
  void look_at_hints();
  Answer<std::vector<ItemState>> list_of(const ListRequest& request, Cost& cost);
  // Items without a label of ours that changed since the last such look: somebody may have taken off what one of us
  // needs.
  bool look_for_strays(const std::map<ItemId, ItemState>& found, Cost& cost);
  bool worth_a_look(const ItemState& state) const;
  void tell_copies(const ItemId& item, const Ledger& ledger);
  // False: nothing was to do.
  bool attend(ItemState state, bool fresh, bool sweeps);
  std::optional<Looked> look(const ReadRequest& request, PatientTracker& tracker, TroubleKind* why = nullptr);
  // False: it could not be read.
  bool read_state(const ItemId& item, ItemState& state, PatientTracker& tracker);
  // `state`: the item's after it, if that is known now.
  bool act(const Looked& looked, const Step& step, std::optional<ItemState>& state);
  bool act_on_labels(ItemState& state, const Step& step);
  bool put_status(ItemState& state, const std::string& status);
  // `meddled`: labels were not as they were left, so it may be fought over.
  std::optional<ItemState> mirror(const ItemId& item, PatientTracker& tracker, bool meddled = false);
  ItemState mirror(ItemState state, const Ledger& ledger);

  void try_claim(const Looked& looked, const Step& step, Cost cost, Instant began);
  std::optional<Looked> read_back(const ItemId& item, const std::string& nonce, Cost& cost);
  void withdraw(const ItemId& item, const CommentId& claim);
  void untie(const ItemState& state);
  void lost_race();
  void hold(Holding& holding);
  void keep(Holding& holding, const std::atomic<bool>& returned, Event& changed);
  // Reads the item now and then: a person may stop the work.
  void watch(Holding& holding, std::stop_token over);
  // Empty: go on. Nothing: it could not be read.
  std::optional<std::string> why_interrupted(const ItemId& item, const Claim& claim, PatientTracker& tracker);
  void interrupt(Holding& holding, const std::string& why);
  bool renew(Holding& holding);
  void settle(Holding& holding, const RunResult& result, const std::optional<SentBack>& back);
  // The record that ends the claim; nothing: try again. `why`: who works on it was interrupted.
  std::optional<Step> ending_of(const Looked& looked, Holding& holding, const RunResult& result,
                                const std::optional<SentBack>& back, const std::string& why, const std::string& nonce);
  // The reference to the comment that hands the output on; nothing: it is not there yet.
  std::optional<std::string> hand_on(const Looked& looked, const std::string& stage, const std::string& nonce,
                                     const std::string& output);
  void say_why(const ItemId& item, const SentBack& back);
  bool is_held(const ItemId& item) const;
  bool write_record(const Looked& looked, const Step& step, const std::string& nonce, PatientTracker& tracker);

  int free_slots();
  Marker signed_off(Marker marker, const std::string& nonce) const;
  std::string text_of(const Marker& marker, const ItemId& item) const {
    return marker_text(marker, item, options_.protocol.signing);
  }
  Duration jittered(Duration duration);
  std::string chance_word();
  Duration shortest_ttl() const;
  // Calls, and remembers the tracker's clock.
  template <class Call>
  auto asking(Call call) -> decltype(call());
  template <class Change>
  void count(Change change);

  Runtime& runtime_;
  Log log_;
  Tracker& driver_;
  TrackerWorkerOptions options_;
  Budget budget_;
  Account account_;
  std::string worker_;
  std::stop_source stopping_;
  std::stop_source giving_up_;  // outcomes are not waited for any more
  bool only_sweeps_ = false;
  // urgent: what concerns items at hand; hasty: what can be left undone; prompt: claims, which must not be posted long
  // after the time that they carry
  std::unique_ptr<PatientTracker> usual_, urgent_, hasty_, prompt_;
  std::unique_ptr<Event> wake_;
  Hints hints_;
  std::atomic<bool> slot_freed_ = false;
  std::atomic<int> denied_ = 0;  // in a row
  std::atomic<Instant> denied_since_{Instant{}};
  Instant probed_at_{};
  std::atomic<bool> shut_out_ = false;  // for good
  std::size_t spread_ = 1;              // among how many of the oldest items it chooses
  std::map<ItemId, Seen> seen_;
  std::optional<WallTime> strays_after_;
  std::vector<std::unique_ptr<Holding>> holdings_;

  mutable std::mutex mutex_;  // guards what follows; never held across a call
  TrackerMoment moment_;
  std::vector<Duration> work_times_;
  std::set<std::string> copies_told_;
  Duration claim_time_{0};
  TrackerWorkerCounts counts_;
};

}  // namespace fenceline::tracker
