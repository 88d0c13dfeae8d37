#include "model/time_zone.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "support/results.hpp"

namespace fenceline {
namespace {

using namespace std::chrono;
using test::must;

WallTime utc_time(int y, unsigned m, unsigned d, int h = 0, int min = 0) {
  return sys_days{year{y} / m / d} + hours{h} + minutes{min};
}

std::string zone_error_of(std::string_view zone) {
  const Result<void> ok = check_zone(zone);
  return ok ? "" : ok.error().message;
}

TEST(TimeZone, NamesOfTheDatabaseAreKnown) {
  for (const std::string name : {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "America/Port-au-Prince",
                                 "Etc/GMT+5", "US/Eastern", "EST5EDT", "Etc/UTC"})
    EXPECT_EQ(zone_error_of(name), "") << name;
}

TEST(TimeZone, AnUnknownNameIsAnsweredWithTheNearest) {
  EXPECT_EQ(zone_error_of("Europe/Berln"), "unknown time zone 'Europe/Berln'; did you mean Europe/Berlin?");
  EXPECT_EQ(zone_error_of("europe/berlin"), "unknown time zone 'europe/berlin'; did you mean Europe/Berlin?");
  EXPECT_EQ(zone_error_of("America/NewYork"), "unknown time zone 'America/NewYork'; did you mean America/New_York?");
  EXPECT_EQ(zone_error_of("utc_time"), "unknown time zone 'utc_time'; write an IANA name such as Europe/Berlin or UTC");
}

TEST(TimeZone, WhatIsNoPlainNameOfAZoneIsRefused) {
  const std::vector<std::string> names{"",
                                       "/",
                                       ".",
                                       "..",
                                       "../../etc/passwd",
                                       "/usr/share/zoneinfo/Europe/Berlin",
                                       "Europe/../Europe/Berlin",
                                       "Europe//Berlin",
                                       "Europe/Berlin/",
                                       "/UTC",
                                       "localtime",
                                       "posixrules",
                                       "Factory",
                                       ":foo",
                                       ":UTC",
                                       "Europe",
                                       "posix/Europe/Berlin",
                                       "right/Europe/Berlin",
                                       "zone.tab",
                                       "tzdata.zi",
                                       "leapseconds",
                                       "CET-1CEST",
                                       "Fixed/UTC+01:00:00",
                                       "UTC0",
                                       "+01:00",
                                       "Europe/Berlin ",
                                       " UTC",
                                       "Europe/Ber\nlin",
                                       std::string("UTC\0", 4),
                                       "Europe/K\xc3\xb6ln",
                                       std::string(5000, 'a'),
                                       "-Europe",
                                       "Europe/-Berlin"};
  for (const std::string& name : names) {
    EXPECT_EQ(test::code_of(check_zone(name)), Code::invalid) << name;
    for (const char c : zone_error_of(name)) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << name;
  }
}

TEST(TimeZone, WithoutADatabaseThereIsUtcAndItIsSaid) {
  ASSERT_EQ(setenv("TZDIR", "/nonexistent", 1), 0);
  const std::string berlin = zone_error_of("Europe/Berlin"), utc_error = zone_error_of("UTC");
  ASSERT_EQ(unsetenv("TZDIR"), 0);
  EXPECT_EQ(berlin,
            "unknown time zone 'Europe/Berlin': there is no tz database in /nonexistent; install tzdata, or use UTC");
  EXPECT_EQ(utc_error, "");
  EXPECT_EQ(zone_error_of("Europe/Berlin"), "");
}

TEST(TimeZone, LocalTextHasTheOffsetOfItsTime) {
  EXPECT_EQ(local_text(utc_time(2026, 3, 29, 0, 59), "Europe/Berlin"), "2026-03-29T01:59:00+01:00");
  EXPECT_EQ(local_text(utc_time(2026, 3, 29, 1), "Europe/Berlin"), "2026-03-29T03:00:00+02:00");
  EXPECT_EQ(local_text(utc_time(2026, 1, 1, 12), "America/New_York"), "2026-01-01T07:00:00-05:00");
  EXPECT_EQ(local_text(utc_time(2026, 7, 1, 12), "Asia/Kathmandu"), "2026-07-01T17:45:00+05:45");
  EXPECT_EQ(local_text(utc_time(2026, 1, 1, 12), "Europe/London"), "2026-01-01T12:00:00+00:00");
  EXPECT_EQ(local_text(utc_time(2026, 1, 1, 12), "UTC"), "2026-01-01T12:00:00Z");
  EXPECT_EQ(local_text(utc_time(2026, 1, 1, 12), "No/Where"), "2026-01-01T12:00:00Z");
  EXPECT_EQ(local_text(utc_time(2026, 1, 1) + Duration{250'000}, "UTC"), "2026-01-01T00:00:00.250000Z");
  EXPECT_EQ(local_text(utc_time(1970, 1, 1) - Duration{1}, "UTC"), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(local_text(utc_time(1971, 1, 1), "Africa/Monrovia"), "1970-12-31T23:15:30-00:44:30");
}

TEST(TimeZone, TheRulesGoOnBehindTheTableOfTransitions) {
  EXPECT_EQ(local_text(utc_time(2099, 3, 29, 1), "Europe/Berlin"), "2099-03-29T03:00:00+02:00");
  EXPECT_EQ(local_text(utc_time(2099, 3, 29, 0, 59), "Europe/Berlin"), "2099-03-29T01:59:00+01:00");
  EXPECT_EQ(local_text(utc_time(2199, 7, 1, 12), "America/New_York"), "2199-07-01T08:00:00-04:00");
  EXPECT_EQ(local_text(utc_time(2199, 7, 1, 12), "Europe/Dublin"), "2199-07-01T13:00:00+01:00");
}

TEST(TimeZone, StretchesFollowEachOtherAndTellWhatWasShown) {
  const TimeZone berlin = must(TimeZone::find("Europe/Berlin"));
  const sys_seconds spring = floor<seconds>(utc_time(2026, 3, 29, 1)),
                    autumn = floor<seconds>(utc_time(2026, 10, 25, 1));
  const Stretch winter = berlin.at(spring - seconds{1}), summer = berlin.at(spring), after = berlin.at(autumn);
  EXPECT_EQ(winter.end, spring);
  EXPECT_EQ(summer.begin, spring);
  EXPECT_EQ(summer.end, autumn);
  EXPECT_EQ(after.begin, autumn);
  EXPECT_EQ(summer.offset, hours{2});
  EXPECT_EQ(summer.local(summer.begin) - summer.shown, hours{1});  // left out
  EXPECT_EQ(after.shown - after.local(after.begin), hours{1});     // repeated
  EXPECT_EQ(after.instant(after.local(autumn)), autumn);
  const Stretch always = must(TimeZone::find("UTC")).at(spring);
  EXPECT_LT(always.begin, sys_days{year{1970} / 1 / 1});
  EXPECT_GT(always.end, sys_days{year{2200} / 1 / 1});
}

TEST(TimeZone, AnyMomentHasAStretch) {
  for (const std::string name : {"UTC", "Europe/Berlin", "Pacific/Apia"}) {
    const TimeZone zone = must(TimeZone::find(name));
    for (const sys_seconds moment : {sys_seconds::min(), floor<seconds>(WallTime::min()), sys_seconds{},
                                     floor<seconds>(WallTime::max()), sys_seconds::max()}) {
      const Stretch stretch = zone.at(moment);
      EXPECT_LT(stretch.begin, stretch.end);
    }
  }
}

}  // namespace
}  // namespace fenceline
