// Fences near 2^53, and for a while past it; order of enqueue and deliveries near 2^31 and 2^53.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_large_numbers(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = static_cast<int>(random.between(2, 4));
  const Weather weather = rough_weather(ttl, 0.02, hosts);
  // 2^53 microseconds lie in the year 2255; simulated time begins with 2026.
  const Duration until_the_last_fence =
      Duration{kFenceMax} - Duration{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}.time_since_epoch()};
  constexpr std::int64_t kNear[] = {(std::int64_t{1} << 31) - 10, (std::int64_t{1} << 32) - 10,
                                    (std::int64_t{1} << 53) - 10};
  const Numbers numbers{.wall_ahead = until_the_last_fence - random.between(Duration{24h * 10}, Duration{24h * 100}),
                        .order = kNear[random.below(std::size(kNear))],
                        .deliveries = kNear[random.below(std::size(kNear))]};
  Plan plan = busy_plan(random, ttl, hosts, weather);
  plan.numbers = numbers;
  plan.fences_end = random.chance(0.5);
  return plan;
}

}  // namespace

const Scenario large_numbers{
    .name = "large-numbers",
    .summary = "fences near 2^53 and past it, other numbers near 2^31 and 2^53",
    .plan = plan_of_large_numbers,
    .owes = {Count::fences_refused, Count::wall_leaps, Count::takeovers, Count::refusals, Count::losses,
             Count::group_handovers, Count::cancelled_running, Count::retried, Count::notes, Count::keys_met}};

}  // namespace fenceline::sim
