// One run of a plan with a pipeline: workers of its stages, each with its entry keeper, people who decide, and the
// weather over them. The rules that it must keep are in item_checks.hpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "handler/handler.hpp"
#include "sim/checks/item_checks.hpp"
#include "sim/runtime/machine.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "sim/scenarios/scenario.hpp"
#include "sim/scenarios/world.hpp"
#include "sim/store/faulty_store.hpp"
#include "sim/store/store_server.hpp"

namespace fenceline::sim {

class PipelineWorld {
 public:
  // `stacks` and `options` must outlive it.
  PipelineWorld(std::uint64_t seed, const Plan& plan, StackPool& stacks, const SeedOptions& options);
  ~PipelineWorld();

  SeedReport run();

 private:
  struct Process;
  // A machine that is to have its program running, whatever happens.
  struct Host {
    std::unique_ptr<Machine> machine;
    int number = 0;
    bool people = false;
    std::vector<Process*> running;
    int starts = 0;
  };
  class Work;

  void make_store(Audit audit);
  void make_items();
  void start_on(Host& host);
  void ended(Host& host, Process& process);
  void work(Process& process, int number, std::stop_token stop);
  void decide(Process& process, std::stop_token stop);
  // The same stages with other entry conditions.
  PipelineSpec edited();
  Process* some_process();
  void every(Duration period, std::function<void()> action);
  void begin_storm();
  bool over() const;
  bool all_finished();

  const Plan& plan_;
  const SeedOptions& options_;
  const PipelineSpec spec_;
  Simulation simulation_;
  Machine store_machine_;
  MachineClock store_clock_;
  Tally tally_;
  Violations violations_;
  std::unique_ptr<SimRuntime> store_runtime_;
  std::unique_ptr<Store> real_store_;
  std::unique_ptr<Store> wrapped_store_;
  std::unique_ptr<ItemChecks> checks_;
  TrueClock true_clock_;
  std::unique_ptr<SeedHistory> history_;  // none: this seed is not audited
  std::unique_ptr<Store> noted_;          // what reaches the store passes here, if that is what the history is of
  std::unique_ptr<Store> own_;            // for what the world itself does, if it is of the processes
  StoreServer server_;
  Weather weather_;
  bool storm_ = true;
  bool closing_ = false;
  std::vector<JobId> items_;
  std::vector<Host> hosts_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace fenceline::sim
