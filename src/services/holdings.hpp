// What a worker holds, and until when it may trust each lease. Memory and rules only: it calls neither a
// Store nor a Runtime, so `now` is always an argument. Every call is one step; safe from several threads.
//
// `lost` is final: from then on nothing is renewed, started or sent for a delivery, but for the outcome of a
// handler that had returned before. Of a delivery that an operator revoked not even that is sent, only, once nothing
// of it runs, the word that it has stopped.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "services/delivery.hpp"

namespace fenceline {

class Holdings {
 public:
  explicit Holdings(LeaseTimes times) : times_(times) {}

  struct Load {
    int waiting = 0;
    int running = 0;       // lost ones whose handler has not returned included
    int returned = 0;      // outcomes that wait for the store
    bool alone = false;    // one of them must run alone (J5)
    bool unsaid = false;   // the store does not know yet that a revoked delivery has stopped
    bool crowded = false;  // what waited went back unstarted, and no handler has returned since
    int total() const { return waiting + running + returned; }
  };
  Load load() const;
  std::vector<Holding> believed() const;  // not lost, in order

  // Returns those that were revoked before we knew of them: they are not held.
  std::vector<DeliveryPtr> add(Instant now, const std::vector<DeliveryPtr>& deliveries);

  // The next one to run, now in phase running; null if none waits. What waited too long goes back at no cost (J5),
  // which needs only the newest fence: `given_back` is raised by how many.
  DeliveryPtr start_next(Instant now, int& given_back);

  bool has_waiting() const;

  // The handler ended. False if the lease was lost before: then the outcome goes nowhere.
  bool returned(const DeliveryPtr& delivery, Outcome outcome);

  // A graceful stop: what was not started gets the outcome given_back. Returns how many.
  int give_back_waiting();
  // Those whose handler runs, in order.
  std::vector<DeliveryPtr> running() const;
  // The grace of a stop is over: what still runs is not renewed any more, so that its trust ends.
  void stop_renewing_running();

  // When the next renewal, or the next late one, is to be sent.
  std::optional<Instant> next_renewal() const;
  struct Renewal {
    std::vector<DeliveryPtr> live;  // all that is held, each job once
    std::vector<DeliveryPtr> late;  // lost by the clock, certainly ended in the store: sent once to see its refusal
  };
  // What to renew in one call; counts the try for those that were due.
  Renewal begin_renewal(Instant now);
  // The call failed: the late ones are sent again at `again`, a few times.
  void put_off(const std::vector<DeliveryPtr>& late, Instant again);
  // The store extended it. The caller then moves `trust`. False if that came too late: it stays as it was.
  bool renewed(const DeliveryPtr& delivery, Instant answered_at, Duration left);
  // The store refused to extend it. True if that is a loss: not for a handler that returned, whose outcome tells.
  bool refused(const DeliveryPtr& delivery, Instant now);

  // When the first lease that we lost by the clock has ended in the store: its job can be claimed again, also by us.
  std::optional<Instant> next_end_of_lost() const;

  struct Overdue {
    std::vector<DeliveryPtr> told;       // running ones whose handler must be told to stop
    std::vector<DeliveryPtr> lost;       // given up, though their handlers run on
    int given_back = 0;                  // not started for so long that somebody else should have them
    std::vector<DeliveryPtr> timed_out;  // running ones whose attempt has had its time
    // Running ones that were told that all is over, and have not returned within the grace; each once for a reason.
    // Their leases, if they have them still, are not renewed any more.
    struct Ignoring {
      DeliveryPtr delivery;
      bool lost = false;  // it works on without a lease
    };
    std::vector<Ignoring> ignoring;
  };
  // Applies the passing of time (L5).
  Overdue overdue(Instant now);
  std::optional<Instant> next_deadline() const;

  // Outcomes to send, each job once, at most `most` and, from the second on, `bytes` of results; they stay until
  // `settled`.
  std::vector<Settlement> outcomes(std::size_t most, std::size_t bytes) const;
  // What is held under this fence; null if nothing is.
  DeliveryPtr find(const Holding& holding) const;
  // The store answered for it, or it was given up.
  void settled(const Holding& holding);

  // An operator ended these deliveries. Returns those that this changed; a running one's handler must be told.
  std::vector<DeliveryPtr> revoke(const std::vector<Holding>& revoked, Instant now);
  // Revoked deliveries of which nothing runs, to be told to the store, until it knows or they are of no interest to it.
  std::vector<Holding> stopped(Instant now);
  void told_stopped(const std::vector<Holding>& holdings);

 private:
  void give_up(const DeliveryPtr& delivery, Instant now);
  void give_back(const DeliveryPtr& delivery);

  const LeaseTimes times_;
  bool crowded_ = false;
  mutable std::mutex mutex_;
  std::map<Holding, DeliveryPtr> all_;
  std::deque<DeliveryPtr> waiting_;     // in the order of their claims
  std::vector<DeliveryPtr> late_;       // lost by the clock, their refusal not seen yet
  std::map<Holding, Instant> stopped_;  // nothing of these runs; by then the store has freed their slots by itself
  std::map<Holding, Instant> unseen_;   // revoked before the claim was answered; no answer comes after that moment
};

}  // namespace fenceline
