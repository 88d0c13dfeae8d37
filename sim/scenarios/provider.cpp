#include "sim/scenarios/provider.hpp"

#include <memory>

namespace fenceline::sim {

Provider::Answer Provider::happen(const std::string& account, const std::string& key) {
  if (!key.empty() && !keys_.insert(key).second) {
    tally_.add(Count::provider_repeats);
    return {Answer::Kind::done, receipts_.at(account)};
  }
  tally_.add(Count::provider_acts);
  const auto [receipt, is_first] = receipts_.emplace(account, "receipt-" + std::to_string(receipts_.size() + 1));
  if (!is_first) violations_.add("E1", "effect " + account + " happened twice at its provider");
  return {Answer::Kind::done, receipt->second};
}

Provider::Answer Provider::send(SimRuntime& process, bool in_storm, const std::function<Answer()>& apply) {
  struct Exchange {
    std::optional<Answer> answer;
    std::shared_ptr<Event> answered;
  };
  Random& random = simulation_.random();
  const bool request_lost = in_storm && random.chance(terms_.request_lost);
  const bool reply_lost = in_storm && random.chance(terms_.reply_lost);
  const Duration there = random.between(Duration{0}, terms_.takes_most);
  const Duration back = random.between(Duration{0}, terms_.takes_most);
  const auto exchange = std::make_shared<Exchange>();
  exchange->answered = process.make_event();
  if (!request_lost) {
    simulation_.after(there, [this, apply, exchange, reply_lost, back] {
      Answer answer = apply();
      if (reply_lost) return tally_.add(Count::provider_lost_replies);
      simulation_.after(back, [exchange, answer = std::move(answer)] {
        exchange->answer = answer;
        exchange->answered->notify();
      });
    });
  }
  exchange->answered->wait_until(process.now() + 3 * terms_.takes_most + std::chrono::milliseconds{1});
  process.step();
  return exchange->answer.value_or(Answer{});
}

Provider::Answer Provider::act(SimRuntime& process, const std::string& account, const std::string& key, bool in_storm) {
  const bool refuses = in_storm && simulation_.random().chance(terms_.refused);
  return send(process, in_storm, [this, account, key, refuses] {
    return refuses ? Answer{Answer::Kind::refused, {}} : happen(account, key);
  });
}

Provider::Answer Provider::ask(SimRuntime& process, const std::string& account, bool in_storm) {
  return send(process, in_storm, [this, account] {
    const std::optional<std::string> found = receipt(account);
    return found ? Answer{Answer::Kind::done, *found} : Answer{Answer::Kind::refused, {}};
  });
}

std::optional<std::string> Provider::receipt(const std::string& account) const {
  const auto found = receipts_.find(account);
  return found == receipts_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace fenceline::sim
