#include "backends/postgres/listener.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <stop_token>

#include "backends/postgres/connection.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline::postgres {
namespace {

constexpr Duration kPatience = std::chrono::seconds{10};
constexpr Duration kListenAgainFirst = std::chrono::milliseconds{100};
constexpr Duration kListenAgainMost = std::chrono::seconds{5};
constexpr Duration kKnockEvery = std::chrono::seconds{1};
constexpr int kPollSliceMs = 30'000;  // then a look at whether the server is still there

}  // namespace

struct Listener::Follower {
  WatchRequest request;
  std::function<void()> on_change;
  std::atomic<int> calls_under_way{0};
};

class Listener::Handle final : public Watch {
 public:
  Handle(Listener& listener, std::shared_ptr<Follower> follower)
      : listener_(listener), follower_(std::move(follower)) {}
  // What the callback uses may be gone after this, so a call under way on another thread is waited for.
  ~Handle() override {
    {
      const std::lock_guard lock(listener_.mutex_);
      std::erase(listener_.followers_, follower_);
    }
    for (int calls = follower_->calls_under_way; calls != 0; calls = follower_->calls_under_way)
      follower_->calls_under_way.wait(calls);
  }

 private:
  Listener& listener_;
  std::shared_ptr<Follower> follower_;
};

bool concerns(const std::string& payload, const std::string& schema, const WatchRequest& request) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t end = payload.find(' '); end != std::string::npos; end = payload.find(' ', begin)) {
    words.push_back(payload.substr(begin, end - begin));
    begin = end + 1;
  }
  words.push_back(payload.substr(begin));
  if (words.size() < 2 || words[0] != schema || words[1] != request.ns) return false;
  if (words.size() == 2) return request.orders;
  if (words.size() == 3) return std::find(request.locks.begin(), request.locks.end(), words[2]) != request.locks.end();
  return words.size() == 4 && words[3] == request.stage &&
         std::find(request.queues.begin(), request.queues.end(), words[2]) != request.queues.end();
}

Listener::Listener(Runtime& runtime, Dsn dsn) : runtime_(runtime), dsn_(std::move(dsn)) {}
Listener::~Listener() = default;

std::unique_ptr<Watch> Listener::watch(const WatchRequest& request, std::function<void()> on_change) {
  auto follower = std::make_shared<Follower>();
  follower->request = request;
  follower->on_change = std::move(on_change);
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    followers_.push_back(follower);
    first = !started_ && (hears() || !request.locks.empty());
    if (first) started_ = true;
  }
  if (first)
    task_ = runtime_.spawn("pg_listen", [this](const std::stop_token& stop) { hears() ? follow(stop) : knock(stop); });
  return std::make_unique<Handle>(*this, std::move(follower));
}

void Listener::tell(const std::function<bool(const WatchRequest&)>& concerned) {
  std::vector<std::shared_ptr<Follower>> told;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& follower : followers_) {
      if (!concerned(follower->request)) continue;
      follower->calls_under_way += 1;
      told.push_back(follower);
    }
  }
  for (const auto& follower : told) {
    follower->on_change();
    follower->calls_under_way -= 1;
    follower->calls_under_way.notify_all();
  }
}

// A worker looks every so often by itself; one that waits for a lock would sleep until the lease at hand ends.
void Listener::knock(const std::stop_token& stop) {
  while (runtime_.sleep_for(kKnockEvery, stop))
    tell([](const WatchRequest& request) { return !request.locks.empty(); });
}

void Listener::follow(const std::stop_token& stop) {
  const UniqueFd woken(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::stop_callback wake(stop, [&] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(woken.get(), &one, sizeof(one));
  });
  Duration backoff = kListenAgainFirst;
  while (!stop.stop_requested()) {
    const Result<std::unique_ptr<Connection>> made = Connection::connect(runtime_, dsn_, runtime_.now() + kPatience);
    const bool listens =
        made && (*made)->script("listen fenceline", runtime_.now() + kPatience).fate == Reply::Fate::answered;
    if (!listens) {
      runtime_.sleep_for(backoff, stop);
      backoff = std::min(backoff * 2, kListenAgainMost);
      continue;
    }
    backoff = kListenAgainFirst;
    // What came while nobody listened is not known: whoever waits shall look.
    tell([](const WatchRequest&) { return true; });
    bool alive = true;
    while (alive && !stop.stop_requested()) {
      alive = (*made)->take_notices([&](const std::string& payload) {
        tell([&](const WatchRequest& request) { return concerns(payload, dsn_.schema, request); });
      });
      pollfd waited[] = {{(*made)->socket(), POLLIN, 0}, {woken.get(), POLLIN, 0}};
      const bool quiet = alive && ::poll(waited, 2, kPollSliceMs) == 0;
      if (quiet) alive = (*made)->script("select 1", runtime_.now() + kPatience).fate == Reply::Fate::answered;
    }
  }
}

}  // namespace fenceline::postgres
