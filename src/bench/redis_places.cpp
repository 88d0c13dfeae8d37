// Places on a Redis server: a prefix of keys each, behind the prefix that the store's URL names, so that a user who is
// let at no other keys can bench too.
#include <charconv>
#include <cstdio>
#include <set>
#include <utility>

#include "bench/places.hpp"
#include "bench/redis_place.hpp"

namespace fenceline::bench {
namespace {

using redis::Command;
using redis::Value;

constexpr std::size_t kPrefixMost = 30;  // bytes of the given one: behind it there must be room for ours
constexpr int kScanStep = 1000;
constexpr Duration kFreeingMost = std::chrono::seconds{30};
constexpr Duration kLookEvery = std::chrono::milliseconds{2};

class RedisPlaces final : public Places {
 public:
  RedisPlaces(Runtime& runtime, std::string url, std::unique_ptr<RedisPlace> server)
      : runtime_(runtime), url_(std::move(url)), server_(std::move(server)) {
    char number[17];
    std::snprintf(number, sizeof number, "%08llx", static_cast<unsigned long long>(runtime.random() & 0xffff'ffff));
    stem_ = server_->address().prefix + ":bench:" + number + ":";
  }
  ~RedisPlaces() override { drop_all(); }

  // What it will need later, before anything is made.
  Result<void> check() {
    if (server_->address().prefix.size() > kPrefixMost)
      return fail(Code::invalid, "the prefix in the store's URL has more than " + std::to_string(kPrefixMost) +
                                     " bytes, so that the bench cannot put its own behind it; give a shorter one");
    if (auto told = information(); !told) return std::unexpected(told.error());
    return remove_all(stem_);
  }

  std::string fresh(const std::string& stem) override {
    return *made_.insert(stem_ + std::to_string(++given_) + "_" + stem).first;
  }
  void drop(const std::string& place) override {
    if (made_.erase(place) == 0) return;
    if (remove_all(place + ":")) wait_until_freed({});
  }
  void drop_all() override {
    if (!made_.empty()) remove_all(stem_);
    made_.clear();
  }
  std::string url_of(const std::string& place) const override { return with_prefix(url_, place); }
  StoreKind kind() const override { return StoreKind::redis; }

  // Nothing is promised of a machine that others use too: it has at the most as much.
  std::optional<std::int64_t> free_room() override {
    const Result<std::string> told = information();
    if (!told) return std::nullopt;
    const std::int64_t limit = number_of(*told, "maxmemory").value_or(0);
    const std::optional<std::int64_t> most = limit > 0 ? limit : number_of(*told, "total_system_memory");
    const std::optional<std::int64_t> used = number_of(*told, "used_memory");
    if (!most || !used) return std::nullopt;
    return *most - *used;
  }

  Result<void> settle(const std::string&, std::stop_token stop) override {
    wait_until_freed(stop);
    return stop.stop_requested() ? fail(Code::held, "interrupted") : Result<void>();
  }

  // What clients and the log keep for a moment comes and goes; it is not of the data.
  Result<std::optional<std::int64_t>> memory_used() override {
    wait_until_freed({});
    const Result<std::string> told = information();
    if (!told) return std::unexpected(told.error());
    const std::optional<std::int64_t> used = number_of(*told, "used_memory");
    if (!used) return std::nullopt;
    return *used - number_of(*told, "mem_clients_normal").value_or(0) - number_of(*told, "mem_aof_buffer").value_or(0);
  }

  Result<std::unique_ptr<HeldHorizon>> hold_horizon() override { return nullptr; }

 private:
  Result<std::string> information() {
    Result<Value> answer = server_->call(Command("INFO").arg("memory"));
    if (!answer) return std::unexpected(answer.error());
    return std::move(answer->text);
  }
  static std::optional<std::int64_t> number_of(std::string_view information, const std::string& name) {
    const std::size_t at = information.starts_with(name + ":") ? 0 : information.find("\n" + name + ":");
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view value = information.substr(information.find(':', at) + 1);
    std::int64_t number = 0;
    return std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc{} ? std::optional(number)
                                                                                                : std::nullopt;
  }

  // The server frees large keys in the background; the next measure must not be affected.
  void wait_until_freed(std::stop_token stop) {
    const Instant end = runtime_.now() + kFreeingMost;
    while (runtime_.now() < end) {
      const Result<std::string> told = information();
      if (!told || number_of(*told, "lazyfree_pending_objects").value_or(0) == 0) return;
      if (!runtime_.sleep_for(kLookEvery, stop)) return;
    }
  }

  Result<void> remove_all(const std::string& prefix) {
    std::string cursor = "0";
    do {
      const Result<Value> page =
          server_->call(Command("SCAN").arg(cursor).arg("MATCH").arg(prefix + "*").arg("COUNT").arg(kScanStep));
      if (!page) return std::unexpected(page.error());
      if (page->items.size() != 2) return fail(Code::unavailable, "the server's answer to SCAN is not understood");
      cursor = page->items[0].text;
      if (page->items[1].items.empty()) continue;
      Command unlink("UNLINK");
      for (const Value& key : page->items[1].items) unlink.key(key.text);
      if (auto gone = server_->call(unlink); !gone) return std::unexpected(gone.error());
    } while (cursor != "0");
    return {};
  }

  Runtime& runtime_;
  const std::string url_;
  const std::unique_ptr<RedisPlace> server_;
  std::string stem_;
  int given_ = 0;
  std::set<std::string> made_;
};

}  // namespace

Result<std::unique_ptr<Places>> redis_places(Runtime& runtime, const std::string& url) {
  auto server = RedisPlace::open(runtime, url);
  if (!server) return std::unexpected(server.error());
  auto places = std::make_unique<RedisPlaces>(runtime, url, std::move(*server));
  if (auto ok = places->check(); !ok) return std::unexpected(ok.error());
  return places;
}

}  // namespace fenceline::bench
