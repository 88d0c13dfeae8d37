// The stream of one seed: what it remembers, and one method a verb that makes the next request up, sends it to
// both stores and notes what the oracle answered.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "conformance/differential.hpp"
#include "conformance/differential_locks.hpp"
#include "conformance/differential_pipelines.hpp"
#include "conformance/differential_schedules.hpp"
#include "conformance/reply_text.hpp"

namespace fenceline::test {

inline constexpr std::uint64_t kJobsAlike = 400;  // in one call, at most

class DifferentialStream {
 public:
  DifferentialStream(Store& oracle, Store& store, ManualClock& clock, std::uint64_t seed, bool alike = false);

  // One operation; every so often the whole listing as well.
  void step();

  const AnswersSeen& seen() const { return seen_; }
  const std::optional<std::string>& difference() const { return difference_; }

 private:
  struct Remembered {
    std::string ns;
    std::string owner;
    Holding holding;
  };

  // Verbs. Each may make its request malformed.
  void enqueue();
  void claim();
  void claim_with_no_fences_left();
  void give_back();
  void extend();
  void settle();
  // The same for jobs that are alike, many at once.
  void enqueue_alike();
  void extend_alike();
  void settle_alike();
  void job();
  void jobs();
  void add_details(JobsRequest& request);
  void ids();
  void ids_ending();
  void backlog();
  void report_worker();
  void remove_worker();
  void workers();
  void trail();
  void remove_namespace();
  void compare_everything();
  void open_batch();
  void record();
  void log();
  void cancel();
  void retry();
  void purge();
  void set_queue();
  void pause();
  void queues();
  void tidy();
  void facts();
  void attempts();
  void order_worker();
  void orders();
  void stopped();
  void begin_effect();
  void finish_effect();
  void resolve_effect();
  void effects();
  void raise_floor();
  // The world goes on.
  void let_time_pass();
  void let_days_pass();
  void set_wall_clock();

  // Chance.
  std::uint64_t below(std::uint64_t n) { return chance_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[below(items.size())];
  }
  std::string any_namespace();
  std::string any_owner();
  std::vector<std::string> any_queues();
  std::string any_stage();
  Duration any_ttl();
  NewJob made_up_job(bool among_many);
  // Most of them known, and known to be interesting.
  std::pair<std::string, JobId> any_job();
  std::optional<JobId> one_such(const std::string& ns, const std::function<bool(const Job&)>& is_such);
  ActRequest made_up_act();
  // Sends the act to both; notes what it found each job to be.
  void send_act(const std::string& verb, const ActRequest& request);
  // A delivery was revoked: what is seen of it, and by those behind it, before its slot is free.
  void look_at_revoked(const std::string& ns, const Job& job);
  void compare_facts(const std::string& ns, const JobId& id);
  void compare_log(const std::string& ns, const JobId& id);
  void compare_orders(const std::string& ns, const std::string& owner);
  // Notes what the attempts of a job show.
  void compare_attempts(const std::string& ns, const JobId& id);
  ClaimRequest made_up_claim();
  BeginEffectRequest made_up_call();
  void hold_two(BeginEffectRequest request);
  void send_finish(const BeginEffectRequest& call);
  void send_resolve(const std::string& ns, const std::optional<Effect>& effect);
  // Page by page to the end.
  void compare_effects(EffectsRequest request);
  void send_claim(const ClaimRequest& request);
  // A few of those remembered, most of them fresh, some spoiled, no job twice; and who sends them.
  std::vector<Holding> some_holdings(std::string& ns, std::string& owner);
  // Those of one grant that are still remembered, or a stretch of them, in their order, with gaps.
  std::vector<Holding> holdings_alike(std::string& ns, std::string& owner);
  void send_settle(const SettleRequest& request);
  void spoil(std::string& ns, std::string& owner, Duration& ttl);

  void note(const std::string& verb, const std::string& answer) { seen_[{verb, answer}] += 1; }

  // Calls both, compares, and answers what the oracle said.
  template <class Call>
  auto both(const std::string& verb, const std::string& request, const Call& call) {
    const auto expected = call(oracle_);
    const auto got = call(store_);
    compare(verb, request, text_of(expected), text_of(got));
    if (!expected) note(verb, std::string(to_string(expected.error().code)));
    return expected;
  }
  void compare(const std::string& verb, const std::string& request, const std::string& expected,
               const std::string& got);

  Store& oracle_;
  Store& store_;
  ManualClock& clock_;
  std::mt19937_64 chance_;
  std::mt19937_64 details_{1};  // of lists
  std::uint64_t seed_;
  std::int64_t operations_ = 0;
  AnswersSeen seen_;
  std::optional<std::string> difference_;

  // Plain jobs whose ids are of one millisecond, `step` apart.
  struct Crowd {
    std::string ns;
    std::string queue;
    WallTime at;
    std::uint64_t first;
    std::uint64_t step;
    std::uint64_t size;
    bool whole = false;  // none is left out, and they ascend
  };
  Crowd any_crowd();

  const bool alike_;
  DifferentialLocks locks_;
  DifferentialSchedules schedules_;
  DifferentialPipelines pipelines_;
  std::uint64_t last_number_ = 0;
  std::deque<Crowd> crowds_;                              // the last ones
  std::vector<std::pair<std::string, NewJob>> enqueued_;  // by namespace
  std::deque<Remembered> holdings_;
  std::deque<ClaimRequest> claims_;
  std::deque<std::pair<std::string, ActRequest>> acts_;  // by verb
  std::deque<BeginEffectRequest> calls_;                 // of effects, that were not refused
  struct Logged {
    std::string ns;
    JobId id;
  };
  std::deque<Logged> logged_;                 // the last ones that logged something
  std::map<Holding, std::int64_t> log_ends_;  // how far each delivery has logged
  bool workers_die_ = false;                  // for a while nearly nothing is settled or renewed
  bool crowded_ = false;                      // for a while nothing new is enqueued
  Duration wall_offset_{0};                   // by how much the wall clock was set
};

}  // namespace fenceline::test
