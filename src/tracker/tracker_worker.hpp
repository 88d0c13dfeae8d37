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
  std::string to;      // one that is not before the place where it is worked on: as if nothing was asked for
  std::string reason;  // in words, for whoever works on it next; may be empty
};

// What a worker does at a place: a stage, or a gate with a check (`gate:S`).
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
  Duration drain_grace = std::chrono::seconds{30};
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
  std::int64_t voided = 0;  // outcomes of an older generation
  std::int64_t lost = 0;    // handlers that were stopped because their claim ended
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

class TrackerWorker {
 public:
  TrackerWorker(Runtime& runtime, Log log, Tracker& tracker, TrackerWorkerOptions options);
  ~TrackerWorker();

  // Works until `stop`, or forever. Errors: refused (a precondition does not hold, or the account is none of the
  // workers'), denied (also while it works: its token was refused three times in a row, for a minute, and is), and what
  // else ends it.
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
  // What became of an item when it was last looked at; those that are behind us go.
  struct Seen {
    WallTime updated_at{};
    std::string reason;
    std::optional<WallTime> again;
    WallTime looked_at{};
  };

  void make_patient();
  Result<void> greet(std::stop_token stop);
  Result<void> know_statuses();
  Result<void> still_fit();
  // When the tracker has said three times in a row, and for a minute, that we may not; far away before the third.
  Instant shut_out_at() const;
  // At that time it is asked once more. Errors: denied.
  Result<void> still_let_in();
  // Whether something was done, or is being done by anybody.
  bool scan(bool sweeps);
  void look_at_hints();
  Answer<std::vector<ItemState>> list_of(const ListRequest& request, Cost& cost);
  // Items without a label of ours that changed since the last such look: somebody may have taken off what one of us
  // needs.
  bool look_for_strays(const std::map<ItemId, ItemState>& found, Cost& cost);
  bool worth_a_look(const ItemState& state) const;
  // False: nothing was to do.
  bool attend(ItemState state, bool fresh, bool sweeps);
  std::optional<Looked> look(const ReadRequest& request, PatientTracker& tracker, TroubleKind* why = nullptr);
  // False: it could not be read.
  bool read_state(const ItemId& item, ItemState& state, PatientTracker& tracker);
  // `state`: the item's after it, if that is known now.
  bool act(const Looked& looked, const Step& step, std::optional<ItemState>& state);
  bool act_on_labels(ItemState& state, const Step& step);
  // `meddled`: labels were not as they were left, so it may be fought over.
  std::optional<ItemState> mirror(const ItemId& item, PatientTracker& tracker, bool meddled = false);
  ItemState mirror(ItemState state, const Ledger& ledger);

  void try_claim(const Looked& looked, const Step& step, Cost cost, Instant began);
  std::optional<Looked> read_back(const ItemId& item, const std::string& nonce, Cost& cost);
  void withdraw(const ItemId& item, const CommentId& claim);
  void hold(Holding& holding);
  void keep(Holding& holding, const std::atomic<bool>& returned, Event& changed);
  bool renew(Holding& holding);
  void settle(Holding& holding, const RunResult& result, const std::optional<SentBack>& back);
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
  bool only_sweeps_ = false;
  std::unique_ptr<PatientTracker> usual_, urgent_,
      hasty_;  // urgent: what concerns items at hand; hasty: what can be left undone
  std::unique_ptr<Event> wake_;
  Hints hints_;
  std::atomic<bool> slot_freed_ = false;
  std::atomic<int> denied_ = 0;  // in a row
  std::atomic<Instant> denied_since_{Instant{}};
  std::atomic<bool> shut_out_ = false;  // for good
  std::map<ItemId, Seen> seen_;
  std::optional<WallTime> strays_after_;
  std::vector<std::unique_ptr<Holding>> holdings_;

  mutable std::mutex mutex_;  // guards what follows; never held across a call
  TrackerMoment moment_;
  std::vector<Duration> work_times_;
  Duration claim_time_{0};
  TrackerWorkerCounts counts_;
};

}  // namespace fenceline::tracker
