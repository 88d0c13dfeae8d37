// Random cron expressions in several zones, with their next ticks from a start shortly before a change of the clocks:
// one JSON object a line, for tests/oracles/cron, which asks other readers of cron expressions for the same.
//   cron_cases EXPRESSIONS
#include <array>
#include <charconv>
#include <iostream>
#include <string>
#include <vector>

#include "model/tick_rule.hpp"
#include "support/random_cron.hpp"

namespace {

using namespace fenceline;
using namespace std::chrono;
using test::Chance;
using test::RandomCron;

constexpr std::size_t kTicks = 6;

struct Place {
  const char* zone;
  std::vector<WallTime> changes;
};

const std::vector<Place>& places() {
  static const std::vector<Place> all{
      {"UTC", {sys_days{year{2026} / 2 / 27}}},
      {"Europe/Berlin", {sys_days{year{2026} / 3 / 29} + hours{1}, sys_days{year{2026} / 10 / 25} + hours{1}}},
      {"America/New_York", {sys_days{year{2026} / 3 / 8} + hours{7}, sys_days{year{2026} / 11 / 1} + hours{6}}},
      {"Australia/Lord_Howe", {sys_days{year{2026} / 4 / 4} + hours{15}, sys_days{year{2026} / 10 / 3} + minutes{930}}},
      {"Asia/Beirut", {sys_days{year{2026} / 3 / 28} + hours{22}, sys_days{year{2026} / 10 / 24} + hours{21}}},
      {"Pacific/Apia", {sys_days{year{2011} / 12 / 30} + hours{10}, sys_days{year{2012} / 3 / 31} + hours{14}}},
  };
  return all;
}

template <class Numbers>
std::string list(const Numbers& numbers) {
  std::string text;
  for (const auto& n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return "[" + text + "]";
}

std::string meaning(const RandomCron& cron) {
  std::string named, nth;
  for (const std::set<int>& set : cron.named) named += (named.empty() ? "" : ",") + list(set);
  for (const auto& [weekday, n] : cron.nth_weekdays) nth += (nth.empty() ? "" : ",") + list(std::array{weekday, n});
  return "\"named\":[" + named + "],\"last_day\":" + (cron.last_day ? "true" : "false") +
         ",\"last_weekdays\":" + list(cron.last_weekdays) + ",\"nth_weekdays\":[" + nth + "]";
}

void print_cases(const RandomCron& cron, Chance& chance) {
  for (const Place& place : places()) {
    const WallTime change =
        place.changes[static_cast<std::size_t>(chance.between(0, static_cast<int>(place.changes.size()) - 1))];
    const WallTime from = change - minutes{chance.between(0, 30 * 60)};
    const auto rule = TickRule::cron(cron.text, place.zone);
    if (!rule) return;  // a day that never comes
    std::vector<std::int64_t> ticks;
    for (auto tick = rule->next(from); tick && ticks.size() < kTicks; tick = rule->next(*tick))
      ticks.push_back(floor<seconds>(*tick).time_since_epoch().count());
    std::cout << "{\"cron\":\"" << cron.text << "\",\"zone\":\"" << place.zone
              << "\",\"from\":" << floor<seconds>(from).time_since_epoch().count() << "," << meaning(cron)
              << ",\"ticks\":" << list(ticks) << "}\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  int expressions = 0;
  const std::string_view asked = argc == 2 ? argv[1] : "";
  if (std::from_chars(asked.data(), asked.data() + asked.size(), expressions).ec != std::errc{}) {
    std::cerr << "usage: cron_cases EXPRESSIONS\n";
    return 64;
  }
  Chance chance(20'261'116);
  for (int n = 0; n < expressions; ++n) {
    const RandomCron cron = random_cron(chance, 4, n % 2 == 0);
    print_cases(cron, chance);
  }
}
