// Wake-ups. Scripts say what happened on a channel of the namespace: see tell() in lua/00_core.lua.
#include <algorithm>

#include "backends/redis/redis_store.hpp"
#include "backends/redis/store_parts.hpp"
#include "backends/redis/wake_message.hpp"

namespace fenceline {
namespace redis {

bool concerns(std::string_view message, const WatchRequest& request) {
  const auto has = [](const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (message == "o") return request.orders;
  if (message.size() < 2 || message[1] != ' ') return false;
  const std::string_view words = message.substr(2);
  switch (message[0]) {
    case 'l': return has(request.locks, words);
    case 'Q': return has(request.queues, words);
    case 'q': {
      const std::size_t blank = words.find(' ');
      return blank != std::string_view::npos && words.substr(blank + 1) == request.stage &&
             has(request.queues, words.substr(0, blank));
    }
    default: return false;
  }
}

}  // namespace redis

namespace {

class Following final : public Watch {
 public:
  explicit Following(std::unique_ptr<redis::Subscription> subscription) : subscription_(std::move(subscription)) {}

 private:
  std::unique_ptr<redis::Subscription> subscription_;
};

}  // namespace

std::unique_ptr<Watch> RedisStore::watch(const WatchRequest& request, std::function<void()> on_change) {
  // What came while nobody listened is not known: then whoever waits shall look.
  auto subscription = parts_->client.subscribe(parts_->prefix_of(request.ns) + "wake",
                                               [request, on_change = std::move(on_change)](const redis::Heard& heard) {
                                                 if (!heard.message || redis::concerns(*heard.message, request))
                                                   on_change();
                                               });
  return std::make_unique<Following>(std::move(subscription));
}

}  // namespace fenceline
