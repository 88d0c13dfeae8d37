// The way from one simulated process to the store: a Store that loses, delays, repeats and refuses, as its
// weather says. A request under way belongs to nobody: it arrives even if its sender is paused or dead.
//
// Needs the whole simulation around it: calls block the fiber they come from, on virtual time.
#pragma once

#include <functional>

#include "sim/runtime/sim_runtime.hpp"
#include "sim/store/store_server.hpp"
#include "sim/store/tally.hpp"
#include "sim/store/weather.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::sim {

class FaultyStore final : public StoreAround<FaultyStore> {
 public:
  // All must outlive it and what it has under way. `weather` may change at any time.
  FaultyStore(SimRuntime& process, Store& inner, StoreServer& server, const Weather& weather, Tally& tally);
  ~FaultyStore() override;

  // Meets no weather: nobody who works asks for it.
  Result<std::vector<Finding>> examine() override { return inner_.examine(); }
  // Tells later than the store does, or not at all.
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override;

 private:
  friend StoreAround<FaultyStore>;

  // What becomes of one request.
  struct Fate {
    bool refused = false;
    bool request_lost = false;
    bool reply_lost = false;
    bool again = false;
    Duration to_store{0};
    Duration in_queue{0};
    Duration to_caller{0};
    Duration until_again{0};
  };

  Fate draw_fate(Duration timeout);
  // `apply` makes the call on the real store, once or twice, from outside every fiber.
  template <class Answer>
  Answer deliver(const StoreVerb& verb, Duration timeout, std::function<Answer()> apply);
  template <class Answer, class... Parameters, class... Given>
  Answer around(const StoreVerb& verb, Answer (Store::*call)(Parameters...), const Given&... given);
  void note(std::string_view verb, std::string_view what);

  SimRuntime& process_;
  StoreServer& server_;
  const Weather& weather_;
  Tally& tally_;
};

}  // namespace fenceline::sim

extern template class fenceline::StoreAround<fenceline::sim::FaultyStore>;
