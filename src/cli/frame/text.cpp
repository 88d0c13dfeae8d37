#include "cli/frame/text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <sstream>

#include "base/duration_text.hpp"
#include "base/utf8.hpp"

namespace fenceline::cli {

std::string format_time(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  std::array<char, 64> buffer{};
  const int length =
      std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                    static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                    static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return {buffer.data(), static_cast<std::size_t>(length)};
}

std::string short_time(WallTime time, WallTime now) {
  const std::string whole = format_time(time);  // 2026-11-15T10:00:00.000000Z
  const std::string today = format_time(now);
  if (whole.substr(0, 10) == today.substr(0, 10)) return whole.substr(11, 8) + "Z";
  if (whole.substr(0, 4) == today.substr(0, 4)) return whole.substr(5, 5) + " " + whole.substr(11, 5) + "Z";
  return whole.substr(0, 10);
}

std::string local_clock(WallTime time) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  std::tm shown{};
  std::array<char, 16> text{};
  if (::localtime_r(&seconds, &shown) != nullptr) std::strftime(text.data(), text.size(), "%H:%M:%S", &shown);
  return text.data();
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  std::size_t characters = 0;
  while (!text.empty()) {
    if (most != 0 && characters == most) return out + "...";
    const std::size_t length = utf8_sequence_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    // U+0080 to U+009F are control characters too, and some terminals obey them.
    const bool control =
        first < 0x20 || first == 0x7f || (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (length == 0 || control) out += '?';
    else out.append(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
    ++characters;
  }
  return out;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text, 40) + "'"; }

std::string brief_duration(Duration duration) {
  using namespace std::chrono;
  const Duration shown = std::max(duration, Duration{0});
  if (shown < 1s) return std::to_string(duration_cast<milliseconds>(shown).count()) + "ms";
  if (shown < 10s) {
    const auto tenths = duration_cast<milliseconds>(shown).count() / 100;
    return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + "s";
  }
  if (shown < 100s) return std::to_string(duration_cast<seconds>(shown).count()) + "s";
  if (shown < 100min) return std::to_string(duration_cast<minutes>(shown).count()) + "m";
  if (shown < 48h) return std::to_string(duration_cast<hours>(shown).count()) + "h";
  return std::to_string(duration_cast<days>(shown).count()) + "d";
}

std::string or_empty(Duration duration) { return duration == Duration{0} ? "" : format_duration(duration); }

std::string or_empty(int number) { return number == 0 ? "" : std::to_string(number); }

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : std::string(between)) + word;
  return out;
}

std::string one_line(std::string_view text) {
  std::string out;
  bool space = false;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      space = !out.empty();
      continue;
    }
    if (space) out += ' ';
    space = false;
    out += c;
  }
  return out;
}

std::string folded(const std::string& text, std::size_t indent, std::size_t width) {
  std::istringstream words(text);
  std::string out, word;
  std::size_t column = indent;
  while (words >> word) {
    const bool first = column == indent;
    if (!first && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
  }
  return out;
}

std::string compact_json(std::string_view json) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < json.size()) out += json[++i];
      else if (c == '"') in_string = false;
      continue;
    }
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
    in_string = c == '"';
    out += c;
  }
  return out;
}

}  // namespace fenceline::cli
