#include "doctor/text.hpp"

#include <algorithm>

#include "base/utc_text.hpp"

namespace fenceline::doctor {

std::string rough(Duration duration) {
  using namespace std::chrono;
  const auto whole = floor<seconds>(std::max(duration, Duration{0}));
  if (whole < seconds{100}) return std::to_string(whole.count()) + "s";
  if (whole < minutes{100}) return std::to_string(floor<minutes>(whole).count()) + "m";
  if (whole < hours{48}) return std::to_string(floor<hours>(whole).count()) + "h";
  return std::to_string(floor<days>(whole).count()) + "d";
}

std::string moment(WallTime at, WallTime now) {
  std::string text = utc_text(at);  // "2026-11-16T05:17:52Z"
  const std::size_t day = text.find('T');
  if (std::chrono::floor<std::chrono::days>(at) == std::chrono::floor<std::chrono::days>(now))
    return text.substr(day + 1);
  text[day] = ' ';
  return text;
}

std::string counted(std::int64_t number, std::string_view thing) {
  return std::to_string(number) + " " + std::string(thing) + (number == 1 ? "" : "s");
}

}  // namespace fenceline::doctor
