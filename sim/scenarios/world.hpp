// One run of one plan: the store, its machines and processes, and the weather over them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "backends/memory/memory_store.hpp"
#include "fenceline/gated_file.hpp"
#include "sim/checks/handler_checks.hpp"
#include "sim/checks/lock_checks.hpp"
#include "sim/checks/schedule_checks.hpp"
#include "sim/checks/store_checks.hpp"
#include "sim/runtime/machine.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "sim/runtime/simulation.hpp"
#include "sim/scenarios/scenario.hpp"
#include "sim/store/faulty_store.hpp"
#include "sim/store/recording_store.hpp"
#include "sim/store/store_server.hpp"

namespace fenceline::sim {

inline constexpr std::string_view kNamespace = "sim";
inline constexpr Instant kStart{std::chrono::hours{1}};  // so that moments before the start are moments too
inline constexpr Duration kOperatorTimeout = std::chrono::seconds{5};  // of a call
inline std::string queue_name(int number) { return "q" + std::to_string(number); }

// A store's clock: the time of its machine.
class MachineClock final : public Clock {
 public:
  MachineClock(const Simulation& simulation, const Machine& machine) : simulation_(simulation), machine_(machine) {}
  Instant now() const override { return machine_.local(simulation_.now()) + shift_; }
  WallTime wall_now() const override { return machine_.wall(simulation_.now()) + shift_; }
  std::string boot_id() const override { return machine_.name(); }

  // Someone sets the clock of a server, which has only one: leases run on it too.
  void shift(Duration by) { shift_ += by; }

 private:
  const Simulation& simulation_;
  const Machine& machine_;
  Duration shift_{0};
};

// True time, and the store's wall clock.
class TrueClock final : public Clock {
 public:
  TrueClock(const Simulation& simulation, const Machine& store) : simulation_(simulation), store_(store) {}
  Instant now() const override { return simulation_.now(); }
  WallTime wall_now() const override { return store_.wall(simulation_.now()); }
  std::string boot_id() const override { return "true"; }

 private:
  const Simulation& simulation_;
  const Machine& store_;
};

// What is given to the checker of a seed's history.
Audit audit_of(std::uint64_t seed, const SeedOptions& options);

class Provider;

class World final : public StoreObserver {
 public:
  // `stacks` and `options` must outlive it.
  World(std::uint64_t seed, const Plan& plan, StackPool& stacks, const SeedOptions& options);
  ~World() override;

  SeedReport run();

  // For what runs in the processes.
  const Plan& plan() const { return plan_; }
  const SeedOptions& options() const { return options_; }
  Simulation& simulation() { return simulation_; }
  StoreChecks& checks() { return *checks_; }
  LockChecks& locks() { return *lock_checks_; }
  HandlerChecks& handlers() { return *handler_checks_; }
  Tally& tally() { return tally_; }
  StoreServer& server() { return server_; }
  Violations& violations() { return violations_; }
  // None: this seed is not audited.
  SeedHistory* history() { return history_.get(); }
  bool storm() const { return storm_; }
  Provider& provider() { return *provider_; }
  // A write under this fence comes to the gate of its job.
  GateVerdict pass_gate(const JobId& id, Fence fence);
  bool is_poison(const JobId& id) const { return poison_.contains(id); }
  // One of those that want locks had what it asked for.
  void served(const std::string& user) { served_.insert(user); }
  // A handler ends the process it is in; does not return.
  void die_of(SimRuntime& process, const Run& run);

 private:
  // One start of one program.
  struct Process;
  enum class Role { works, produces, operates };
  // What never ends, in a plan with a healthy core.
  enum class Lasting { none, paused, cut_off, cut_one_way, dies };
  // A machine that is to have its program running, whatever happens.
  struct Host {
    std::unique_ptr<Machine> machine;
    Role role = Role::works;
    int number = 0;                 // among those of its role
    std::vector<Process*> running;  // the last one is the newest
    int starts = 0;
    Weather weather;  // on its wire
    Lasting lasting = Lasting::none;
  };
  // What a store can go back to, and what must be true of it then.
  struct Kept {
    std::shared_ptr<const MemoryStore::Snapshot> store;
    StoreTruth truth;
    LockTruth locks;
    ScheduleTruth schedules;
    std::int64_t operations = 0;
  };
  // A request of a producer, the same at each repeat.
  struct Batch {
    std::uint64_t number = 0;
    int producer = 0;
    std::string name;  // of the file whose lines these are; empty: of none
    std::vector<NewJob> jobs;
    bool answered = false;  // they are in, or were refused for good
  };
  // An act of an operator, the same at each repeat.
  using Deed = std::function<Result<void>(Store&)>;

  void applied(const Applied& applied) override;

  void make_store();
  void make_history(Audit audit);
  void make_hosts();
  void make_settings();
  void make_batches();
  NewJob make_job(int number);
  std::vector<std::string> queue_names() const;
  void start_on(Host& host);
  void ended(Host& host, Process& process, ProcessEnd end);
  void work(Process& process, std::stop_token stop);

  // Locks (lock_work.cpp).
  void hold_locks(Process& process, std::stop_token stop);
  void break_some_lock();
  void everybody_is_served();

  // Schedules (schedule_work.cpp).
  void make_schedules();
  void begin_schedule_faults();
  void fire_ticks(Process& process, std::stop_token stop);
  void change_schedules(Process& process, std::stop_token stop);
  void change_some_schedule(Process& process, std::stop_token stop);
  Result<void> do_to_some_schedule(Process& process, std::stop_token stop);
  ScheduleSpec some_spec();
  void finish_some_jobs();
  void set_clock_far();
  void strike_after_a_step();
  void every_tick_ends();
  void remove_schedules();

  void produce(Process& process, int producer, std::stop_token stop);
  void send(Process& process, Batch& batch, std::stop_token stop);
  bool open_file(Process& process, Batch& batch, std::stop_token stop);
  bool all_enqueued() const;

  void operate(Process& process, std::stop_token stop);
  // Repeats it until it has its answer. False if asked to stop before.
  bool carry_out(Process& process, std::stop_token stop);
  void do_last_duties(Process& process, std::stop_token stop);
  // Until it is asked to stop: what was in doubt when the storm was over may show only later.
  void go_on_resolving(Process& process, std::stop_token stop);
  Deed some_deed();
  std::vector<JobId> some_jobs(bool (*preferred)(const KnownJob&));
  std::string some_queue();
  std::string fresh_request();

  // Effects in doubt (doubts.cpp).
  Duration doubt_is_ripe_after() const;
  std::optional<std::string> in_the_books(const Effect& effect) const;
  Result<void> resolve_doubts(Store& store);
  void books_agree();
  bool someone_resolves() const { return plan_.operators.resolve > 0; }
  Result<void> rebase_gates(Store& store);

  void begin_storm();
  void end_storm();
  // About that often while the storm lasts.
  void every(Duration mean, std::function<void()> what);
  void on_step(SimRuntime& process);
  Process* some_process();
  void kill(SimRuntime& process);
  void pause(SimRuntime& process);
  void resume(SimRuntime& process);
  void suspend(Host& host);
  void jump_some_wall_clock();
  void leap_ahead();
  void restart_fleet();
  void set_weather(const Weather& weather);

  // The store (store_faults.cpp).
  Kept keep() const;
  void go_back_to(const Kept& kept, GuaranteeClass guarantee);
  void begin_store_faults();
  void crash_store();
  void restart_store();
  void restore_store();
  void set_store_clock_back();
  void set_server_clock_ahead();
  void pass_the_last_fence();

  // Faults that never end (lasting_faults.cpp).
  void begin_lasting_faults();
  void begin_lasting(Host& host);
  void kill_again_and_again(Host& host);
  bool is_well(const Host& host) const { return host.lasting == Lasting::none; }

  Store& at_store() { return noted_ ? *noted_ : *recorded_; }
  Store& own() { return own_ ? *own_ : at_store(); }
  bool over() const {
    return options_.stop.stop_requested() || !violations_.empty() ||
           tally_.of(Count::operations) > options_.operations_most;
  }
  void ends_in_time();
  void wait_for_the_rest(Duration patience);
  void resume_what_was_left();
  void ends_as_planned();
  void show_the_end();
  void starts_soon();
  void stops_in_time();
  void give_to_the_checker(SeedReport& report);

  Plan plan_;
  const SeedOptions& options_;
  Simulation simulation_;
  Violations violations_;
  Tally tally_;
  Weather weather_;
  bool storm_ = false;
  bool closing_ = false;
  Machine store_machine_;
  MachineClock store_clock_;
  std::unique_ptr<Runtime> store_runtime_;
  std::unique_ptr<Store> real_store_;
  MemoryStore* memory_ = nullptr;  // the real one, if it can go back
  StoreServer server_;
  std::map<Instant, Kept> snapshots_;
  bool store_fault_ = false;      // one is under way
  bool server_is_ahead_ = false;  // the clock that its leases run on
  std::unique_ptr<Store> wrapped_store_;
  std::unique_ptr<StoreChecks> checks_;
  std::unique_ptr<LockChecks> lock_checks_;
  std::unique_ptr<ScheduleChecks> schedule_checks_;
  std::unique_ptr<HandlerChecks> handler_checks_;
  std::unique_ptr<RecordingStore> recorded_;
  TrueClock true_clock_;
  std::unique_ptr<SeedHistory> history_;
  std::unique_ptr<Store> noted_;  // what reaches the store passes here, if that is what the history is of
  std::unique_ptr<Store> own_;    // for what the world itself does
  std::set<JobId> poison_;
  std::vector<Batch> batches_;
  Deed deed_;                      // at hand, whoever of the operator's starts carries it out
  std::string clock_change_zone_;  // of the schedules of this seed, most of them
  std::string left_paused_;        // a queue; empty: none
  bool duties_done_ = false;
  std::unique_ptr<Provider> provider_;
  std::map<std::tuple<JobId, std::string, std::string>, Instant>
      doubts_seen_;                  // job, effect and call: when an operator first saw it
  std::map<JobId, Fence> gates_;     // what each remembers; no part of the store, so it cannot forget
  std::set<JobId> behind_;           // whose last write met a gate that remembered more than the store
  std::set<std::string> served_;     // since the storm was over
  std::vector<std::string> owners_;  // of all workers that ever started
  std::vector<Host> hosts_;
  std::vector<std::unique_ptr<Process>> processes_;  // all there ever were: requests under way point to them
};

}  // namespace fenceline::sim
