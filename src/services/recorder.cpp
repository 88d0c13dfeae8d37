#include "services/recorder.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace fenceline {
namespace {

// From a note to the call that sends it. What a handler said just before its job was cancelled cannot be sent any more
// (J3), and is what people then look for: so soon, but a store that needs long for it is asked less often.
constexpr Duration kRecordPauseLeast = std::chrono::milliseconds{100};
constexpr Duration kRecordPauseMost = std::chrono::seconds{1};
constexpr int kShareOfTime = 20;              // of which at most one is spent in such calls
constexpr std::size_t kRoomForAll = 8 << 20;  // bytes of log that wait in one worker
constexpr std::size_t kRoomLeast = 16 << 10;
constexpr std::size_t kNoteBytesInACall = 4 << 20;
constexpr std::size_t kNotesInACall = 1000;

std::size_t room_for_one(const WorkerOptions& options) {
  return std::clamp(kRoomForAll / static_cast<std::size_t>(std::max(1, options.concurrency)), kRoomLeast, kLogBytesMax);
}

// The call before an outcome must not keep it waiting.
Duration last_call_timeout(const LeaseTimes& times) {
  return std::clamp(times.call_timeout, Duration{std::chrono::milliseconds{100}}, kCallTimeout);
}

}  // namespace

Recorder::Recorder(WorkerContext& context) : context_(context), room_(room_for_one(context.options)) {}

void Recorder::progress(const DeliveryPtr& delivery, Progress progress) {
  if (delivery->notes.add(std::move(progress))) add(delivery);
}

void Recorder::log(const DeliveryPtr& delivery, std::string_view bytes) {
  if (delivery->notes.add(bytes, room_)) add(delivery);
}

void Recorder::add(const DeliveryPtr& delivery) {
  {
    const std::lock_guard lock(mutex_);
    noted_.emplace(delivery->holding(), delivery);
  }
  context_.recorder->notify();
}

std::vector<DeliveryPtr> Recorder::noted() const {
  const std::lock_guard lock(mutex_);
  std::vector<DeliveryPtr> found;
  for (const auto& [holding, delivery] : noted_) found.push_back(delivery);
  return found;
}

void Recorder::record(std::stop_token stop) {
  const std::stop_callback wake(stop, [this] { context_.recorder->notify(); });
  Duration pause = kRecordPauseLeast;
  while (!stop.stop_requested()) {
    if (noted().empty()) {
      context_.recorder->wait_until(context_.runtime.now() + kUntilNotified);
    } else if (context_.runtime.sleep_for(pause, stop)) {
      const Instant begun = context_.runtime.now();
      send(noted(), kCallTimeout);
      pause = std::clamp(kShareOfTime * (context_.runtime.now() - begun), kRecordPauseLeast, kRecordPauseMost);
    }
  }
  send(noted(), last_call_timeout(context_.times));
}

void Recorder::record_now(const std::vector<Settlement>& settlements) {
  std::vector<DeliveryPtr> ending;
  {
    const std::lock_guard lock(mutex_);
    if (noted_.empty()) return;
    for (const Settlement& settlement : settlements) {
      const auto found = noted_.find({settlement.id, settlement.fence});
      if (found != noted_.end()) ending.push_back(found->second);
    }
  }
  send(ending, last_call_timeout(context_.times));
}

void Recorder::send(const std::vector<DeliveryPtr>& deliveries, Duration timeout) {
  RecordRequest request{.ns = context_.options.ns, .timeout = timeout};
  std::vector<DeliveryPtr> named;
  std::size_t bytes = 0;
  for (const DeliveryPtr& delivery : deliveries) {
    if (named.size() == kNotesInACall || bytes >= kNoteBytesInACall) break;
    std::optional<Note> note = delivery->notes.next(delivery->holding(), kNoteBytesInACall - bytes);
    if (!note) continue;
    bytes += note->log.size();
    request.notes.push_back(std::move(*note));
    named.push_back(delivery);
  }
  if (named.empty()) return forget_silent(deliveries);

  const Result<RecordReply> reply = context_.store.record(request);
  if (!reply) {
    if (reply.error().code == Code::broken) return context_.give_up(reply.error());
    if (may_repeat(reply.error().code)) return context_.store_failed("record", reply.error());
    // No repeat can help, and no outcome depends on it.
    context_.log.warn("notes_dropped", {{"owner", context_.owner},
                                        {"jobs", named.size()},
                                        {"code", to_string(reply.error().code)},
                                        {"message", reply.error().message}});
    for (const DeliveryPtr& delivery : named) delivery->notes.close();
    return forget_silent(named);
  }
  context_.store_answered();
  for (std::size_t i = 0; i < named.size(); ++i) named[i]->notes.taken(request.notes[i]);
  for (const Refusal& refusal : reply->refused) {
    const auto found = std::ranges::find_if(named, [&](const DeliveryPtr& d) {
      return d->holding() == Holding{refusal.id, refusal.sent};
    });
    if (found == named.end()) continue;
    (*found)->notes.close();
    context_.log_refusal("record", refusal);
    context_.hint_orders();  // an operator may have ended it
  }
  forget_silent(deliveries);
}

// Under the mutex: a note that comes now is announced after it, and then found missing here.
void Recorder::forget_silent(const std::vector<DeliveryPtr>& deliveries) {
  const std::lock_guard lock(mutex_);
  for (const DeliveryPtr& delivery : deliveries) {
    if (!delivery->notes.next(delivery->holding(), 0)) noted_.erase(delivery->holding());
  }
}

}  // namespace fenceline
