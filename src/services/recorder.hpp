// Sends what handlers say while they work, progress and logs, to the store: all of it in one call, a tenth of a second
// after it was said (up to a second if the store is slow), and before the outcome of a handler. A store
// that is away costs the oldest bytes of a log and delays nothing.
#pragma once

#include <map>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <vector>

#include "services/worker_context.hpp"

namespace fenceline {

class Recorder {
 public:
  explicit Recorder(WorkerContext& context);

  // What the handler of this delivery says. From any thread; never waits.
  void progress(const DeliveryPtr& delivery, Progress progress);
  void log(const DeliveryPtr& delivery, std::string_view bytes);

  // Until `stop`; then once more.
  void record(std::stop_token stop);

  // Before their outcomes go: one try.
  void record_now(const std::vector<Settlement>& settlements);

 private:
  void add(const DeliveryPtr& delivery);
  std::vector<DeliveryPtr> noted() const;
  void send(const std::vector<DeliveryPtr>& deliveries, Duration timeout);
  void forget_silent(const std::vector<DeliveryPtr>& deliveries);

  WorkerContext& context_;
  const std::size_t room_;  // for the log of one delivery
  mutable std::mutex mutex_;
  std::map<Holding, DeliveryPtr> noted_;  // all that have something to send; some have no more
};

// The same as a handler sees it.
class DeliveryNotes final : public RunNotes {
 public:
  DeliveryNotes(Recorder& recorder, DeliveryPtr delivery) : recorder_(recorder), delivery_(std::move(delivery)) {}

  void progress(Progress progress) override { recorder_.progress(delivery_, std::move(progress)); }
  void log(std::string_view bytes) override { recorder_.log(delivery_, bytes); }

 private:
  Recorder& recorder_;
  const DeliveryPtr delivery_;
};

}  // namespace fenceline
