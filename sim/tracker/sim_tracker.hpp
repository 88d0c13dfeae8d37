// The wire between a simulated process and a tracker: requests and replies take time, are lost, come late; what was
// sent arrives even if its sender is paused or dead by then.
#pragma once

#include <memory>
#include <optional>

#include "sim/runtime/sim_runtime.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::sim {

struct TrackerWire {
  double drop_request = 0;
  double refuse_request = 0;  // and the sender is told
  double drop_reply = 0;
  double late_request = 0;  // arrives long after its sender gave up
  Duration delay_most = std::chrono::milliseconds{200};
};

class SimTracker final : public tracker::Tracker {
 public:
  // `wire` may change meanwhile. All must outlive what was sent.
  SimTracker(SimRuntime& process, tracker::Tracker& server, const TrackerWire& wire)
      : process_(process), server_(server), wire_(wire) {}

  tracker::Capabilities capabilities() const override { return server_.capabilities(); }
  std::string place() const override { return server_.place(); }
  tracker::Answer<tracker::Account> who_am_i() override {
    return ask([this] { return server_.who_am_i(); });
  }
  tracker::Answer<std::vector<tracker::ItemState>> list(const tracker::ListRequest& request) override {
    return ask([this, request] { return server_.list(request); });
  }
  tracker::Answer<tracker::Item> read(const tracker::ReadRequest& request) override {
    return ask([this, request] { return server_.read(request); });
  }
  tracker::Answer<tracker::LabelsAfter> add_labels(const tracker::ItemId& item,
                                                   const std::vector<std::string>& labels) override {
    return ask([this, item, labels] { return server_.add_labels(item, labels); });
  }
  tracker::Answer<tracker::LabelsAfter> remove_label(const tracker::ItemId& item, const std::string& label) override {
    return ask([this, item, label] { return server_.remove_label(item, label); });
  }
  tracker::Answer<tracker::Nothing> set_status(const tracker::ItemId& item, const std::string& status) override {
    return ask([this, item, status] { return server_.set_status(item, status); });
  }
  tracker::Answer<tracker::Nothing> set_open(const tracker::ItemId& item, bool open) override {
    return ask([this, item, open] { return server_.set_open(item, open); });
  }
  tracker::Answer<tracker::Comment> post(const tracker::ItemId& item, const std::string& text) override {
    return ask([this, item, text] { return server_.post(item, text); });
  }
  tracker::Answer<tracker::Comment> edit(const tracker::ItemId& item, const tracker::CommentId& comment,
                                         const std::string& text) override {
    return ask([this, item, comment, text] { return server_.edit(item, comment, text); });
  }
  tracker::Answer<tracker::Nothing> erase(const tracker::ItemId& item, const tracker::CommentId& comment) override {
    return ask([this, item, comment] { return server_.erase(item, comment); });
  }
  tracker::Answer<tracker::Swapped> swap(const tracker::SwapRequest& request) override {
    return ask([this, request] { return server_.swap(request); });
  }

 private:
  template <class Call>
  auto ask(Call call) -> decltype(call()) {
    using Answer = decltype(call());
    process_.step();
    Simulation& simulation = process_.simulation();
    Random& random = simulation.random();
    if (random.chance(wire_.refuse_request))
      return tracker::trouble(tracker::TroubleKind::unavailable, "connection refused");
    struct Exchange {
      std::optional<Answer> answer;
      std::shared_ptr<Event> answered;
    };
    const auto exchange = std::make_shared<Exchange>();
    exchange->answered = process_.make_event();
    const Instant give_up_at = process_.now() + tracker::kVerbTimeout;
    const bool late = random.chance(wire_.late_request);
    const bool reply_lost = random.chance(wire_.drop_reply) || late;
    const Duration there = random.between(Duration{0}, wire_.delay_most) +
                           (late ? random.between(tracker::kVerbTimeout, 10 * tracker::kVerbTimeout) : Duration{0});
    const Duration back = random.between(Duration{0}, wire_.delay_most);
    if (!random.chance(wire_.drop_request)) {
      simulation.after(there, [&simulation, exchange, call, reply_lost, back] {
        auto answer = std::make_shared<Answer>(call());
        if (reply_lost) return;
        simulation.after(back, [exchange, answer] {
          exchange->answer = std::move(*answer);
          exchange->answered->notify();
        });
      });
    }
    exchange->answered->wait_until(give_up_at);
    process_.step();
    if (exchange->answer) return std::move(*exchange->answer);
    return tracker::trouble(tracker::TroubleKind::in_doubt, "no answer");
  }

  SimRuntime& process_;
  tracker::Tracker& server_;
  const TrackerWire& wire_;
};

}  // namespace fenceline::sim
