#include "store/store_findings.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/check.hpp"
#include "base/duration_text.hpp"
#include "base/utc_text.hpp"

namespace fenceline {
namespace {

constexpr Duration kClocksApartMost = std::chrono::seconds{5};
constexpr Duration kSlowRoundTrip = std::chrono::milliseconds{100};

bool is_sane(WallTime at) {
  using namespace std::chrono;
  return at > sys_days{year{2024} / 1 / 1} && at < sys_days{year{2200} / 1 / 1};
}

std::string in_milliseconds(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f ms", static_cast<double>(duration.count()) / 1000);
  return text.data();
}

}  // namespace

std::string in_units(std::int64_t bytes) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", amount, kUnits[unit]);
  return text.data();
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=,#-";
  if (!text.empty() && text.front() != '#' && text.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string look_then(const std::string& look, const std::string& act) { return look + "; # then: " + act; }

Finding class_finding(const StoreProfile& now, const StoreProfile& opened, const std::string& remedy) {
  Finding finding{"class", FindingStatus::ok, std::string(1, letter(now.guarantee)), ""};
  for (const std::string& reason : now.reasons)
    finding.detail += (&reason == &now.reasons.front() ? ": " : "; ") + reason;
  if (now.guarantee <= opened.guarantee) return finding;
  finding.status = FindingStatus::warning;
  finding.detail += std::string("; it was ") + letter(opened.guarantee) + " when the store was opened";
  finding.why = "a server crash can lose acknowledged work";
  finding.remedy = remedy;
  return finding;
}

Finding clock_finding(WallTime server, WallTime asked, WallTime answered, const std::string& remedy) {
  if (!is_sane(server))
    return {"clock", FindingStatus::bad, "the server's clock says " + utc_text(server), remedy,
            "fences are derived from it: if it is far behind, gates refuse them; if it is far ahead, they run out"};
  const WallTime ours = asked + (answered - asked) / 2;
  const Duration apart = server > ours ? server - ours : ours - server;
  const std::string detail = "the server's clock and this machine's are " +
                             format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(apart)) + " apart";
  if (apart <= kClocksApartMost + (answered - asked)) return {"clock", FindingStatus::ok, detail, ""};
  return {
      "clock", FindingStatus::warning, detail, remedy,
      "leases and schedules follow the server's clock: ticks come that much early or late, and fences of two stores do "
      "not compare"};
}

Finding round_trip_finding(std::vector<Duration> took, const std::string& remedy) {
  check(!took.empty(), "the round trip can be measured");
  std::ranges::sort(took);
  const Duration middle = took[took.size() / 2];
  const std::string detail = in_milliseconds(middle) + " in the middle of " + std::to_string(took.size()) + ", " +
                             in_milliseconds(took.back()) + " at most";
  if (middle < kSlowRoundTrip) return {"round_trip", FindingStatus::ok, detail, ""};
  return {"round_trip", FindingStatus::warning, detail, remedy,
          "each claim, renewal and settle waits for a round trip, and a renewal may take a twentieth of the ttl"};
}

}  // namespace fenceline
