#include "backends/redis/redis_listener.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace fenceline::redis {
namespace {

constexpr Duration kPatience = std::chrono::seconds{10};
constexpr Duration kListenAgainFirst = std::chrono::milliseconds{50};
constexpr Duration kListenAgainMost = std::chrono::seconds{5};
constexpr Duration kKnockEvery = std::chrono::seconds{1};
constexpr Duration kQuietMost = std::chrono::seconds{30};  // then a look at whether the server is still there

int in_milliseconds(Duration duration) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(std::max(duration, Duration{0})).count());
}

}  // namespace

struct Listener::Follower {
  std::string channel;
  std::function<void(const Heard&)> on_heard;
  std::atomic<int> calls_under_way{0};
};

class Listener::Handle final : public Subscription {
 public:
  Handle(Listener& listener, std::shared_ptr<Follower> follower)
      : listener_(listener), follower_(std::move(follower)) {}
  // What the callback uses may be gone after this, so a call under way on another thread is waited for.
  ~Handle() override {
    listener_.end(follower_);
    for (int calls = follower_->calls_under_way; calls != 0; calls = follower_->calls_under_way)
      follower_->calls_under_way.wait(calls);
  }

 private:
  Listener& listener_;
  std::shared_ptr<Follower> follower_;
};

Listener::Listener(Runtime& runtime, Address address)
    : runtime_(runtime), address_(std::move(address)), woken_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
Listener::~Listener() = default;

void Listener::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(woken_.get(), &one, sizeof(one));
}

std::unique_ptr<Subscription> Listener::subscribe(std::string channel, std::function<void(const Heard&)> on_heard) {
  auto follower = std::make_shared<Follower>();
  follower->channel = std::move(channel);
  follower->on_heard = std::move(on_heard);
  bool is_first = false;
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    Channel& its = channels_[follower->channel];
    its.followers.push_back(follower);
    is_new = its.state == State::wanted;
    has_changed_ = has_changed_ || is_new;
    is_first = !std::exchange(started_, true);
  }
  if (is_first) task_ = runtime_.spawn("redis_listen", [this](const std::stop_token& stop) { follow(stop); });
  else if (is_new) wake();
  return std::make_unique<Handle>(*this, std::move(follower));
}

void Listener::end(const std::shared_ptr<Follower>& follower) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Follower>>& followers = channels_[follower->channel].followers;
    std::erase(followers, follower);
    if (!followers.empty()) return;
    has_changed_ = true;
  }
  wake();
}

void Listener::append_changes(std::string& out) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(has_changed_, false)) return;
  for (auto each = channels_.begin(); each != channels_.end();) {
    auto& [name, channel] = *each;
    const bool is_wanted = !channel.followers.empty();
    if (is_wanted && channel.state == State::wanted) {
      Command("SUBSCRIBE").arg(name).append_to(out);
      channel.state = State::asked;
      asked_.push_back({true, name});
    } else if (!is_wanted && (channel.state == State::asked || channel.state == State::heard)) {
      Command("UNSUBSCRIBE").arg(name).append_to(out);
      asked_.push_back({false, name});
    }
    each = is_wanted ? std::next(each) : channels_.erase(each);
  }
}

void Listener::tell(const std::string& channel, std::optional<std::string_view> message) {
  std::vector<std::shared_ptr<Follower>> told;
  {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find(channel);
    if (found == channels_.end()) return;
    told = found->second.followers;
    for (const auto& follower : told) follower->calls_under_way += 1;
  }
  for (const auto& follower : told) {
    follower->on_heard({channel, message});
    follower->calls_under_way -= 1;
    follower->calls_under_way.notify_all();
  }
}

// For those that the server does not let us listen for.
void Listener::knock() {
  std::vector<std::string> refused;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, channel] : channels_) {
      if (channel.state == State::refused) refused.push_back(name);
    }
    has_refused_ = !refused.empty();
  }
  for (const std::string& name : refused) tell(name, std::nullopt);
}

void Listener::take_answer(bool is_refused) {
  std::optional<std::string> heard;
  {
    const std::lock_guard lock(mutex_);
    if (asked_.empty()) return;
    const Asked asked = std::move(asked_.front());
    asked_.pop_front();
    const auto found = channels_.find(asked.channel);
    if (!asked.subscribes || found == channels_.end() || found->second.state != State::asked) return;
    found->second.state = is_refused ? State::refused : State::heard;
    has_refused_ = has_refused_ || is_refused;
    heard = asked.channel;
  }
  tell(*heard, std::nullopt);
}

// Answers come in the order of the commands, as pushes too; only messages come between them.
void Listener::take(const Value& value) {
  if (value.kind != Value::Kind::push || value.items.empty()) return take_answer(value.is_error());
  const std::string& what = value.items[0].text;
  if (what == "message" && value.items.size() == 3) return tell(value.items[1].text, value.items[2].text);
  if (what == "subscribe" || what == "unsubscribe") take_answer(false);
}

void Listener::listen(Connection& connection, const std::stop_token& stop) {
  {
    const std::lock_guard lock(mutex_);
    asked_.clear();
    has_changed_ = true;
    has_refused_ = false;
    for (auto& [name, channel] : channels_) channel.state = State::wanted;
  }
  std::string out;
  std::vector<Value> values;
  Instant last_heard = runtime_.now();
  Instant last_knock = last_heard;
  while (!stop.stop_requested()) {
    append_changes(out);
    const Result<bool> gone = connection.write(out);
    if (!gone) return;
    const Instant now = runtime_.now();
    bool knocks = false;
    bool awaits = false;
    {
      const std::lock_guard lock(mutex_);
      knocks = has_refused_;
      awaits = !asked_.empty();
    }
    if (knocks && now - last_knock >= kKnockEvery) {
      knock();
      last_knock = now;
    }
    if (awaits && now - last_heard > kQuietMost + kPatience) return;
    if (!awaits && now - last_heard > kQuietMost) {
      Command("PING").append_to(out);
      const std::lock_guard lock(mutex_);
      asked_.push_back({false, ""});
      continue;
    }
    const Duration slice = knocks ? kKnockEvery : awaits ? kPatience : kQuietMost;
    pollfd waited[] = {{connection.socket(), static_cast<short>(*gone ? POLLIN : POLLIN | POLLOUT), 0},
                       {woken_.get(), POLLIN, 0}};
    if (::poll(waited, 2, in_milliseconds(slice)) <= 0) continue;
    std::uint64_t count = 0;
    if (waited[1].revents != 0) [[maybe_unused]]
      const ssize_t drained = ::read(woken_.get(), &count, sizeof(count));
    if ((waited[0].revents & ~POLLOUT) == 0) continue;
    values.clear();
    const Result<bool> came = connection.read(values, Duration{0});
    for (const Value& value : values) take(value);
    if (!came) return;
    last_heard = runtime_.now();
  }
}

void Listener::follow(const std::stop_token& stop) {
  const std::stop_callback woken(stop, [this] { wake(); });
  Duration backoff = kListenAgainFirst;
  while (!stop.stop_requested()) {
    const Result<std::unique_ptr<Connection>> made =
        Connection::connect(runtime_, address_, runtime_.now() + kPatience, stop);
    if (made) {
      backoff = kListenAgainFirst;
      listen(**made, stop);
    }
    runtime_.sleep_for(backoff / 2 + Duration{static_cast<std::int64_t>(
                                         runtime_.random() % static_cast<std::uint64_t>(backoff.count() / 2 + 1))},
                       stop);
    backoff = std::min(backoff * 2, kListenAgainMost);
  }
}

}  // namespace fenceline::redis
