// A scenario is a workload, a kind of weather, and checks: safety throughout the storm, progress after it. Each
// seed makes a plan of its own from it and plays that plan.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "handler/handler.hpp"
#include "runtime/runtime.hpp"
#include "sim/checks/violations.hpp"
#include "sim/runtime/random.hpp"
#include "sim/runtime/stack_pool.hpp"
#include "sim/scenarios/plan_change.hpp"
#include "sim/scenarios/seed_history.hpp"
#include "sim/store/tally.hpp"
#include "sim/store/weather.hpp"
#include "store/store.hpp"

namespace fenceline::sim {

// What one handler does with one delivery, by chance.
struct Habits {
  Duration works_most{0};
  double fails = 0;
  double throws = 0;
  double dies = 0;  // asks for the dead letters
  double later = 0;
  double obstinate = 0;  // does not listen to its stop token, for a while
  bool gated = false;    // writes through a gate in the end
  double speaks = 0;     // says how far it is and logs a line, at each act
};

// What handlers do at a provider outside of the store, each under a name of the ledger; by job under `hold`, `repeat`
// or `probe`.
struct Effects {
  int of_a_job = 0;    // zero: there is no provider
  double refused = 0;  // of the requests: declined, nothing happened
  double request_lost = 0;
  double reply_lost = 0;
  Duration takes_most{0};    // of a request, and of a reply
  double in_parallel = 0;    // a second call of the same effect beside the first
  double other_request = 0;  // the same name for another request
};

// What producers make of their jobs, by chance. Shares are of all jobs, or of all requests.
struct Features {
  double keyed = 0;          // has a unique key
  int keys = 1;              // of a queue
  double other_payload = 0;  // of the keyed ones: another payload than their key's first
  Duration key_for_most{0};
  double grouped = 0;
  int groups = 1;      // of a queue
  double limited = 0;  // has a limit key
  int limit_keys = 1;
  double dated = 0;  // of the delayed ones: by a moment in place of a delay
  double timed = 0;  // has a time for each attempt
  Duration timeout_most{0};
  double named = 0;     // of the requests: lines of a file under a batch name
  double repeated = 0;  // of the requests: sent again, though it was acknowledged
};

// What people do meanwhile: about every `act_every` one act, each as often as its weight says.
struct Operators {
  Duration act_every{0};  // zero: nobody is there
  int cancel = 0;
  int retry = 0;
  int pause = 0;  // or resume, if it is paused
  int purge = 0;
  int limits = 0;
  int order = 0;  // to a worker: quiet, work or stop
  int tidy = 0;
  int resolve = 0;           // effects in doubt, from the provider's own books
  int rebase = 0;            // lifts the floor, if gates remember more than the store
  int limit_most = 4;        // of a queue; of a key: half of it
  double leaves_paused = 0;  // a queue stays paused when the storm is over, until the rest has ended
};

// What hosts do if there are locks: each of their fibers takes one after the other, through a lock client. Shares are
// of all requests.
struct LockWork {
  int names = 0;  // zero: hosts work on jobs
  double shared = 0;
  double several = 0;  // two or three names at once
  double slotted = 0;  // of a lock that has `slots` holders at a time
  int slots = 2;
  double loops = 0;  // held to its end, of windows as long as a ttl
  double elections = 0;
  double at_least = 0;  // held at least for up to a ttl
  double delayed = 0;   // with a delay of up to a ttl after a loss
  double skips = 0;     // give up at once if it is taken
  double retries = 0;   // ask again with jitter, and take no place
  double entered_again = 0;
  double abandons = 0;  // drop what they hold
  Duration works_most{0};
  Duration rests_most{0};
  Duration waits_most{0};
  Duration break_every{0};  // by an operator; zero: never
  Duration tidy_every{0};
  bool nothing_lost =
      false;  // no message and no process: then nobody is overtaken, and a process waits once for a name
};

// What hosts do if there are schedules: each runs a scheduler, and jobs are claimed and finished now and then, by
// nobody in particular; or whole workers, which do all of that.
struct ScheduleWork {
  int count = 0;  // zero: none
  bool workers = false;
  Duration tidy_every{0};  // of workers; zero: as in earnest
  Duration window{0};      // of the lead
  Duration look_every{0};
  Duration act_every{0};  // of people: they add, change, pause, resume, rewind, remove and run
  Duration finish_every{0};
  Duration clock_every{0};  // the store's wall clock is set, to and fro
  Duration clock_most{0};
  Duration far_every{0};       // it shows 2199 or 2200
  Duration far_most{0};        // for so long
  double strike_at_tick = 0;   // of the steps: some process is killed or stopped right after
  bool clocks_change = false;  // it begins some days before clocks change in one of five zones
};

// What hosts do if there is a backlog on an issue tracker, and what befalls it; of the weather only messages, kills and
// pauses count there. Shares are of the answers, or of the changes.
struct TrackerWork {
  bool on = false;
  bool swap = false;          // statuses and compare-and-swap, in place of labels
  bool unordered = false;     // ids of comments say nothing of their order
  bool quiet_claims = false;  // a claim changes no label
  double stale = 0;           // answers that are up to three minutes behind
  double torn = 0;            // labels and comments of different moments
  double shifted = 0;         // a page that lacks something
  double errors = 0;          // 5xx, after the write or in place of it
  Duration forge_every{0};
  Duration tamper_every{0};
  Duration replace_every{0};  // a bot writes whole sets of labels
  Duration meddle_every{0};
  Duration command_every{0};  // a person whose word counts moves an item
  double webhooks = 0;        // are delivered
  double doubled = 0;         // of those, twice
  Duration late_most{0};
  double sends_back = 0;  // of the runs
  Duration within{0};     // an approval is waited for
  int then = 0;           // as EntryEnd
};

// Where the numbers of a store begin.
struct Numbers {
  Duration wall_ahead{0};       // of its wall clock, and so of fences
  std::int64_t order = 0;       // of enqueues
  std::int64_t deliveries = 0;  // of each new job; the memory store only
};

// One run, all sizes fixed.
struct Plan {
  bool sqlite = false;                           // SQLite in memory underneath, else the memory store
  GuaranteeClass guarantee = GuaranteeClass::b;  // what a crash of the store may take
  Numbers numbers;
  int healthy_hosts = 0;  // if not zero: liveness. All workers but so many have a fault that never ends
  int hosts = 1;          // with one worker process each
  int concurrency = 1;
  int prefetch = 0;
  int queues = 1;
  Duration ttl{};
  int producers = 1;
  int jobs = 1;
  int batch_most = 1;  // jobs in one enqueue
  Duration enqueue_pause_most{0};
  double delayed = 0.3;        // of the jobs
  Duration job_delay_most{0};  // run times ahead
  int attempts_max = kAttemptsMaxDefault;
  Backoff backoff{.first = std::chrono::seconds{1}, .most = std::chrono::minutes{10}};
  double poison = 0;     // of the jobs: their handlers kill their process until they are dead letters
  int poison_count = 0;  // beside those, so many for sure
  Features features;
  QueueChange settings;  // of all queues, from the start
  Habits habits;
  Effects effects;
  LockWork locks;
  ScheduleWork schedules;
  TrackerWork tracker;
  Operators operators;
  Weather weather;
  Duration storm{};                      // how long the weather lasts
  std::int64_t drift_ppm = 0;            // of clocks, either way
  std::int64_t drift_promised = 20'000;  // clocks off by more are outside L5: their late writes must still be refused
  double wild_clock = 0;                 // of the machines: far beyond what L5 promises
  bool deaf = false;                     // wake-ups are lost after the storm too
  bool nothing_lost = false;             // J5: nothing in this plan may cost a delivery
  bool fences_end = false;               // its clock passes the last fence for a while: grants are refused then
  bool only_poison_dies = false;         // J5: the poison ends in the dead letters, and all else is done
  Duration cancel_seen_within{
      0};                  // a handler acts no longer than that after its job was cancelled; zero: messages may be lost
  int compare_every = 32;  // calls between two comparisons of the whole store
  bool pipeline = false;   // items through stages and entry conditions, by workers and people: a world of its own
};

// Whether a store that cannot go back to an earlier moment can play it.
bool needs_snapshots(const Plan& plan);

struct Scenario {
  std::string_view name;
  std::string_view summary;
  Plan (*plan)(Random&);
  // What it is about: a campaign in which one of these never happened proved nothing.
  std::vector<Count> owes;
};

// All of them, in the order in which they are listed to people.
const std::vector<Scenario>& scenarios();
const Scenario* find_scenario(std::string_view name);

struct SeedReport {
  Tally tally;
  Duration simulated{};
  std::vector<Violation> violations;
  std::string trace;    // if asked for
  std::string history;  // if it was audited and something was found
  bool stopped = false;
};

struct SeedOptions {
  bool tracing = false;
  std::stop_token stop;                                                     // asked now and then
  PlanChange change = {};                                                   // of the seed's plan
  std::int64_t operations_most = std::numeric_limits<std::int64_t>::max();  // then it ends, with what was found by then
  // In place of the made-up ones, for handlers of users: their jobs (ids are made here), what runs them, and who is
  // shown the jobs in the end.
  std::vector<NewJob> jobs = {};
  std::function<RunResult(const Run&, Runtime& process, const std::string& worker)> handler = {};
  std::function<void(std::vector<Job>)> at_end = {};
  // What operators find out of an effect in doubt: its result if it happened. None: the made-up provider's books.
  std::function<std::optional<std::string>(const Effect&)> books = {};
  // Puts something between the checks and the real store: how tests plant a bug.
  std::function<std::unique_ptr<Store>(Store&)> wrap_store;
  Audit audit = Audit::by_seed;  // whether the seed's history goes to the checker too
  bool audit_alone = false;      // what the simulator's own checks find counts for nothing
};

// What a seed makes of a scenario.
Plan plan_of(const Scenario& scenario, std::uint64_t seed);

// Plays one seed. The same seed gives the same report, byte for byte, in every build.
SeedReport play(const Plan& plan, std::uint64_t seed, StackPool& stacks, const SeedOptions& options);
SeedReport play(const Scenario& scenario, std::uint64_t seed, StackPool& stacks, const SeedOptions& options = {});

}  // namespace fenceline::sim
