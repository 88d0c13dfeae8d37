#include "model/cron.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest.hpp"

namespace fenceline {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                   "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekdays{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

enum class Part { second, minute, hour, day, month, weekday };

struct Field {
  std::string_view name;
  int least, most;
  std::string_view allowed;
};

constexpr std::array<Field, 6> kFields{{
    {"second", 0, 59, "0-59, *, lists (0,30), ranges (10-20) and steps (*/15)"},
    {"minute", 0, 59, "0-59, *, lists (0,30), ranges (10-20) and steps (*/15)"},
    {"hour", 0, 23, "0-23, *, lists (6,18), ranges (9-17) and steps (*/2)"},
    {"day of month", 1, 31, "1-31, *, lists (1,15), ranges (1-7), steps (*/2) and L, the last day"},
    {"month", 1, 12, "1-12 or JAN-DEC, *, lists (1,7), ranges (MAR-OCT) and steps (*/3)"},
    {"day of week", 0, 7,
     "0-7 or SUN-SAT (0 and 7 are Sunday), *, lists (MON,THU), ranges (MON-FRI), steps (*/2), 5L or FRIL (the last "
     "Friday) and 1#2 (the second Monday)"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShortForms{{
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
    {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
}};

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return upper(c); });
  return out;
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find_first_of(separators);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && text.front() != '-';
  return whole ? std::optional(value) : std::nullopt;
}

template <std::size_t n>
std::optional<int> place(const std::array<std::string_view, n>& names, std::string_view text) {
  const auto found = std::ranges::find(names, upper(text));
  return found == names.end() ? std::nullopt : std::optional(static_cast<int>(found - names.begin()));
}

// Reads one field into the sets. The text holds printable ASCII only.
class FieldReader {
 public:
  FieldReader(Cron& cron, Part part, std::string_view text, int position)
      : cron_(cron), part_(part), field_(kFields[static_cast<std::size_t>(part)]), text_(text), position_(position) {}

  Result<void> read() {
    for (const std::string_view item : split(text_, ",")) {
      if (auto ok = read_item(item); !ok) return ok;
    }
    return {};
  }

 private:
  Result<void> read_item(std::string_view item) {
    if (item.empty()) return bad(text_, "has an empty place in its list");
    if (item == "?") {
      if (part_ != Part::day && part_ != Part::weekday)
        return bad(item, "means any day and is allowed only in a day field; write *");
      return add(field_.least, any_most(), 1);
    }
    if (auto special = read_special(item)) return *special;

    const std::size_t slash = item.find('/');
    const std::string_view range = item.substr(0, slash);
    const std::optional<int> step = slash == std::string_view::npos ? 1 : number(item.substr(slash + 1));
    if (!step || *step < 1) return bad(item, "has no step after the '/'; write a number from 1");
    if (const int most = any_most() - field_.least + 1; *step > most)
      return bad(item, "has a step that is too long: at most " + std::to_string(most));
    if (range == "*") return add(field_.least, any_most(), *step);

    const std::size_t dash = range.find('-');
    const std::string_view first_text = range.substr(0, dash);
    const Result<int> first = value(first_text, item);
    if (!first) return std::unexpected(first.error());
    if (dash == std::string_view::npos) {
      if (slash == std::string_view::npos) return add(*first, *first, 1);
      return bad(item, "has a step without a range; write " + std::string(first_text) + "-" +
                           std::to_string(any_most()) + "/" + std::to_string(*step));
    }
    const std::string_view last_text = range.substr(dash + 1);
    Result<int> last = value(last_text, item);
    if (!last) return std::unexpected(last.error());
    if (part_ == Part::weekday && upper(last_text) == "SUN" && *first > 0) last = 7;  // a week may end with it
    if (*first > *last)
      return bad(item, "runs backwards; write " + forwards(*first, *last, *step, !number(first_text)));
    return add(*first, *last, *step);
  }

  // L, 5L and 1#2; empty: it is none of them.
  std::optional<Result<void>> read_special(std::string_view item) {
    const char last = upper(item.back());
    if (const std::size_t hash = item.find('#'); hash != std::string_view::npos) {
      if (part_ != Part::weekday) return bad(item, "has a '#', which is for the day of week only");
      const Result<int> day = value(item.substr(0, hash), item);
      if (!day) return std::unexpected(day.error());
      const std::optional<int> nth = number(item.substr(hash + 1));
      if (!nth || *nth < 1 || *nth > 5) return bad(item, "needs 1 to 5 behind the '#'");
      cron_.nth_weekdays[static_cast<std::size_t>(*day % 7)] |= 1U << *nth;
      return Result<void>{};
    }
    if (last == 'W') return bad(item, "asks for the nearest working day, which is not supported");
    if (last != 'L' || part_ == Part::month) return std::nullopt;  // JUL
    const std::string_view before = item.substr(0, item.size() - 1);
    if (part_ == Part::day && before.empty()) {
      cron_.last_day = true;
      return Result<void>{};
    }
    if (part_ == Part::day) return bad(item, "is not a day; the last day is L alone");
    if (part_ != Part::weekday) return bad(item, "has an L, which is for the day of month and the day of week only");
    if (before.empty()) return bad(item, "does not say which day: write 5L or FRIL for the last Friday");
    const Result<int> day = value(before, item);
    if (!day) return std::unexpected(day.error());
    cron_.last_weekdays |= 1U << (*day % 7);
    return Result<void>{};
  }

  Result<int> value(std::string_view text, std::string_view item) const {
    const auto wrong = [&](const std::string& why) {
      const std::string_view holder = text == item ? text_ : item;
      return text == holder ? bad(text, "is " + why) : bad(holder, "has " + quoted(text) + ", which is " + why);
    };
    if (text.empty()) return bad(item, "lacks a value");
    if (text == "*") return bad(item, "has a * next to something else; * stands alone");
    std::optional<int> found = number(text);
    if (!found && part_ == Part::month) found = place(kMonths, text).transform([](int n) { return n + 1; });
    if (!found && part_ == Part::weekday) found = place(kWeekdays, text);
    if (!found) return wrong("no " + std::string(field_.name));
    if (*found < field_.least || *found > field_.most) return wrong("out of range");
    return *found;
  }

  Result<void> add(int first, int last, int step) {
    for (int n = first; n <= last; n += step) {
      switch (part_) {
        case Part::second: cron_.seconds |= std::uint64_t{1} << n; break;
        case Part::minute: cron_.minutes |= std::uint64_t{1} << n; break;
        case Part::hour: cron_.hours |= 1U << n; break;
        case Part::day: cron_.days |= 1U << n; break;
        case Part::month: cron_.months |= 1U << n; break;
        case Part::weekday: cron_.weekdays |= 1U << (n % 7); break;
      }
    }
    return {};
  }

  // What a backwards range means, as what may be written: "22-23,0-3".
  std::string forwards(int first, int last, int step, bool by_name) const {
    const auto spelled = [&](int n) {
      if (by_name && part_ == Part::month) return std::string(kMonths[static_cast<std::size_t>(n - 1)]);
      if (by_name) return std::string(kWeekdays[static_cast<std::size_t>(n % 7)]);
      return std::to_string(n);
    };
    const auto range = [&](int from, int to) { return from == to ? spelled(from) : spelled(from) + "-" + spelled(to); };
    const int most = any_most();
    if (step == 1) return range(first, most) + "," + range(field_.least, last);
    std::string list;
    const int values = most - field_.least + 1;
    for (int n = first; n <= last + values; n += step)
      list += (list.empty() ? "" : ",") + spelled((n - field_.least) % values + field_.least);
    return list;
  }

  int any_most() const { return part_ == Part::weekday ? 6 : field_.most; }

  std::unexpected<Error> bad(std::string_view what, std::string_view why) const {
    const std::string where = "field " + std::to_string(position_) + " (" + std::string(field_.name) + "): ";
    return fail(Code::invalid,
                where + quoted(what) + " " + std::string(why) + "; allowed: " + std::string(field_.allowed));
  }

  Cron& cron_;
  const Part part_;
  const Field& field_;
  const std::string_view text_;
  const int position_;
};

bool begins_with_star(std::string_view field) { return field.front() == '*' || field.front() == '?'; }

// The calendar repeats after 400 years.
bool ever_matches(const Cron& cron) {
  using namespace std::chrono;
  for (year_month month = year{2000} / 1; month < year{2400} / 1; month += months{1}) {
    if (matching_days(cron, month) != 0) return true;
  }
  return false;
}

Result<Cron> parse_fields(const std::vector<std::string_view>& texts) {
  const std::size_t count = texts.size();
  if (count != 5 && count != 6)
    return fail(Code::invalid,
                (count == 0 ? "it is empty" : "it has " + std::to_string(count) + (count == 1 ? " field" : " fields")) +
                    "; write five (minute, hour, day of month, month, day of week), or six with the second first");
  Cron cron;
  if (count == 5) cron.seconds = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Part part = static_cast<Part>(i + 6 - count);
    if (auto ok = FieldReader(cron, part, texts[i], static_cast<int>(i) + 1).read(); !ok)
      return std::unexpected(ok.error());
  }
  const std::string_view hour = texts[count - 4], day = texts[count - 3], month = texts[count - 2],
                         weekday = texts[count - 1];
  cron.elapsed = hour.front() == '*';
  cron.either_day = !begins_with_star(day) && !begins_with_star(weekday);
  if (ever_matches(cron)) return cron;
  const std::string where = "field " + std::to_string(count - 2) + " (day of month): ";
  if (cron.weekdays == 127)
    return fail(Code::invalid, where + "day " + std::string(day) + " of month " + std::string(month) + " never comes");
  return fail(Code::invalid, where + "no day of month " + std::string(month) + " is both " + quoted(day) +
                                 " and, by field " + std::to_string(count) + " (day of week), " + quoted(weekday) +
                                 "; a field that begins with * must match together with the other");
}

Result<Cron> parse_short_form(std::string_view word) {
  std::string known;
  std::vector<std::string> names;
  for (const auto& [name, fields] : kShortForms) {
    if (upper(word) == upper(name)) return parse_fields(split(fields, " "));
    names.emplace_back(name);
    known += (known.empty() ? "" : " ") + std::string(name);
  }
  if (upper(word) == "@REBOOT")
    return fail(
        Code::invalid,
        "@reboot is not supported: a schedule belongs to a store, not to a machine that boots; use one of " + known);
  if (upper(word).starts_with("@EVERY"))
    return fail(Code::invalid, "@every is an interval, not a cron expression: use --every; short forms are " + known);
  const std::optional<std::string> near = nearest(word, names);
  return fail(Code::invalid, quoted(word) + " is not a short form" + (near ? "; did you mean " + *near + "?" : "") +
                                 "; known are " + known);
}

Result<Cron> parse_text(std::string_view expression) {
  if (expression.size() > kCronBytesMax)
    return fail(Code::invalid, "it is too long (" + std::to_string(expression.size()) + " bytes); at most " +
                                   std::to_string(kCronBytesMax));
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if ((c >= 0x20 && c < 0x7f) || c == '\t') continue;
    return fail(Code::invalid, "byte " + std::to_string(i + 1) +
                                   " is not printable ASCII; write digits, names, spaces and * ? , - / # L");
  }
  std::vector<std::string_view> fields = split(expression, " \t");
  std::erase(fields, std::string_view{});
  if (!fields.empty() && fields.front().starts_with('@')) {
    const bool alone = fields.size() == 1 || upper(fields.front()) == "@EVERY";
    if (!alone)
      return fail(Code::invalid, quoted(fields.front()) + " stands alone; " + quoted(fields[1]) + " follows it");
    return parse_short_form(fields.front());
  }
  return parse_fields(fields);
}

}  // namespace

Result<Cron> parse_cron(std::string_view expression) {
  Result<Cron> cron = parse_text(expression);
  if (cron) return cron;
  const bool shows = expression.size() <= kCronBytesMax &&
                     std::ranges::all_of(expression, [](char c) { return c >= 0x20 && c < 0x7f; });
  return fail(Code::invalid, "cron expression" + (shows ? " " + quoted(expression) : "") + ": " + cron.error().message);
}

std::uint32_t matching_days(const Cron& cron, std::chrono::year_month month) {
  using namespace std::chrono;
  if ((cron.months >> static_cast<unsigned>(month.month()) & 1U) == 0) return 0;
  const unsigned length = static_cast<unsigned>((month / last).day());
  const std::uint32_t valid = (std::uint32_t{2} << length) - 2U;
  const std::uint32_t by_date = (cron.days & valid) | (cron.last_day ? 1U << length : 0U);
  const unsigned first_weekday = weekday{sys_days{month / 1}}.c_encoding();
  std::uint32_t by_weekday = 0;
  for (unsigned name = 0; name < 7; ++name) {
    const unsigned first = 1 + (name + 7 - first_weekday) % 7;
    const std::uint32_t all = (0x10204081U << first) & valid;  // every seventh day from the first such one
    if ((cron.weekdays >> name & 1U) != 0) by_weekday |= all;
    if ((cron.last_weekdays >> name & 1U) != 0) by_weekday |= std::bit_floor(all);
    for (unsigned nth = 1; nth <= 5; ++nth) {
      const unsigned day = first + 7 * (nth - 1);
      if (day <= length && (cron.nth_weekdays[name] >> nth & 1U) != 0) by_weekday |= 1U << day;
    }
  }
  return cron.either_day ? by_date | by_weekday : by_date & by_weekday;
}

}  // namespace fenceline
