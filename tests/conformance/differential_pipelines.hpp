// The part of the stream that is about pipelines and their items: all jobs of the stream are items now and then. It has
// chance of its own, and moves no clock. Items are put on the stages that the rest of the stream serves, so that all
// its verbs meet them, and on one more, which is served here.
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

#include "conformance/reply_text.hpp"
#include "store/store.hpp"

namespace fenceline::test {

class DifferentialPipelines {
 public:
  using Note = std::function<void(const std::string& verb, const std::string& answer)>;
  using Compare = std::function<void(const std::string& verb, const std::string& request, const std::string& expected,
                                     const std::string& got)>;

  DifferentialPipelines(Store& oracle, Store& store, std::uint64_t seed, Note note, Compare compare)
      : oracle_(oracle), store_(store), chance_(seed), note_(std::move(note)), compare_(std::move(compare)) {}

  // One operation, or none.
  void step();
  // While the clock shows a time at which no fence is left.
  void with_no_fences_left();
  // All pipelines and items of both namespaces.
  void compare_everything();

 private:
  // A delivery that once was.
  struct Delivery {
    std::string ns;
    std::string owner;
    Holding holding;
  };

  void put_pipeline();
  void put_too_many();
  void pipelines();
  void items();
  void change_items();
  void work();

  std::vector<Job> jobs_in(const std::string& ns, JobState state);
  Item item(const std::string& ns, const JobId& id);
  Placement made_up_place(const Job& job, bool by_holder);
  // Of a job as the oracle has it; `owner` is that of the request.
  ItemChange made_up_change(const std::string& ns, const Job& job, std::string& owner);
  ChangeItemsRequest made_up_changes();
  void spoil(ChangeItemsRequest& request);
  void send(const ChangeItemsRequest& request, bool repeat);
  void note_made(const ItemChange& change, const Job& before);
  // It opens no gate.
  void retry_waiting(const std::string& ns, const JobId& id);
  void look_at_revoked(const std::string& ns, const Job& before, const std::string& stage);

  std::uint64_t below(std::uint64_t n) { return chance_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[below(items.size())];
  }

  template <class Call>
  auto both(const std::string& verb, const std::string& request, const Call& call) {
    const auto expected = call(oracle_);
    const auto got = call(store_);
    compare_(verb, request, text_of(expected), text_of(got));
    if (!expected) note_(verb, std::string(to_string(expected.error().code)));
    return expected;
  }

  Store& oracle_;
  Store& store_;
  std::mt19937_64 chance_;
  Note note_;
  Compare compare_;
  std::uint64_t steps_ = 0;
  std::uint64_t last_number_ = 0;
  std::deque<ChangeItemsRequest> changes_;  // the last ones that were not malformed
  std::deque<Delivery> deliveries_;         // the last ones that were seen
};

}  // namespace fenceline::test
