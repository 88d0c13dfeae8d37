#include "model/time_zone.hpp"

#include <cctz/time_zone.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "base/nearest.hpp"
#include "base/text.hpp"

namespace fenceline {
namespace {

using namespace std::chrono;

constexpr sys_seconds kBegin = sys_days{year{1900} / 1 / 1}, kEnd = sys_days{year{2300} / 1 / 1};
constexpr seconds kOffsetMost = hours{26};  // either way: farther from UTC no clock was ever set
constexpr std::size_t kZoneBytesMax = 64;

// Files and folders of the database that are no zones, or the zones once more with other rules.
constexpr std::array<std::string_view, 5> kNoZones{"localtime", "posixrules", "Factory", "posix", "right"};

// Where cctz looks, too.
std::filesystem::path database() {
  const char* const folder = std::getenv("TZDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/usr/share/zoneinfo";
}

// Letters, digits, '_', '-', '+', in parts joined by '/': no other path can be written with them.
bool is_plain(std::string_view name) {
  char before = '/';
  for (const char c : name) {
    if (!is_letter_or_digit(c) && c != '_' && c != '-' && c != '+' && c != '/') return false;
    if (before == '/' && !is_letter_or_digit(c)) return false;
    before = c;
  }
  return before != '/';
}

bool is_zone_file(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;
  std::array<char, 4> magic{};
  return std::ifstream(path, std::ios::binary).read(magic.data(), magic.size()) &&
         std::string_view(magic.data(), magic.size()) == "TZif";
}

bool is_no_zone(std::string_view name) {
  return std::ranges::find(kNoZones, name.substr(0, name.find('/'))) != kNoZones.end();
}

bool is_known(std::string_view name) {
  if (name == "UTC") return true;  // without a database, too
  return is_plain(name) && name.size() <= kZoneBytesMax && !is_no_zone(name) && is_zone_file(database() / name);
}

std::vector<std::string> all_zones() {
  std::vector<std::string> names;
  std::error_code error;
  const std::filesystem::path root = database();
  for (std::filesystem::recursive_directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().lexically_relative(root).string();
    if (is_no_zone(name)) entry.disable_recursion_pending();
    else if (is_known(name)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::unexpected<Error> unknown(std::string_view name) {
  const bool shows =
      name.size() <= kZoneBytesMax && std::ranges::all_of(name, [](char c) { return c > 0x20 && c < 0x7f; });
  if (!shows || name.empty())
    return fail(
        Code::invalid,
        "the time zone's name is empty, too long or not plain text; write an IANA name such as Europe/Berlin or UTC");
  const std::vector<std::string> names = all_zones();
  if (names.empty())
    return fail(Code::invalid, "unknown time zone '" + std::string(name) + "': there is no tz database in " +
                                   database().string() + "; install tzdata, or use UTC");
  const std::optional<std::string> near = nearest(name, names);
  return fail(Code::invalid,
              "unknown time zone '" + std::string(name) + "'; " +
                  (near ? "did you mean " + *near + "?" : "write an IANA name such as Europe/Berlin or UTC"));
}

seconds since_epoch(cctz::civil_second time) { return seconds{time - cctz::civil_second(1970, 1, 1)}; }

}  // namespace

struct TimeZone::Rules {
  cctz::time_zone zone;

  seconds offset(sys_seconds at) const { return seconds{zone.lookup(at).offset}; }

  // The change of the clocks after a moment, and the one before it or at it; the limits if there is none.
  sys_seconds change_after(sys_seconds at) const {
    cctz::time_zone::civil_transition change;
    if (!zone.next_transition(at, &change)) return kEnd;
    return std::min(sys_seconds{since_epoch(change.from) - offset(at)}, kEnd);
  }
  sys_seconds change_until(sys_seconds at) const {
    cctz::time_zone::civil_transition change;
    if (!zone.prev_transition(at + seconds{1}, &change)) return kBegin;
    return std::max(sys_seconds{since_epoch(change.to) - offset(at)}, kBegin);
  }
};

TimeZone::TimeZone(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}

Result<TimeZone> TimeZone::find(std::string_view name) {
  Rules rules;
  // cctz keeps every name that it was asked for, known or not: it is asked for those only that are there.
  if (!is_known(name) || !cctz::load_time_zone(std::string(name), &rules.zone)) return unknown(name);
  return TimeZone(std::make_shared<const Rules>(rules));
}

Stretch TimeZone::at(sys_seconds moment) const {
  moment = std::clamp(moment, kBegin, kEnd - seconds{1});
  Stretch stretch{.begin = rules_->change_until(moment),
                  .end = rules_->change_after(moment),
                  .offset = rules_->offset(moment),
                  .shown = {}};
  stretch.shown = stretch.local(stretch.begin);
  if (stretch.begin == kBegin) return stretch;
  stretch.shown = local_seconds::min();
  for (sys_seconds change = stretch.begin; change > kBegin && change > stretch.begin - 2 * kOffsetMost;
       change = rules_->change_until(change - seconds{1}))
    stretch.shown =
        std::max(stretch.shown, local_seconds{change.time_since_epoch() + rules_->offset(change - seconds{1})});
  return stretch;
}

Result<void> check_zone(std::string_view name) {
  if (const Result<TimeZone> zone = TimeZone::find(name); !zone) return std::unexpected(zone.error());
  return {};
}

std::string local_text(WallTime at, std::string_view zone) {
  const sys_seconds moment = floor<seconds>(at);
  const Result<TimeZone> found = TimeZone::find(zone);
  const bool utc = zone == "UTC" || !found;
  const seconds offset = utc ? seconds{0} : found->at(moment).offset;
  const sys_seconds shown = moment + offset;
  const year_month_day date{floor<days>(shown)};
  const hh_mm_ss time{shown - floor<days>(shown)}, east{abs(offset)};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  std::string out = text.data();
  if (const Duration fraction = at - moment; fraction != Duration{0}) {
    std::snprintf(text.data(), text.size(), ".%06d", static_cast<int>(fraction.count()));
    out += text.data();
  }
  if (utc) return out + "Z";
  std::snprintf(text.data(), text.size(), "%c%02d:%02d", offset < seconds{0} ? '-' : '+',
                static_cast<int>(east.hours().count()), static_cast<int>(east.minutes().count()));
  out += text.data();
  if (east.seconds() == seconds{0}) return out;
  std::snprintf(text.data(), text.size(), ":%02d", static_cast<int>(east.seconds().count()));  // Liberia's, until 1972
  return out + text.data();
}

}  // namespace fenceline
