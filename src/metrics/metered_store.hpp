// A Store that counts what its user asks of another one: how long calls take, whether they are answered, what they
// grant, renew and refuse. It changes nothing.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <variant>

#include "metrics/metrics.hpp"
#include "runtime/clock.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::metrics {

// A map that forgets what came first when it is full: for what may never be heard of again.
template <class Value>
class Remembered {
 public:
  static constexpr std::size_t kMost = 10'000;

  // Existing entries stay.
  void add(const std::string& key, Value value) {
    if (!values_.emplace(key, std::move(value)).second) return;
    order_.push_back(key);
    while (values_.size() > kMost || order_.size() > 2 * kMost) {
      values_.erase(order_.front());
      order_.pop_front();
    }
  }
  bool contains(const std::string& key) const { return values_.contains(key); }
  std::optional<Value> take(const std::string& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    Value value = std::move(found->second);
    values_.erase(found);
    return value;
  }

 private:
  std::map<std::string, Value> values_;
  std::deque<std::string> order_;  // of those that were added, gone ones included
};

class MeteredStore final : public StoreAround<MeteredStore> {
 public:
  // All must outlive it.
  MeteredStore(const Clock& clock, Metrics& metrics, Store& inner)
      : StoreAround(inner), clock_(clock), metrics_(metrics) {}

  // What they grant, renew and refuse is counted too.
  Result<ClaimReply> claim(const ClaimRequest& request) override;
  Result<ExtendReply> extend(const ExtendRequest& request) override;
  Result<SettleReply> settle(const SettleRequest& request) override;
  Result<RecordReply> record(const RecordRequest& request) override;
  Result<BeginEffectReply> begin_effect(const BeginEffectRequest& request) override;
  Result<FinishEffectReply> finish_effect(const FinishEffectRequest& request) override;
  Result<AcquireReply> acquire(const AcquireRequest& request) override;
  Result<RenewReply> renew(const RenewRequest& request) override;
  Result<ReleaseReply> release(const ReleaseRequest& request) override;
  Result<void> withdraw(const WithdrawRequest& request) override;
  Result<ChangeItemsReply> change_items(const ChangeItemsRequest& request) override;

 private:
  friend StoreAround<MeteredStore>;

  // Every call: how long it took, and whether it was answered.
  template <class Answer, class... Parameters, class... Given>
  Answer around(const StoreVerb& verb, Answer (Store::*call)(Parameters...), const Given&... given) {
    const Instant asked = clock_.now();
    Answer reply = (inner_.*call)(given...);
    count_call(verb.name, asked, reply ? nullptr : &reply.error());
    return reply;
  }
  void count_call(std::string_view verb, Instant asked, const Error* error);
  void count_refused(std::string_view verb, std::size_t number);
  void count_granted(const AcquireRequest& request, const AcquireReply& reply);
  void count_settled(const SettleRequest& request, const SettleReply& reply);
  void lock_ended(const std::string& owner);

  struct LockSince {
    Instant at;
    std::string pattern;
    std::string name;  // of several the first
  };
  void observe_lock(Family family, const LockSince& since);

  const Clock& clock_;
  Metrics& metrics_;
  std::mutex mutex_;                          // guards what follows; never held across a call
  Remembered<LockSince> asked_;               // requests for locks, by request: when they first asked
  Remembered<LockSince> held_;                // locks, by owner: since when
  Remembered<std::monostate> last_attempts_;  // deliveries whose failure would end their job
};

}  // namespace fenceline::metrics
