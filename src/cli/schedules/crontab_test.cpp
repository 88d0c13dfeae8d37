#include "cli/schedules/crontab.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace fenceline::cli {
namespace {

ScheduleSpec base() {
  ScheduleSpec spec;
  spec.queue = "cron";
  return spec;
}

Crontab read(const std::string& text) {
  const Result<Crontab> crontab = parse_crontab("tab", text, base(), true);
  EXPECT_TRUE(crontab) << crontab.error().message;
  return crontab.value_or(Crontab{});
}

std::string crontab_refusal(const std::string& text, bool has_zone = true) {
  const Result<Crontab> crontab = parse_crontab("tab", text, base(), has_zone);
  return crontab ? "(accepted)" : crontab.error().message;
}

nlohmann::json payload(const NamedSpec& schedule) {
  return nlohmann::json::parse(fill_template(schedule.spec, schedule.name, WallTime{}));
}

TEST(Crontab, EachLineIsASchedule) {
  const Crontab crontab = read(
      "# mine\n\n30 2 * * 1-5 /usr/bin/backup.sh --all\n\t@hourly  sync\r\nCRON_TZ=Europe/Berlin\n0 4 1 * *   "
      "report\n");
  ASSERT_EQ(crontab.schedules.size(), 3U);
  EXPECT_EQ(crontab.schedules[0].spec.cron, "30 2 * * 1-5");
  EXPECT_EQ(crontab.schedules[0].spec.zone, "UTC");
  EXPECT_EQ(crontab.schedules[0].spec.queue, "cron");
  EXPECT_TRUE(crontab.schedules[0].name.starts_with("backup.sh-")) << crontab.schedules[0].name;
  EXPECT_EQ(payload(crontab.schedules[0]), (nlohmann::json{{"command", "/usr/bin/backup.sh --all"}}));
  EXPECT_EQ(crontab.schedules[1].spec.cron, "@hourly");
  EXPECT_EQ(payload(crontab.schedules[1])["command"], "sync");
  EXPECT_EQ(crontab.schedules[2].spec.zone, "Europe/Berlin");
}

TEST(Crontab, ANameIsThatOfTheCommandWhateverItsTimeAndPlace) {
  const Crontab first = read("0 1 * * * a\n0 2 * * * b\n"), second = read("30 7 * * * b\n@daily a\n");
  EXPECT_EQ(first.schedules[0].name, second.schedules[1].name);
  EXPECT_EQ(first.schedules[1].name, second.schedules[0].name);
  const Crontab twice = read("0 1 * * * a\n0 2 * * * a\n0 3 * * * /x/a\n");
  EXPECT_EQ(twice.schedules[1].name, twice.schedules[0].name + "-2");
  EXPECT_NE(twice.schedules[2].name, twice.schedules[0].name);
  for (const NamedSpec& odd : read("* * * * * $X/é --v\n* * * * * [ -d /x ] && y\n* * * * * --\n").schedules)
    EXPECT_TRUE(check_schedule_name(odd.name)) << odd.name;
}

TEST(Crontab, ACommandMeansWhatItMeantToCron) {
  const Crontab crontab =
      read("0 1 * * * mail -s 50\\% ana%line one%line two\n0 2 * * * echo ${HOME} $${x} \"q\" \\n\n");
  EXPECT_EQ(payload(crontab.schedules[0])["command"], "mail -s 50% ana");
  EXPECT_EQ(payload(crontab.schedules[0])["stdin"], "line one\nline two");
  EXPECT_EQ(payload(crontab.schedules[1])["command"], "echo ${HOME} $${x} \"q\" \\n");
  EXPECT_FALSE(payload(crontab.schedules[1]).contains("stdin"));
}

TEST(Crontab, VariablesAreLeftOutWithAWord) {
  const Crontab crontab = read("SHELL=/bin/bash\nMAILTO = \"ana\"\nCRON_TZ = 'Asia/Tokyo'\n@daily x\n");
  ASSERT_EQ(crontab.left_out.size(), 2U);
  EXPECT_TRUE(crontab.left_out[0].starts_with("tab:1: SHELL is ignored"));
  EXPECT_TRUE(crontab.left_out[1].starts_with("tab:2: MAILTO is ignored"));
  EXPECT_EQ(crontab.schedules.at(0).spec.zone, "Asia/Tokyo");
}

TEST(Crontab, ABadLineIsNamed) {
  EXPECT_TRUE(crontab_refusal("@daily x\n61 * * * * y\n").starts_with("tab:2: "))
      << crontab_refusal("@daily x\n61 * * * * y\n");
  EXPECT_TRUE(crontab_refusal("@reboot x").starts_with("tab:1: "));
  EXPECT_NE(crontab_refusal("* * * * *").find("is missing"), std::string::npos);
  EXPECT_NE(crontab_refusal("* * *").find("is missing"), std::string::npos);
  EXPECT_NE(crontab_refusal("@daily").find("is missing"), std::string::npos);
  EXPECT_NE(crontab_refusal("hello").find("neither"), std::string::npos);
  EXPECT_NE(crontab_refusal("CRON_TZ=Europe/Berln\n@daily x").find("Europe/Berlin"), std::string::npos);
  EXPECT_NE(crontab_refusal("@daily x", false).find("--tz"), std::string::npos);
  EXPECT_EQ(crontab_refusal("CRON_TZ=UTC\n@daily x", false), "(accepted)");
}

}  // namespace
}  // namespace fenceline::cli
