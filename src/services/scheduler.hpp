// Fires the ticks of a namespace's schedules (S1 to S3). Every worker runs one; of several the one that leads acts, and
// the others look now and then whether it still does.
//
// It knows no time but the store's, and keeps nothing that the store does not know: each step leads from where the
// account stands, and is refused if it stands elsewhere. So a leader that was paused, or was replaced without noticing,
// costs a call and nothing else. A step in doubt is sent again as it is; a step that was not taken is planned again.
//
// The store's clock may jump. Ahead: what is open by then fires or is skipped, as the schedule says. Back: ticks that
// fired ahead of it stay, those that were skipped ahead of it are open again.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "runtime/runtime.hpp"
#include "services/schedule_book.hpp"
#include "services/schedule_counts.hpp"
#include "services/schedule_lead.hpp"
#include "services/store_time.hpp"
#include "store/store.hpp"

namespace fenceline {

inline constexpr Duration kScheduleWindowMost = std::chrono::seconds{10};

struct SchedulerOptions {
  std::string ns = "default";
  std::string owner;                              // who fires, for the history
  std::string place;                              // "host:pid"
  Duration window = kScheduleWindowMost;          // how long nobody leads after a leader died
  Duration look_every = std::chrono::seconds{5};  // for what people changed, if no hint comes before
  Duration read_all_every = std::chrono::hours{1};
};

class Scheduler {
 public:
  // All references must outlive it.
  Scheduler(Runtime& runtime, Log log, Store& store, SchedulerOptions options);

  // Until `stop`. A store that is away is waited for; nothing that it answers ends this.
  void run(std::stop_token stop);

  // From any thread.
  ScheduleCounts counts() const { return counters_.snapshot(); }

 private:
  void turn(const std::stop_token& stop);
  Instant next_turn() const;

  // What people changed (schedule_reader.cpp). False: the store did not answer.
  bool look();
  bool read_all();
  bool read_changed();
  // Of these, as they are now; those that are gone are forgotten.
  bool read_again(const std::vector<std::string>& names, bool unfinished);
  Result<SchedulesReply> ask(SchedulesRequest request);
  void take(ScheduleRow row, WallTime now);
  void heard(Instant asked, WallTime now);
  // The clock came back from ahead of these accounts.
  bool mend_ahead(const std::stop_token& stop);
  bool take_back_to(const KnownSchedule& known, WallTime now, const std::stop_token& stop);

  // What is due.
  void fire(const std::stop_token& stop);
  std::vector<TickStep> plan(const std::vector<std::string>& names, const std::stop_token& stop);
  bool cancel(const std::string& schedule, const std::vector<JobId>& jobs, const std::stop_token& stop);
  void send(const std::vector<TickStep>& steps, const std::stop_token& stop);
  void apply(const TickStep& step, const StepAnswer& answer, WallTime now);
  void count_taken(const TickStep& step, const StepAnswer& answer, WallTime now);
  void cannot_use(const std::string& name, std::int64_t revision, std::string_view message);
  void forget(const std::string& name);

  WallTime store_now() const { return time_.earliest_at(runtime_.now()); }
  // The call did not do what it should. Calls again only after a while.
  void failed(std::string_view verb, const Error& error);
  void answered();
  // Sends it until it is no longer in doubt, or there is no more time for it.
  template <class Call>
  auto sure(const Call& call, const std::stop_token& stop);

  Runtime& runtime_;
  Log log_;
  Store& store_;
  const SchedulerOptions options_;
  ScheduleLead lead_;
  StoreTime time_;
  ScheduleBook book_;
  ScheduleCounters counters_;
  const std::unique_ptr<Event> event_;
  std::atomic<bool> hinted_ = false;

  bool leads_ = false;                   // and has looked since
  Fence term_ = 0;                       // that it looked in
  Instant offered_at_ = Instant::min();  // the lead, for what it cannot use
  std::optional<std::int64_t> version_;  // all up to here was seen; empty: nothing yet
  Instant looked_at_ = Instant::min();
  Instant read_all_at_ = Instant::min();
  Instant rests_until_ = Instant::min();  // after a failure
  int failures_ = 0;                      // in a row
  std::set<std::string> again_;           // to be read again
  std::set<std::string> ahead_;           // whose account stands ahead of the clock
  std::set<std::string> contested_;       // of those, which somebody else moved: to be read again at the next look
  std::map<std::string, std::int64_t> unusable_;  // said of this revision
};

}  // namespace fenceline
