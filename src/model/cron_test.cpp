#include "model/cron.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/results.hpp"

namespace fenceline {
namespace {

using namespace std::chrono;
using test::must;

std::uint64_t bits(std::initializer_list<int> numbers) {
  std::uint64_t set = 0;
  for (const int n : numbers) set |= std::uint64_t{1} << n;
  return set;
}

std::string error_of(std::string_view expression) {
  const Result<Cron> cron = parse_cron(expression);
  return cron ? "" : cron.error().message;
}

// "1 15 31": the days of a month that match.
std::string days_of(std::string_view expression, year_month month) {
  const std::uint32_t days = matching_days(must(parse_cron(expression)), month);
  std::string text;
  for (int day = 1; day <= 31; ++day) {
    if ((days >> day & 1U) != 0) text += (text.empty() ? "" : " ") + std::to_string(day);
  }
  EXPECT_EQ(days & 1U, 0U);
  return text;
}

TEST(Cron, FiveFieldsAreAtSecondZeroAndSixBeginWithTheSecond) {
  const Cron five = must(parse_cron("5 4 3 2 1"));
  EXPECT_EQ(five.seconds, bits({0}));
  EXPECT_EQ(five.minutes, bits({5}));
  EXPECT_EQ(five.hours, bits({4}));
  EXPECT_EQ(five.days, bits({3}));
  EXPECT_EQ(five.months, bits({2}));
  EXPECT_EQ(five.weekdays, bits({1}));
  const Cron six = must(parse_cron("6 5 4 3 2 1"));
  EXPECT_EQ(six.seconds, bits({6}));
  EXPECT_EQ(six.minutes, bits({5}));
}

TEST(Cron, ListsRangesAndSteps) {
  const Cron cron = must(parse_cron("*/15 0-4,20-23 1-7/2 */4 1,3-4"));
  EXPECT_EQ(cron.minutes, bits({0, 15, 30, 45}));
  EXPECT_EQ(cron.hours, bits({0, 1, 2, 3, 4, 20, 21, 22, 23}));
  EXPECT_EQ(cron.days, bits({1, 3, 5, 7}));
  EXPECT_EQ(cron.months, bits({1, 5, 9}));
  EXPECT_EQ(cron.weekdays, bits({1, 3, 4}));
  EXPECT_EQ(must(parse_cron("10-30/10 05 01 09 *")).minutes, bits({10, 20, 30}));
  EXPECT_EQ(must(parse_cron("*/60 */24 * */12 */7")).weekdays, bits({0}));
}

TEST(Cron, NamesInAnyCase) {
  EXPECT_EQ(must(parse_cron("0 0 * jan,Jul-SEP,DEC *")).months, bits({1, 7, 8, 9, 12}));
  EXPECT_EQ(must(parse_cron("0 0 * JAN-JUL *")).months, bits({1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(must(parse_cron("0 0 * * mon-FRI")).weekdays, bits({1, 2, 3, 4, 5}));
  EXPECT_EQ(must(parse_cron("0 0 * * Sun,2-sat")).weekdays, bits({0, 2, 3, 4, 5, 6}));
}

TEST(Cron, SundayIsZeroAndSevenAndMayEndAWeek) {
  for (const std::string field : {"0", "7", "SUN", "7-7", "0,7"})
    EXPECT_EQ(must(parse_cron("0 0 * * " + field)).weekdays, bits({0})) << field;
  for (const std::string field : {"5-7", "FRI-SUN", "fri-7", "5-sun"})
    EXPECT_EQ(must(parse_cron("0 0 * * " + field)).weekdays, bits({0, 5, 6})) << field;
  for (const std::string field : {"0-6", "0-7", "1-7", "MON-SUN", "SUN-SAT", "*"})
    EXPECT_EQ(must(parse_cron("0 0 * * " + field)).weekdays, 127U) << field;
}

TEST(Cron, WhiteSpaceAndAQuestionMarkMakeNoDifference) {
  EXPECT_EQ(parse_cron("  0\t 12  * *   MON "), parse_cron("0 12 * * MON"));
  EXPECT_EQ(parse_cron("0 12 ? * MON"), parse_cron("0 12 * * MON"));
  EXPECT_EQ(parse_cron("0 12 1 * ?"), parse_cron("0 12 1 * *"));
}

TEST(Cron, ShortForms) {
  EXPECT_EQ(parse_cron("@yearly"), parse_cron("0 0 1 1 *"));
  EXPECT_EQ(parse_cron("@annually"), parse_cron("0 0 1 1 *"));
  EXPECT_EQ(parse_cron("@monthly"), parse_cron("0 0 1 * *"));
  EXPECT_EQ(parse_cron("@weekly"), parse_cron("0 0 * * 0"));
  EXPECT_EQ(parse_cron(" @Daily "), parse_cron("0 0 * * *"));
  EXPECT_EQ(parse_cron("@midnight"), parse_cron("0 0 * * *"));
  EXPECT_EQ(parse_cron("@hourly"), parse_cron("0 * * * *"));
}

TEST(Cron, S3_AnHourFieldThatBeginsWithAStarFollowsElapsedTime) {
  for (const std::string hour : {"*", "*/2", "*/2,3"})
    EXPECT_TRUE(must(parse_cron("0 " + hour + " * * *")).elapsed) << hour;
  for (const std::string hour : {"0", "0-23", "3,*", "0-23/2"})
    EXPECT_FALSE(must(parse_cron("0 " + hour + " * * *")).elapsed) << hour;
}

TEST(Cron, TheLastDayOfAMonth) {
  EXPECT_EQ(days_of("0 0 L * *", year{2026} / 2), "28");
  EXPECT_EQ(days_of("0 0 l * *", year{2028} / 2), "29");
  EXPECT_EQ(days_of("0 0 15,L * *", year{2026} / 4), "15 30");
  EXPECT_EQ(days_of("0 0 L 3 *", year{2026} / 4), "");
}

TEST(Cron, TheLastAndTheNthOfAWeekday) {
  EXPECT_EQ(days_of("0 0 * * 5L", year{2026} / 11), "27");
  EXPECT_EQ(days_of("0 0 * * FRIL", year{2026} / 7), "31");
  EXPECT_EQ(days_of("0 0 * * 7l", year{2026} / 2), "22");
  EXPECT_EQ(days_of("0 0 * * 1#2", year{2026} / 11), "9");
  EXPECT_EQ(days_of("0 0 * * MON#1,wed#5", year{2026} / 9), "7 30");
  EXPECT_EQ(days_of("0 0 * * SUN#5", year{2026} / 2), "");
  EXPECT_EQ(days_of("0 0 * * SUN#5", year{2026} / 3), "29");
  EXPECT_EQ(days_of("0 0 * * 5#1,5L,2", year{2026} / 11), "3 6 10 17 24 27");
}

TEST(Cron, EitherDayFieldWillDoUnlessOneBeginsWithAStar) {
  EXPECT_EQ(days_of("0 0 13 * FRI", year{2026} / 11), "6 13 20 27");
  EXPECT_EQ(days_of("0 0 1 * 2", year{2026} / 11), "1 3 10 17 24");
  EXPECT_EQ(days_of("0 0 */2 * FRI", year{2026} / 11), "13 27");
  EXPECT_EQ(days_of("0 0 1-7 * */6", year{2026} / 11), "1 7");
  EXPECT_EQ(days_of("0 0 ? * FRI", year{2026} / 11), "6 13 20 27");
  EXPECT_EQ(days_of("0 0 30 2 FRI", year{2026} / 2), "6 13 20 27");
}

TEST(Cron, MatchingDaysAreThoseOfTheCalendar) {
  for (year_month month = year{1999} / 1; month < year{2010} / 1; month += months{1}) {
    std::string all, sundays;
    for (sys_days day = month / 1; day <= sys_days{month / last}; day += days{1}) {
      const std::string number = std::to_string(static_cast<unsigned>(year_month_day{day}.day()));
      all += (all.empty() ? "" : " ") + number;
      if (weekday{day} == Sunday) sundays += (sundays.empty() ? "" : " ") + number;
    }
    EXPECT_EQ(days_of("0 0 * * *", month), all);
    EXPECT_EQ(days_of("0 0 * * SUN", month), sundays);
    EXPECT_EQ(days_of("0 0 * * 0#1,0#2,0#3,0#4,0#5", month), sundays);
  }
}

TEST(Cron, WhatNeverComesIsRefused) {
  EXPECT_EQ(error_of("0 0 31 2 *"),
            "cron expression '0 0 31 2 *': field 3 (day of month): day 31 of month 2 never comes");
  EXPECT_EQ(error_of("0 0 0 30 FEB *"),
            "cron expression '0 0 0 30 FEB *': field 4 (day of month): day 30 of month FEB never comes");
  EXPECT_EQ(error_of("0 0 31 2,4,6,9,11 ?"),
            "cron expression '0 0 31 2,4,6,9,11 ?': field 3 (day of month): day 31 of month 2,4,6,9,11 never comes");
  EXPECT_EQ(error_of("0 0 */31 * MON#2"),
            "cron expression '0 0 */31 * MON#2': field 3 (day of month): no day of month * is both '*/31' and, by "
            "field 5 (day of week), 'MON#2'; "
            "a field that begins with * must match together with the other");
  EXPECT_EQ(error_of("0 0 29 2 */7"), "");
  EXPECT_EQ(error_of("0 0 * 2 MON#5"), "");
}

struct Refused {
  std::string expression, says;
};

TEST(Cron, WhatIsRefusedIsToldByFieldWhatStandsThereAndWhatIsAllowed) {
  const std::vector<Refused> all{
      {"60 * * * *",
       "field 1 (minute): '60' is out of range; allowed: 0-59, *, lists (0,30), ranges (10-20) and steps (*/15)"},
      {"1,61 * * * *", "field 1 (minute): '1,61' has '61', which is out of range; allowed: 0-59"},
      {"* 24 * * *", "field 2 (hour): '24' is out of range; allowed: 0-23"},
      {"60 * * * * *", "field 1 (second): '60' is out of range"},
      {"* * 24 * * *", "field 3 (hour): '24' is out of range"},
      {"* * 0 * *", "field 3 (day of month): '0' is out of range; allowed: 1-31"},
      {"* * 32 * *", "field 3 (day of month): '32' is out of range"},
      {"* * * 13 *", "field 4 (month): '13' is out of range; allowed: 1-12 or JAN-DEC"},
      {"* * * 0 *", "field 4 (month): '0' is out of range"},
      {"* * * * 8", "field 5 (day of week): '8' is out of range; allowed: 0-7 or SUN-SAT (0 and 7 are Sunday)"},
      {"* * * * 99999999999999", "field 5 (day of week): '99999999999999' is no day of week"},
      {"* * * MON *", "field 4 (month): 'MON' is no month"},
      {"* * * * JAN", "field 5 (day of week): 'JAN' is no day of week"},
      {"* * * * MONDAY", "field 5 (day of week): 'MONDAY' is no day of week"},
      {"x * * * *", "field 1 (minute): 'x' is no minute"},
      {"-1 * * * *", "field 1 (minute): '-1' lacks a value"},
      {"1- * * * *", "field 1 (minute): '1-' lacks a value"},
      {"1-2-3 * * * *", "field 1 (minute): '1-2-3' has '2-3', which is no minute"},
      {"+1 * * * *", "field 1 (minute): '+1' is no minute"},
      {"1.5 * * * *", "field 1 (minute): '1.5' is no minute"},
      {"1,,2 * * * *", "field 1 (minute): '1,,2' has an empty place in its list"},
      {", * * * *", "field 1 (minute): ',' has an empty place in its list"},
      {"** * * * *", "field 1 (minute): '**' is no minute"},
      {"*-5 * * * *", "field 1 (minute): '*-5' has a * next to something else; * stands alone"},
      {"*/0 * * * *", "field 1 (minute): '*/0' has no step after the '/'; write a number from 1"},
      {"*/ * * * *", "field 1 (minute): '*/' has no step"},
      {"*/x * * * *", "field 1 (minute): '*/x' has no step"},
      {"*/-2 * * * *", "field 1 (minute): '*/-2' has no step"},
      {"*/2/2 * * * *", "field 1 (minute): '*/2/2' has no step"},
      {"*/61 * * * *", "field 1 (minute): '*/61' has a step that is too long: at most 60"},
      {"* * * * */8", "field 5 (day of week): '*/8' has a step that is too long: at most 7"},
      {"5/15 * * * *", "field 1 (minute): '5/15' has a step without a range; write 5-59/15"},
      {"* * * * MON/2", "field 5 (day of week): 'MON/2' has a step without a range; write MON-6/2"},
      {"* 22-3 * * *", "field 2 (hour): '22-3' runs backwards; write 22-23,0-3"},
      {"* 22-3/2 * * *", "field 2 (hour): '22-3/2' runs backwards; write 22,0,2"},
      {"* * * * FRI-MON", "field 5 (day of week): 'FRI-MON' runs backwards; write FRI-SAT,SUN-MON"},
      {"* * * * 6-1", "field 5 (day of week): '6-1' runs backwards; write 6,0-1"},
      {"* * * NOV-FEB *", "field 4 (month): 'NOV-FEB' runs backwards; write NOV-DEC,JAN-FEB"},
      {"L * * * *", "field 1 (minute): 'L' has an L, which is for the day of month and the day of week only"},
      {"* * * L *", "field 4 (month): 'L' is no month"},
      {"* * * * L", "field 5 (day of week): 'L' does not say which day: write 5L or FRIL for the last Friday"},
      {"* * 5L * *", "field 3 (day of month): '5L' is not a day; the last day is L alone"},
      {"* * L-3 * *", "field 3 (day of month): 'L-3' has 'L', which is no day of month"},
      {"* * 15W * *", "field 3 (day of month): '15W' asks for the nearest working day, which is not supported"},
      {"* * LW * *", "field 3 (day of month): 'LW' asks for the nearest working day"},
      {"* * * * 8L", "field 5 (day of week): '8L' has '8', which is out of range"},
      {"* * * * 1#6", "field 5 (day of week): '1#6' needs 1 to 5 behind the '#'"},
      {"* * * * 1#0", "field 5 (day of week): '1#0' needs 1 to 5"},
      {"* * * * 1#", "field 5 (day of week): '1#' needs 1 to 5"},
      {"* * * * #2", "field 5 (day of week): '#2' lacks a value"},
      {"* * * * 1-5#2", "field 5 (day of week): '1-5#2' has '1-5', which is no day of week"},
      {"* * 1#2 * *", "field 3 (day of month): '1#2' has a '#', which is for the day of week only"},
      {"? * * * *", "field 1 (minute): '?' means any day and is allowed only in a day field; write *"},
      {"H * * * *", "field 1 (minute): 'H' is no minute"},
      {"* * * *",
       "it has 4 fields; write five (minute, hour, day of month, month, day of week), or six with the second first"},
      {"*", "it has 1 field; write five"},
      {"* * * * * * *", "it has 7 fields; write five"},
      {"", "it is empty; write five"},
      {" \t ", "it is empty"},
      {"@reboot",
       "@reboot is not supported: a schedule belongs to a store, not to a machine that boots; use one of @yearly "
       "@annually @monthly @weekly @daily @midnight @hourly"},
      {"@every 5m", "@every is an interval, not a cron expression: use --every"},
      {"@dayly", "'@dayly' is not a short form; did you mean @daily?"},
      {"@minutely", "'@minutely' is not a short form"},
      {"@daily 5", "'@daily' stands alone; '5' follows it"},
      {std::string("0 0 * * \x01"), "byte 9 is not printable ASCII"},
      {"0 0 * * m\xc3\xb6n", "byte 10 is not printable ASCII"},
      {std::string("0 0 * * *\0", 10), "byte 10 is not printable ASCII"},
      {std::string(257, '1'), "it is too long (257 bytes); at most 256"},
  };
  for (const Refused& refused : all) {
    const std::string said = error_of(refused.expression);
    EXPECT_NE(said.find(refused.says), std::string::npos)
        << refused.expression << "\n said: " << said << "\n not: " << refused.says;
    EXPECT_TRUE(said.starts_with("cron expression")) << said;
    EXPECT_EQ(said.find_first_of("\n\r\t\x01"), std::string::npos) << said;
    EXPECT_EQ(test::code_of(parse_cron(refused.expression)), Code::invalid);
  }
}

TEST(Cron, TheLongestExpressionIsRead) {
  std::string minutes = "0";
  while (minutes.size() + std::string(",0 0 * * *").size() <= kCronBytesMax - 2) minutes += ",0";
  const std::string expression = minutes + " 0 * * *";
  EXPECT_EQ(parse_cron(expression + std::string(kCronBytesMax - expression.size(), ' ')), parse_cron("0 0 * * *"));
}

// Any bytes, and bytes that look like an expression: an answer or one line, never a crash.
TEST(Cron, AnyBytesAreAnsweredInOneLine) {
  constexpr std::string_view likely = "0123456789 **,,--//##LLW?@ \tJANFEBMONFRIsunjul";
  std::mt19937_64 chance(20'261'116);
  int read = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string bytes(chance() % 40, ' ');
    for (char& c : bytes) c = round % 4 == 0 ? static_cast<char>(chance()) : likely[chance() % likely.size()];
    if (round % 4 == 1) bytes += " * * * *";
    if (round % 4 == 2) bytes = "* * " + bytes.substr(0, 5) + " * " + bytes.substr(bytes.size() / 2);
    const Result<Cron> cron = parse_cron(bytes);
    if (cron) ++read;
    else
      ASSERT_TRUE(std::ranges::all_of(cron.error().message, [](char c) { return c >= 0x20 && c < 0x7f; }))
          << cron.error().message;
    if (!cron) continue;
    ASSERT_TRUE(cron->seconds != 0 && cron->minutes != 0 && cron->hours != 0 && cron->months != 0);
    ASSERT_EQ((cron->seconds | cron->minutes) >> 60, 0U);
    ASSERT_EQ(cron->hours >> 24 | (cron->months & 1U) | cron->months >> 13 | (cron->days & 1U) | cron->weekdays >> 7,
              0U);
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace fenceline
