#include "services/lock_client.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "services/lock_asker.hpp"
#include "services/lock_parts.hpp"

namespace fenceline {
namespace {

// One that does not wait still waits for a thread of its own process that is about to get an answer.
constexpr Duration kAnswerWithin = kCallTimeout;

// Of these the turn in the process is only for the asking: others may hold it at the same time.
bool several_may_hold(const LockOptions& options) { return options.mode == LockMode::shared || options.slots > 1; }

}  // namespace

std::shared_ptr<LockParts> make_lock_parts(Runtime& runtime, Log log, Store& store, LockClientOptions options) {
  return std::make_shared<LockParts>(runtime, log, store, std::move(options));
}

LockClient::LockClient(std::shared_ptr<LockParts> parts) : parts_(std::move(parts)) {}
LockClient::~LockClient() = default;

LockCounts LockClient::counts() const { return parts_->counts.snapshot(); }

Result<std::optional<LockRow>> LockClient::look(const std::string& resource) {
  return parts_->store.lock(parts_->options.ns, resource);
}

Result<HeldLock> LockClient::acquire(const LockOptions& asked, std::stop_token stop) {
  if (auto ok = check_options(asked); !ok) return std::unexpected(ok.error());
  LockOptions options = asked;
  std::ranges::sort(options.names);
  LockParts& parts = *parts_;
  if (!options.holder.empty()) {
    if (const LockStatePtr in_the_way = parts.holdings.find_in_the_way(options))
      return fail(Code::refused, "lock " + options.names.front() + " would wait for itself: its holder has " +
                                     in_the_way->resource() + " in another mode; release that first");
    const LockStatePtr has = parts.holdings.find(options.holder, options.names);
    if (has && parts.holdings.enter(*has)) return HeldLock(parts, has);
  }

  const bool impatient = options.contention == Contention::skip || options.wait == Duration{0};
  const Instant now = parts.runtime.now();
  const Instant deadline = impatient ? now : now + options.wait;
  const LockTurns::TurnPtr turn =
      stop.stop_requested()
          ? nullptr
          : parts.turns.take(options.names, impatient ? now + kAnswerWithin : deadline, impatient, stop);
  if (!turn) {
    if (!stop.stop_requested()) parts.counts.contended += 1;
    parts.counts.not_obtained += 1;
    return fail(Code::held, "lock " + options.names.front() +
                                (stop.stop_requested() ? " was not acquired: the request was cancelled"
                                                       : " is already held or awaited by this process"));
  }

  Result<LockStatePtr> obtained = LockAsker(parts, options, turn, deadline, stop).ask();
  if (!obtained && options.on_acquire_error == OnStoreError::open && store_is_away(obtained.error().code)) {
    parts.counts.fail_open += 1;
    parts.log.warn("lock_failed_open",
                   {{"lock", options.names.front()}, {"owner", ""}, {"fence", 0}, {"at", "acquire"}});
    obtained = std::make_shared<LockState>(options, "", std::vector<LockGrant>{}, parts.runtime.now() + kOpenFor);
    (*obtained)->open = true;
  }
  if (!obtained) {
    parts.turns.leave(turn);
    parts.counts.not_obtained += 1;
    return std::unexpected(obtained.error());
  }
  const LockStatePtr& state = *obtained;
  if (several_may_hold(options)) {
    parts.turns.leave(turn);
  } else {
    parts.turns.hold(turn);
    state->turn = turn;
  }
  if (!state->grants.empty()) {
    parts.counts.acquired += 1;
    parts.log.info("lock_acquired", {{"lock", state->resource()},
                                     {"owner", state->owner},
                                     {"place", parts.options.place},
                                     {"fence", state->fence()},
                                     {"previous_owner", state->grants.front().previous_owner}});
  }
  // No end is planned for its work: only a refusal of the store ends it.
  if (state->goes_on_open()) state->trust.move_to(parts.runtime.now() + kOpenFor);
  parts.add(state);
  return HeldLock(parts, state);
}

Result<void> LockClient::with(const LockOptions& options, const std::function<void(const HeldLock&)>& body,
                              std::stop_token stop) {
  Result<HeldLock> held = acquire(options, stop);
  if (!held) return std::unexpected(held.error());
  std::exception_ptr thrown;  // no store is asked from inside a catch
  {
    const std::stop_callback pass_on(stop, [&held] { held->request_stop(); });
    try {
      body(*held);
    } catch (const std::exception&) {
      thrown = std::current_exception();
    }
  }
  const Result<void> released = held->release();
  if (thrown) std::rethrow_exception(thrown);
  return released;
}

}  // namespace fenceline
