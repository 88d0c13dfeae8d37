// A small world for ways to make a lock: a few processes that want one lock, each way's own server, and the same bad
// weather for all of them. Processes are paused, also between any two of their steps, and killed; requests and replies
// are lost; clocks drift, and wall clocks are set. After the storm everybody must be served.
//
// A recipe tells the checks of what it does in the very moment at which its server does it, and of every act under its
// lock.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/memory/memory_store.hpp"
#include "sim/checks/lock_checks.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "sim/store/faulty_store.hpp"
#include "sim/store/recording_store.hpp"

namespace fenceline::sim {

inline constexpr Duration kRecipeTtl = std::chrono::seconds{10};
inline constexpr Duration kRecipeMargin = kRecipeTtl / 10;
inline constexpr std::string_view kRecipeLock = "l";

class RecipeWorld;
struct RecipeHost;

// Client and server of one way to make a lock; one object for all processes, so what it remembers is the server's.
class Recipe {
 public:
  explicit Recipe(RecipeWorld& world) : world_(world) {}
  virtual ~Recipe() = default;

  // The life of a process: takes the lock again and again.
  virtual void live(RecipeHost& host, std::stop_token stop);
  // One try, the work under it, and its end.
  virtual void once(RecipeHost&) {}
  // Something of the server's own goes wrong, about every fourth ttl of the storm.
  virtual void server_suffers() {}
  // Whether everybody has the lock at some time, once the weather is fine.
  virtual bool serves_everybody() const { return true; }

 protected:
  RecipeWorld& world_;
};

// One start of one process.
struct RecipeHost {
  RecipeHost(RecipeWorld& its_world, Machine& machine, int its_number, const std::string& name);

  // One command to the recipe's server, a step of its own there; it arrives even if its sender is paused or dead by
  // then. Nothing: nobody knows whether it happened.
  template <class Command>
  std::optional<std::invoke_result_t<Command>> ask(Command command);
  // Never used again.
  std::string fresh_owner();

  RecipeWorld& world;
  const int number;  // of its place: the same after a restart
  SimRuntime runtime;
  FaultyStore wire;  // to our store
};

class RecipeWorld final : private StoreObserver {
 public:
  RecipeWorld(std::uint64_t seed, StackPool& stacks) : simulation_(seed, stacks) {}
  ~RecipeWorld() override {
    for (RecipeHost& host : hosts_) host.runtime.kill();
  }

  // The promise that was broken first, and how; empty: none.
  std::string play(Recipe& recipe) {
    recipe_ = &recipe;
    constexpr int kMachines = 3;
    for (int i = 0; i < kMachines; ++i) {
      machines_.emplace_back("m" + std::to_string(i), random().between(Duration{0}, std::chrono::hours{24}),
                             random().between(-20'000, 20'000), kWall);
    }
    for (int place = 0; place < kPlaces; ++place) start(place);
    schedule(2 * kRecipeTtl, [this] { jump_some_wall_clock(); });
    schedule(3 * kRecipeTtl, [this] { kill_somebody(); });
    schedule(4 * kRecipeTtl, [this] { recipe_->server_suffers(); });
    simulation_.run_until(Instant{40 * kRecipeTtl}, [this] { return !violations_.empty(); });
    if (!recipe.serves_everybody()) return first_broken();
    weather_ = {.delay_most = std::chrono::milliseconds{10}};
    storm_ = false;
    served_.clear();
    const bool done = simulation_.run_until(simulation_.now() + std::chrono::hours{1},
                                            [this] { return !violations_.empty() || served_.size() == kPlaces; });
    if (!done)
      violations_.add("turn", std::to_string(kPlaces - static_cast<int>(served_.size())) +
                                  " had no lock within an hour after the storm");
    return first_broken();
  }

  // What a recipe's server does, told in the moment at which it does it. `left`: until when it keeps others out.
  // `window`: the recipe means to keep it to its end.
  void granted(const std::string& owner, Fence fence, Duration left = kRecipeTtl, bool window = false) {
    // As the holder was promised; a server whose own end lies elsewhere is found out when it grants again.
    const AcquireRequest request{.ns = "default",
                                 .names = {std::string(kRecipeLock)},
                                 .owner = owner,
                                 .request = owner,
                                 .ttl = std::min(left, kRecipeTtl),
                                 .to_its_end = window};
    std::string previous;
    if (const auto lock = checks_.truth().locks_.find(std::string(kRecipeLock)); lock != checks_.truth().locks_.end()) {
      for (const LockTruth::Holder& holder : lock->second.holders) {
        if (!holder.released) previous = holder.owner;
      }
    }
    told<AcquireCall>(request, Result<AcquireReply>(AcquireReply{
                                   .grants = {{std::string(kRecipeLock), fence, previous}}, .left = left}));
  }
  void renewed(const std::string& owner, Fence fence, Duration left = kRecipeTtl) {
    told<RenewCall>(RenewRequest{.ns = "default", .locks = {holding(owner, fence)}, .ttl = kRecipeTtl},
                    Result<RenewReply>(RenewReply{.left = left}));
  }
  void released(const std::string& owner, Fence fence) {
    told<ReleaseCall>(ReleaseRequest{.ns = "default", .locks = {holding(owner, fence)}},
                      Result<ReleaseReply>(ReleaseReply{}));
  }
  void acts(const RecipeHost& host, const std::string& owner, Fence fence) {
    served_.insert(host.number);
    checks_.acts(host.runtime, holding(owner, fence));
  }
  void broken(std::string_view promise, const std::string& sentence) { violations_.add(promise, sentence); }
  // Whether this grant is alive at the server.
  bool is_alive(const std::string& owner, Fence fence) const {
    const auto lock = checks_.truth().locks_.find(std::string(kRecipeLock));
    if (lock == checks_.truth().locks_.end() || lock->second.fence != fence) return false;
    return std::ranges::any_of(lock->second.holders, [&](const LockTruth::Holder& holder) {
      return holder.owner == owner && holder.alive(now());
    });
  }

  // The work of a rightful client: acts now and then as long as it may trust, which counts from before it asked.
  // `renew` (none: it is not) is asked after each third of the ttl, and answers whether it was. `act` is told of each
  // act that it makes.
  void work(RecipeHost& host, const std::string& owner, Fence fence, Instant asked,
            const std::function<bool()>& renew = {}, const std::function<void()>& act = {}) {
    const Instant end = host.runtime.now() + random().between(Duration{0}, storm_ ? 2 * kRecipeTtl : kRecipeTtl / 4);
    Instant trusted = asked + kRecipeTtl - kRecipeMargin;
    while (host.runtime.now() < trusted) {
      acts(host, owner, fence);
      if (act) act();
      if (host.runtime.now() >= end) return;
      host.runtime.sleep_for(kRecipeTtl / 8, {});
      if (!renew || host.runtime.now() < asked + kRecipeTtl / 3) continue;
      asked = host.runtime.now();
      if (renew()) trusted = asked + kRecipeTtl - kRecipeMargin;
    }
  }

  Simulation& simulation() { return simulation_; }
  Random& random() { return simulation_.random(); }
  Instant now() const { return simulation_.now(); }  // the clock of every server
  bool storm() const { return storm_; }
  Store& ours() { return recorded_; }
  StoreServer& server() { return server_; }
  Tally& tally() { return tally_; }
  const Weather& weather() const { return weather_; }

 private:
  static constexpr int kPlaces = 5;
  static constexpr Duration kWall = std::chrono::hours{24 * 365 * 50};

  void applied(const Applied& applied) override { checks_.applied(applied); }
  static LockHolding holding(const std::string& owner, Fence fence) { return {std::string(kRecipeLock), owner, fence}; }

  template <class AnyCall, class Request, class Answer>
  void told(const Request& request, const Answer& answer) {
    checks_.applied({clock_.now(), clock_.wall_now(), AnyCall{request, answer}});
  }

  std::string first_broken() const {
    if (violations_.empty()) return "";
    return violations_.found().front().promise + ": " + violations_.found().front().sentence;
  }
  void start(int place) {
    RecipeHost& host = hosts_.emplace_back(*this, machines_[static_cast<std::size_t>(place) % machines_.size()], place,
                                           "p" + std::to_string(place) + "." + std::to_string(++starts_));
    at_[place] = &host;
    host.runtime.on_step([this](SimRuntime& process) {
      if (!storm_ || !random().chance(0.02)) return;
      simulation_.after(random().between(Duration{0}, 2 * kRecipeTtl), [&process] { process.resume(); });
      process.pause();
    });
    host.runtime.start([this, &host](std::stop_token stop) { recipe_->live(host, stop); });
  }
  void schedule(Duration every, const std::function<void()>& what) {
    simulation_.after(random().between(Duration{0}, 2 * every), [this, every, what] {
      if (!storm_) return;
      what();
      schedule(every, what);
    });
  }
  void kill_somebody() {
    const int place = static_cast<int>(random().below(kPlaces));
    at_[place]->runtime.kill();
    simulation_.after(random().between(Duration{0}, kRecipeTtl / 2), [this, place] {
      if (at_[place]->runtime.dead()) start(place);
    });
  }
  void jump_some_wall_clock() {
    machines_[random().below(machines_.size())].jump_wall(
        random().between(-std::chrono::minutes{3}, Duration{std::chrono::minutes{3}}));
  }

  Simulation simulation_;
  Recipe* recipe_ = nullptr;
  bool storm_ = true;
  Weather weather_{.drop_request = 0.03,
                   .refuse_request = 0.02,
                   .drop_reply = 0.05,
                   .late_request = 0.02,
                   .delay_most = kRecipeTtl / 20};
  std::set<int> served_;
  std::deque<Machine> machines_;
  Machine store_machine_{"store", Duration{0}, 0, kWall};
  SimRuntime clock_{simulation_, store_machine_, "store"};
  MemoryStore memory_{clock_};
  Violations violations_;
  Tally tally_;
  LockChecks checks_{"default", memory_, violations_, tally_, {}};
  RecordingStore recorded_{clock_, memory_, *this};
  StoreServer server_;
  std::deque<RecipeHost> hosts_;  // the dead too: what they sent may be under way
  std::map<int, RecipeHost*> at_;
  int starts_ = 0;
};

inline void Recipe::live(RecipeHost& host, std::stop_token stop) {
  while (!stop.stop_requested()) {
    once(host);
    host.runtime.sleep_for(world_.random().between(Duration{1}, kRecipeTtl / 4), stop);
  }
}

inline RecipeHost::RecipeHost(RecipeWorld& its_world, Machine& machine, int its_number, const std::string& name)
    : world(its_world),
      number(its_number),
      runtime(its_world.simulation(), machine, name),
      wire(runtime, its_world.ours(), its_world.server(), its_world.weather(), its_world.tally()) {}

inline std::string RecipeHost::fresh_owner() {
  return runtime.name() + "-" + std::to_string(runtime.random() % 1'000'000'000);
}

template <class Command>
std::optional<std::invoke_result_t<Command>> RecipeHost::ask(Command command) {
  using Answer = std::invoke_result_t<Command>;
  runtime.step();
  Simulation& simulation = world.simulation();
  Random& random = world.random();
  const Weather& weather = world.weather();
  constexpr Duration kTimeout = kRecipeTtl / 5;
  if (random.chance(weather.refuse_request)) return std::nullopt;
  struct Exchange {
    std::optional<Answer> answer;
    std::shared_ptr<Event> answered;
  };
  const auto exchange = std::make_shared<Exchange>();
  exchange->answered = runtime.make_event();
  const Instant give_up_at = runtime.now() + kTimeout;
  const bool late = random.chance(weather.late_request);
  const bool reply_lost = random.chance(weather.drop_reply) || late;
  const Duration there = random.between(Duration{0}, weather.delay_most) + (late ? kTimeout : Duration{0});
  const Duration back = random.between(Duration{0}, weather.delay_most);
  if (!random.chance(weather.drop_request)) {
    simulation.after(there, [&simulation, exchange, command, reply_lost, back] {
      const Answer answer = command();
      if (reply_lost) return;
      simulation.after(back, [exchange, answer] {
        exchange->answer = answer;
        exchange->answered->notify();
      });
    });
  }
  exchange->answered->wait_until(give_up_at);
  runtime.step();
  return exchange->answer;
}

// A server of keys and values, as many home-made locks are built on: each command is one step, and a key may have an
// end.
class PlainMap {
 public:
  explicit PlainMap(const RecipeWorld& world) : world_(world) {}

  bool set_if_absent(const std::string& key, const std::string& value, Duration ttl) {
    if (get(key)) return false;
    keys_[key] = {value, world_.now() + ttl};
    return true;
  }
  std::optional<std::string> get(const std::string& key) {
    const auto found = keys_.find(key);
    if (found == keys_.end() || found->second.second <= world_.now()) return std::nullopt;
    return found->second.first;
  }
  Duration left(const std::string& key) { return get(key) ? keys_[key].second - world_.now() : Duration{0}; }
  bool expire(const std::string& key, Duration ttl) {
    if (!get(key)) return false;
    keys_[key].second = world_.now() + ttl;
    return true;
  }
  void remove(const std::string& key) { keys_.erase(key); }
  std::int64_t increment(const std::string& counter) { return ++counters_[counter]; }
  void evict(const std::string& counter) { counters_.erase(counter); }

 private:
  const RecipeWorld& world_;
  std::map<std::string, std::pair<std::string, Instant>> keys_;
  std::map<std::string, std::int64_t> counters_;
};

inline constexpr std::uint64_t kRecipeSeeds = 40;

// What is broken first on the first seed on which something is; empty: on none.
template <class AnyRecipe>
std::string found_out() {
  StackPool stacks;
  for (std::uint64_t seed = 1; seed <= kRecipeSeeds; ++seed) {
    RecipeWorld world(seed, stacks);
    AnyRecipe recipe(world);
    if (std::string broken = world.play(recipe); !broken.empty())
      return broken + " (seed " + std::to_string(seed) + ")";
  }
  return "";
}

#define EXPECT_FOUND_OUT(promise, recipe)                             \
  do {                                                                \
    const std::string broken = found_out<recipe>();                   \
    EXPECT_EQ(broken.substr(0, broken.find(':')), promise) << broken; \
  } while (false)

}  // namespace fenceline::sim
