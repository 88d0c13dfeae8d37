#include "backends/redis/redis_client.hpp"

#include <pthread.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/redis/redis_link.hpp"

namespace fenceline::redis {
namespace {

constexpr Duration kReconnectFirst = std::chrono::milliseconds{20};
constexpr Duration kReconnectMost = std::chrono::seconds{1};
constexpr Duration kReconnectFor =
    std::chrono::seconds{2};  // in one call: who called has a patience of its own, and may have been told to stop
constexpr Duration kWorthATry = std::chrono::milliseconds{5};

// Between this process and the first. A connection must not be used by both sides of a fork; asking the system for our
// number costs a call of its own.
int forks_so_far() {
  static std::atomic<int> forks{0};
  [[maybe_unused]] static const int noticed = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
  return forks.load(std::memory_order_relaxed);
}

}  // namespace

class Client::Calls {
 public:
  Calls(Runtime& runtime, ClientOptions options)
      : runtime_(runtime), options_(std::move(options)), forks_(forks_so_far()) {}

  const ClientOptions& options() const { return options_; }
  void heed(std::stop_token stop) { until_reached_ = std::move(stop); }
  std::uint64_t made() const { return made_; }

  void call(std::span<const Command> commands, CallKind kind, Duration timeout, std::span<Result<Value>> answers);
  Result<void> send(Command command);

 private:
  Result<std::shared_ptr<Link>> link(Instant deadline);
  // One who connects for all.
  Result<std::shared_ptr<Link>> connect(Instant deadline);
  Result<std::shared_ptr<Link>> connect_once(Instant deadline);
  Duration backoff(int failures) const;
  Result<Value> judge(Outcome& outcome, CallKind kind) const;
  // Whether it is known to have done nothing, and may do better on the next try.
  static bool is_worth_another(const Outcome& outcome, const Result<Value>& answer, CallKind kind, const Link& link,
                               bool is_unknown);

  Runtime& runtime_;
  const ClientOptions options_;
  const int forks_;
  std::atomic<bool> was_reached_ =
      false;  // before that, whoever cannot reach the server is told at once: perhaps its name is wrong
  std::atomic<std::uint64_t> made_ = 0;
  std::stop_token until_reached_;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<Link> link_;
  bool is_connecting_ = false;
  std::uint64_t tries_ = 0;
  Error failure_{Code::unavailable, ""};  // of the last try
  std::vector<Event*> waiting_;
};

Duration Client::Calls::backoff(int failures) const {
  const Duration most = std::min(kReconnectMost, kReconnectFirst * (1 << std::min(failures, 10)));
  return most / 2 +
         Duration{static_cast<std::int64_t>(runtime_.random() % static_cast<std::uint64_t>(most.count() / 2 + 1))};
}

Result<std::shared_ptr<Link>> Client::Calls::connect_once(Instant deadline) {
  const Instant until = std::min(deadline, runtime_.now() + options_.address.connect_timeout);
  Result<std::unique_ptr<Connection>> made =
      Connection::connect(runtime_, options_.address, until, was_reached_ ? std::stop_token{} : until_reached_);
  if (!made) return std::unexpected(made.error());
  if (options_.on_connect) {
    if (const Result<void> fits = options_.on_connect(**made, until); !fits) {
      // One that would do before is perhaps in the middle of a failover: who holds something waits, as for one that is
      // away.
      const bool may_pass = was_reached_ && fits.error().code == Code::refused;
      return fail(may_pass ? Code::unavailable : fits.error().code, fits.error().message);
    }
  }
  ++made_;
  was_reached_ = true;
  return std::make_shared<Link>(runtime_, std::move(*made), options_.silence_most);
}

Result<std::shared_ptr<Link>> Client::Calls::connect(Instant deadline) {
  const Instant given_up = std::min(deadline, runtime_.now() + kReconnectFor);
  for (int failures = 0;; ++failures) {
    Result<std::shared_ptr<Link>> made = connect_once(deadline);
    if (made || made.error().code != Code::unavailable || !was_reached_) return made;
    const Instant next = runtime_.now() + backoff(failures);
    if (next + kWorthATry > given_up) return made;
    runtime_.sleep_until(next, {});
  }
}

Result<std::shared_ptr<Link>> Client::Calls::link(Instant deadline) {
  std::unique_ptr<Event> event;
  std::optional<Instant> given_up;
  for (;;) {
    std::unique_lock lock(mutex_);
    if (link_ && !link_->is_over()) return link_;
    if (!is_connecting_) {
      is_connecting_ = true;
      const std::shared_ptr<Link> old = std::move(link_);
      lock.unlock();
      Result<std::shared_ptr<Link>> made = connect(deadline);
      lock.lock();
      is_connecting_ = false;
      ++tries_;
      if (made) link_ = *made;
      else failure_ = made.error();
      const std::vector<Event*> woken = std::exchange(waiting_, {});
      // Told without the lock; none of them goes away before it has been told, as each waits for that.
      lock.unlock();
      for (Event* each : woken) each->notify();
      return made;
    }
    if (!event) {
      lock.unlock();
      event = runtime_.make_event();
      given_up = std::min(deadline, runtime_.now() + kReconnectFor);
      continue;
    }
    const std::uint64_t before = tries_;
    waiting_.push_back(event.get());
    lock.unlock();
    if (!event->wait_until(deadline)) {
      lock.lock();
      const bool is_ours = std::erase(waiting_, event.get()) > 0;
      lock.unlock();
      if (is_ours) return std::unexpected(not_reached(options_.address.shown, "connection timed out"));
      event->wait_until(Instant::max());  // it is about to be told
    }
    lock.lock();
    if (link_ && !link_->is_over()) return link_;
    if (tries_ != before && (failure_.code != Code::unavailable || !was_reached_)) return std::unexpected(failure_);
    const Error failure = failure_;
    lock.unlock();
    if (runtime_.now() + kWorthATry > *given_up) return std::unexpected(failure);
  }
}

Result<Value> Client::Calls::judge(Outcome& outcome, CallKind kind) const {
  const std::string& shown = options_.address.shown;
  switch (outcome.fate) {
    case Outcome::Fate::answered:
      if (outcome.value.is_error()) return std::unexpected(error_of(outcome.value, shown));
      return std::move(outcome.value);
    case Outcome::Fate::not_sent:
      return std::unexpected(not_reached(shown, "the connection broke, or a write timed out"));
    default: return std::unexpected(without_answer(kind, shown));
  }
}

bool Client::Calls::is_worth_another(const Outcome& outcome, const Result<Value>& answer, CallKind kind,
                                     const Link& link, bool is_unknown) {
  if (answer) return false;
  if (outcome.fate == Outcome::Fate::not_sent) return true;
  if (outcome.fate == Outcome::Fate::no_answer) return kind == CallKind::look && link.is_over();
  return is_unknown || answer.error().code == Code::unavailable;
}

void Client::Calls::call(std::span<const Command> commands, CallKind kind, Duration timeout,
                         std::span<Result<Value>> answers) {
  Instant now = runtime_.now();
  const Instant deadline = now + timeout;
  const auto all_fail = [&](const Error& error) { std::fill(answers.begin(), answers.end(), std::unexpected(error)); };
  if (forks_so_far() != forks_)
    return all_fail({Code::refused, "this store was opened before a fork; open it again in the child"});
  Outcome one;
  std::vector<Outcome> many(commands.size() > 1 ? commands.size() : 0);
  std::vector<Command> again;
  std::vector<std::size_t> places;  // in `answers`, of a further try
  for (int tries = 0;; ++tries) {
    const std::span<const Command> tried = tries == 0 ? commands : std::span<const Command>(again);
    const std::span<Outcome> outcomes = commands.size() == 1 ? std::span(&one, 1) : std::span(many).first(tried.size());
    if (tries > 0) std::fill(outcomes.begin(), outcomes.end(), Outcome{});
    const Result<std::shared_ptr<Link>> used = link(deadline);
    if (!used && tries == 0) return all_fail(used.error());
    if (!used) {
      for (const std::size_t place : places) answers[place] = std::unexpected(used.error());
      return;
    }
    (*used)->run(tried, outcomes, now, deadline);
    std::vector<Command> left;
    std::vector<std::size_t> places_left;
    bool must_wait = false;
    for (std::size_t i = 0; i < tried.size(); ++i) {
      const std::size_t place = tries == 0 ? i : places[i];
      answers[place] = judge(outcomes[i], kind);
      if (answers[place]) continue;
      if (is_read_only(outcomes[i].value)) (*used)->end();
      const bool is_unknown = tried[i].script() && is_unknown_script(outcomes[i].value);
      if (is_unknown) (*used)->forget_scripts();
      else must_wait = true;
      if (!is_worth_another(outcomes[i], answers[place], kind, **used, is_unknown)) continue;
      left.push_back(is_unknown ? tried[i].in_full() : tried[i]);
      places_left.push_back(place);
    }
    if (left.empty()) return;
    again = std::move(left);
    places = std::move(places_left);
    now = runtime_.now();
    const Instant next = must_wait && tries > 0 ? now + backoff(tries) : now;
    if (next + kWorthATry > deadline) return;
    if (next > now) runtime_.sleep_until(next, {});
    now = next;
  }
}

Result<void> Client::Calls::send(Command command) {
  if (forks_so_far() != forks_)
    return fail(Code::refused, "this store was opened before a fork; open it again in the child");
  std::shared_ptr<Link> used;
  {
    const std::lock_guard lock(mutex_);
    used = link_;
  }
  if (!used || !used->send(std::move(command), runtime_.now()))
    return std::unexpected(not_reached(options_.address.shown, "not connected"));
  return {};
}

Client::Client(Runtime& runtime, ClientOptions options)
    : calls_(std::make_unique<Calls>(runtime, options)), listener_(runtime, std::move(options.address)) {}
Client::~Client() = default;

const Address& Client::address() const { return calls_->options().address; }
void Client::heed(std::stop_token stop) { calls_->heed(std::move(stop)); }
std::uint64_t Client::connections_made() const { return calls_->made(); }

Result<Value> Client::call(const Command& command, CallKind kind, Duration timeout) {
  Result<Value> answer;
  calls_->call(std::span(&command, 1), kind, timeout, std::span(&answer, 1));
  return answer;
}

std::vector<Result<Value>> Client::call_many(std::span<const Command> commands, CallKind kind, Duration timeout) {
  std::vector<Result<Value>> answers(commands.size());
  if (!commands.empty()) calls_->call(commands, kind, timeout, answers);
  return answers;
}

Result<void> Client::send(Command command) { return calls_->send(std::move(command)); }

std::unique_ptr<Subscription> Client::subscribe(std::string channel, std::function<void(const Heard&)> on_heard) {
  return listener_.subscribe(std::move(channel), std::move(on_heard));
}

}  // namespace fenceline::redis
