// Watches what becomes of the items of a pipeline, at the store and in handlers, and says which promise is broken: P1,
// work at a stage starts only after the stage before has an accepted outcome and its entry condition is met; P2, the
// advance and the release of the claim are one step. Its rules are its own: of the pipeline it knows the file, not the
// code.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/pipeline.hpp"
#include "sim/checks/violations.hpp"
#include "sim/runtime/simulation.hpp"
#include "sim/store/tally.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::sim {

inline constexpr std::string_view kItemNamespace = "sim";

class ItemChecks final : public ForwardingStore {
 public:
  // `store` is the real one. All must outlive it.
  ItemChecks(Simulation& simulation, Store& store, PipelineSpec spec, Violations& violations, Tally& tally)
      : ForwardingStore(store),
        simulation_(simulation),
        spec_(std::move(spec)),
        violations_(violations),
        tally_(tally) {}

  // A handler begins to work on an item.
  void begins(const Job& job);
  // It, or the check before a stage, said done.
  void said_done(const Job& job, bool check) { (check ? checked_ : worked_).insert({job.id, job.fence}); }

  Result<ClaimReply> claim(const ClaimRequest& request) override;
  Result<SettleReply> settle(const SettleRequest& request) override;
  Result<ChangeItemsReply> change_items(const ChangeItemsRequest& request) override;
  Result<PipelineRow> put_pipeline(const PutPipelineRequest& request) override;

 private:
  struct Story {
    std::string may_be_at;                 // a stage that it came to by a lawful way; empty: it waits before one
    std::set<std::string> approvers = {};  // since it began to wait
    std::set<Fence> ended = {};            // deliveries that moved it
  };

  Story& story_of(const JobId& id);
  void changed(const ChangeItemsRequest& request, const ItemChange& change, const Item& before, const Item& after);
  void came_to_entry(const ItemChange& change, const std::string& from, bool was_at_entry, const std::string& stage);
  void came_to_stage(const ItemChange& change, const std::string& from, bool was_at_entry, const std::string& stage);
  void count(const ItemChange& change);
  bool worked(const ItemChange& change) const { return change.fence && worked_.contains({change.id, *change.fence}); }
  std::size_t number_of(const std::string& stage) const;
  // Whether that is so of the entry condition of a stage as it is, or was a moment ago: a decision under way when it
  // was edited follows the old file.
  template <class Is>
  bool some_entry(const std::string& stage, Is is) const;
  void broken(std::string_view promise, const JobId& id, const std::string& what);

  Simulation& simulation_;
  const PipelineSpec spec_;                              // stages stay as they are
  std::vector<std::pair<Instant, PipelineSpec>> edits_;  // and since when; the newest one last
  Violations& violations_;
  Tally& tally_;
  std::map<JobId, Story> stories_;
  std::set<std::pair<JobId, Fence>> worked_;
  std::set<std::pair<JobId, Fence>> checked_;
};

}  // namespace fenceline::sim
