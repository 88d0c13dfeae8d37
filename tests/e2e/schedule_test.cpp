// `fenceline schedule ...`: what people see and do. That ticks fire once is shown by the scheduler's own tests; here a
// worker fires a few.
#include <signal.h>

#include <algorithm>
#include <set>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

const Words kNightly{"schedule", "add",           "nightly", "--cron", "30 2 * * *",
                     "--tz",     "Europe/Berlin", "--queue", "reports"};

std::vector<std::string> schedule_acts(const Workplace& place) {
  std::vector<std::string> out;
  for (const Json& entry : Json(answer(place, {"trail"})["trail"])) {
    const std::string act = entry["act"];
    if (act.starts_with("schedule_")) out.push_back(act);
  }
  return out;
}

void schedule_refused(const Workplace& place, const Words& words, int status, const std::string& says) {
  const Ended ended = place.fenceline(words);
  EXPECT_EQ(ended.status, status) << ended.out << ended.err;
  EXPECT_TRUE(one_line(ended.err) && has(ended.err, says)) << "'" << says << "' in: " << ended.err;
  EXPECT_EQ(ended.out, "");
}

TEST(Schedule, AddShowListPauseResumeRunAndRemove) {
  const Workplace place;
  const Ended added = place.fenceline(joined(kNightly, {"--payload", R"({"day":"${tick.local}"})", "--as", "ana"}));
  ASSERT_EQ(added.status, 0) << added.err;
  EXPECT_TRUE(added.out.starts_with("nightly added; next tick ") && has(added.out, " Europe/Berlin)")) << added.out;
  EXPECT_TRUE(place.fenceline(joined(kNightly, {"--payload", R"({"day":"${tick.local}"})"}))
                  .out.starts_with("nightly unchanged"));
  EXPECT_TRUE(place.fenceline(kNightly).out.starts_with("nightly changed"));

  const Json shown = answer(place, {"schedule", "show", "nightly"});
  EXPECT_EQ(shown["cron"], "30 2 * * *");
  EXPECT_EQ(shown["tz"], "Europe/Berlin");
  EXPECT_EQ(shown["queue"], "reports");
  EXPECT_EQ(shown["catch_up"], "latest");
  EXPECT_EQ(shown["overlap"], "allow");
  EXPECT_TRUE(shown["payload"].is_null() && shown["paused"].is_null() && shown["last_fired"].is_null());
  EXPECT_TRUE(has(shown["next_local"], "T02:30:00+0") || has(shown["next_local"], "T03:00:00+02")) << shown;
  const Json listed = answer(place, {"schedule", "list"})["schedules"];
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_FALSE(listed[0].contains("payload")) << "payloads show on request";

  EXPECT_TRUE(place.fenceline({"schedule", "pause", "nightly", "--as", "ana", "--reason", "moving"})
                  .out.starts_with("nightly is paused by ana since "));
  EXPECT_EQ(answer(place, {"schedule", "show", "nightly"})["paused"]["reason"], "moving");
  EXPECT_TRUE(place.fenceline({"schedule", "resume", "nightly"}).out.starts_with("nightly is resumed; next tick "));
  const std::string id = answer(place, {"schedule", "run", "nightly"})["id"];
  EXPECT_EQ(show(place, id)["queue"], "reports");
  EXPECT_EQ(show(place, id)["tags"], Json::array({"schedule:nightly"}));
  EXPECT_TRUE(place.fenceline({"schedule", "remove", "nightly"}).out.starts_with("nightly is removed"));
  EXPECT_EQ(answer(place, {"schedule", "list"})["schedules"].size(), 0U);
  EXPECT_EQ(schedule_acts(place), (std::vector<std::string>{"schedule_added", "schedule_changed", "schedule_paused",
                                                            "schedule_resumed", "schedule_run", "schedule_removed"}));
}

TEST(Schedule, NextShowsBothClocksAcrossAChangeAndNeedsNoStore) {
  const Workplace place;
  const Ended ended = place.fenceline({"schedule", "next", "--cron", "30 2 * * *", "--tz", "Europe/Berlin", "--from",
                                       "2026-03-28T00:00:00Z", "--count", "3"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out,
            "utc\tlocal\ttz\n"
            "2026-03-28T01:30:00Z\t2026-03-28T02:30:00+01:00\tEurope/Berlin\n"
            "2026-03-29T01:00:00Z\t2026-03-29T03:00:00+02:00\tEurope/Berlin\n"
            "2026-03-30T00:30:00Z\t2026-03-30T02:30:00+02:00\tEurope/Berlin\n");
  EXPECT_FALSE(std::filesystem::exists(place.file("fenceline.db")));
  ASSERT_EQ(place.fenceline(kNightly).status, 0);
  const Json next = answer(place, {"schedule", "next", "nightly"});
  EXPECT_EQ(next["ticks"].size(), 10U);
  EXPECT_EQ(next["ticks"][0]["tick"], answer(place, {"schedule", "show", "nightly"})["next"]);
}

TEST(Schedule, BadInputIsOneLineThatSaysWhatIsPossibleAndChangesNothing) {
  const Workplace place;
  const auto add = [](const Words& words) { return joined({"schedule", "add", "s", "--queue", "q"}, words); };
  schedule_refused(place, add({"--cron", "61 * * * *"}), 65, "minute");
  schedule_refused(place, add({"--cron", "0 0 31 2 *"}), 65, "31");
  schedule_refused(place, add({"--cron", "@daily", "--tz", "Europe/Berln"}), 65, "Europe/Berlin");
  schedule_refused(place, add({"--cron", "@daily", "--payload", "{"}), 65, "payload");
  schedule_refused(place, add({"--cron", "@daily", "--payload", "\"${now}\""}), 65, "${now}");
  schedule_refused(place, add({}), 64, "--every");
  schedule_refused(place, add({"--cron", "@daily", "--every", "1h"}), 64, "--every");
  schedule_refused(place, add({"--every", "1500ms"}), 65, "whole seconds");
  schedule_refused(place, add({"--every", "1h", "--tz", "Europe/Berlin"}), 65, "zone");
  schedule_refused(place, add({"--every", "1h", "--catch-up", "some"}), 64, "all|latest|none");
  schedule_refused(place, add({"--every", "1h", "--overlap", "queue_one"}), 64, "queue-one");
  schedule_refused(place, add({"--every", "1h", "--cap", "0"}), 64, "--cap");
  schedule_refused(place, add({"--every", "1h", "--window", "1s"}), 64, "--window");
  schedule_refused(place, add({"--every", "1h", "--starts", "tomorrow"}), 64, "--starts");
  schedule_refused(place, {"schedule", "add", "-s", "--every", "1h"}, 64, "");
  schedule_refused(place, {"schedule", "add", "s", "--every", "1h"}, 64, "--queue");
  schedule_refused(place, {"schedule", "add", "s s", "--every", "1h", "--queue", "q"}, 65, "schedule");
  schedule_refused(place, {"schedule", "next"}, 64, "--cron");
  schedule_refused(place, {"schedule", "next", "--cron", "* * * *"}, 65, "");
  EXPECT_FALSE(std::filesystem::exists(place.file("fenceline.db"))) << "what is wrong does not even make a store";
}

TEST(Schedule, ANameThatIsNotThereIs66WithTheNearest) {
  const Workplace place;
  ASSERT_EQ(place.fenceline(kNightly).status, 0);
  for (const Words& words : std::vector<Words>{{"show"},
                                               {"next"},
                                               {"pause"},
                                               {"resume"},
                                               {"remove"},
                                               {"run"},
                                               {"history"},
                                               {"rewind", "--to", "2026-01-01T00:00:00Z"}}) {
    Words typed{"schedule", words[0], "nihgtly"};
    typed.insert(typed.end(), words.begin() + 1, words.end());
    schedule_refused(place, typed, 66, "did you mean 'nightly'?");
  }
  schedule_refused(place, {"schedule", "show", "other"}, 66, "schedule list");
}

// A worker in whose namespace a schedule ticks each second, until `enough`.
void work_until(const Workplace& place, const std::function<bool()>& enough) {
  const auto worker = place.start({"work", "q", "--", "cat"});
  EXPECT_TRUE(eventually(enough));
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().status, 0);
}

std::vector<Json> fired_by(const Workplace& place, const std::string& schedule) {
  std::vector<Json> out;
  for (const Json& tick : Json(answer(place, {"schedule", "history", schedule, "--fired"})["ticks"]))
    out.push_back(tick);
  return out;
}

TEST(Schedule, AWorkerFiresEachTickOnceAndTheHistorySaysWho) {
  const Workplace place;
  ASSERT_EQ(
      place.fenceline({"schedule", "add", "s", "--every", "1s", "--queue", "q", "--payload", R"("${tick}")"}).status,
      0);
  const auto fired = [&] { return fired_by(place, "s"); };
  work_until(place, [&] { return fired().size() >= 3; });
  std::set<std::string> ticks, jobs;
  for (const Json& tick : fired()) {
    ticks.insert(tick["tick"]);
    jobs.insert(tick["job"]);
    EXPECT_EQ(tick["state"], "fired");
    EXPECT_TRUE(tick["reason"].is_null());
    EXPECT_FALSE(tick["owner"].get<std::string>().empty() || tick["host"].get<std::string>().empty());
    EXPECT_GT(tick["pid"], 0);
    const Json job = show(place, tick["job"]);
    EXPECT_EQ(job["queue"], "q");
  }
  EXPECT_EQ(ticks.size(), fired().size());
  EXPECT_EQ(jobs.size(), fired().size());
  EXPECT_EQ(place.jobs().size(), fired().size());
}

TEST(Schedule, AnIntervalMissedWhilePausedIsOneRangeAndARewindOpensIt) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"schedule", "add", "s", "--every", "1s", "--queue", "q", "--catch-up", "all"}).status, 0);
  ASSERT_EQ(place.fenceline({"schedule", "pause", "s"}).status, 0);
  const std::string from = answer(place, {"schedule", "show", "s"})["resolved_to"];
  ASSERT_EQ(place.fenceline({"schedule", "add", "beside", "--every", "1s", "--queue", "q"}).status, 0);
  work_until(place, [&] { return fired_by(place, "beside").size() >= 2; });  // and so long did both tick
  ASSERT_EQ(place.fenceline({"schedule", "resume", "s"}).status, 0);
  const Json ranges = answer(place, {"schedule", "history", "s"})["ticks"];
  const Json& range = ranges.at(0);
  EXPECT_EQ(range["state"], "skipped");
  EXPECT_EQ(range["reason"], "paused");
  EXPECT_GE(range["count"], 2);
  EXPECT_TRUE(range["job"].is_null());
  schedule_refused(place, {"schedule", "rewind", "s", "--to", "2020-01-01T00:00:00Z"}, 65,
                   "use that time or a later one");
  schedule_refused(place, {"schedule", "rewind", "s"}, 64, "--to");
  ASSERT_EQ(place.fenceline({"schedule", "rewind", "s", "--to", from, "--reason", "they count"}).status, 0);
  EXPECT_EQ(schedule_acts(place).back(), "schedule_rewound");
  EXPECT_EQ(answer(place, {"schedule", "show", "s"})["resolved_to"], from);
  EXPECT_EQ(answer(place, {"schedule", "show", "s"})["next"], range["tick"]);
}

TEST(Schedule, ADrainEndsThoughASchedulesTicksGoOn) {
  const Workplace place;
  ASSERT_EQ(place.fenceline({"schedule", "add", "s", "--every", "1s", "--queue", "q"}).status, 0);
  const std::string id = answer(place, {"schedule", "run", "s"})["id"];
  const Ended ended = place.fenceline({"work", "q", "--drain", "--", "true"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(show(place, id)["state"], "done");
  const std::size_t jobs = place.jobs().size();
  EXPECT_EQ(jobs, 1 + fired_by(place, "s").size());
  drain(place, "exit 0", {"--no-schedules"});  // what fired as it ended, if anything
  EXPECT_EQ(place.jobs().size(), jobs) << "nobody fires any more";
  for (const Json& job : place.jobs()) EXPECT_EQ(job["state"], "done") << job;
}

TEST(Schedule, S1_JobsOfTicksStandInTheHistoryOfTheWorkerThatFiredThem) {
  const Workplace place;
  const auto recorded = [&](const Words& words) {
    return place.fenceline(joined(words, {"--history", "run.jsonl"})).status;
  };
  ASSERT_EQ(recorded({"schedule", "add", "s", "--every", "1s", "--queue", "q"}), 0);
  const auto worker = place.start({"work", "q", "--history", "run.jsonl", "--", "true"});
  EXPECT_TRUE(eventually([&] { return fired_by(place, "s").size() >= 2; }));
  // Commands of operators stand in it as well: their jobs are known to the audit.
  ASSERT_EQ(recorded({"schedule", "run", "s"}), 0);
  ASSERT_EQ(recorded({"schedule", "pause", "s"}), 0);
  ASSERT_EQ(recorded({"schedule", "resume", "s"}), 0);
  ASSERT_EQ(recorded({"schedule", "remove", "s"}), 0);
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().status, 0);
  drain(place, "exit 0", {"--history", "run.jsonl", "--no-schedules"});  // what it fired last
  const Json said = answer(place, {"audit", "run.jsonl", "--whole", "--drained"});
  EXPECT_EQ(said["violations"], 0) << said;
  EXPECT_EQ(said["jobs"], 1 + fired_by(place, "s").size()) << said;
  const std::string history = Workplace::read(place.file("run.jsonl"));
  for (const char* act : {"put", "run", "pause", "resume", "remove"})
    EXPECT_TRUE(has(history, std::string("\"change\":\"") + act + "\"")) << act;
}

TEST(Schedule, S2_WhatThisMachineCannotReadStopsNoWorkerAndCanBeMended) {
  const Workplace place;
  const Setting elsewhere{.env = {{"TZDIR", "nowhere"}}};  // knows no zone but UTC
  const auto there = [&](const Words& words) { return place.fenceline(words, elsewhere); };
  ASSERT_EQ(place.fenceline(kNightly).status, 0);
  place.write("fenceline.toml", "[schedule.other]\nevery = \"1h\"\nqueue = \"q\"\n");
  const Ended beside = there({"work", "q", "--drain", "--", "true"});
  EXPECT_EQ(beside.status, 0) << beside.err;
  EXPECT_TRUE(has(beside.err, "1 added, 0 changed")) << beside.err;
  EXPECT_EQ(there({"schedule", "pause", "nightly"}).status, 0);
  EXPECT_EQ(there({"schedule", "resume", "nightly"}).status, 0);
  const Ended rewind = there({"schedule", "rewind", "nightly", "--to", "2026-01-01T00:00:00Z"});
  EXPECT_EQ(rewind.status, 65);
  EXPECT_TRUE(one_line(rewind.err) && has(rewind.err, "unknown time zone 'Europe/Berlin'") &&
              has(rewind.err, "this program cannot read it"))
      << rewind.err;

  place.write("fenceline.toml", "[schedule.nightly]\ncron = \"30 2 * * *\"\nqueue = \"reports\"\n");
  const Ended mended = there({"work", "q", "--drain", "--", "true"});
  EXPECT_EQ(mended.status, 0) << mended.err;
  EXPECT_TRUE(has(mended.err, "0 added, 1 changed")) << mended.err;
  EXPECT_EQ(answer(place, {"schedule", "show", "nightly"})["tz"], "UTC");
  const Json trail = answer(place, {"trail"})["trail"];
  EXPECT_TRUE(std::ranges::any_of(trail, [](const Json& entry) {
    return entry["act"] == "schedule_changed" &&
           has(entry["reason"], "declared in fenceline.toml; its old definition could not be read");
  })) << trail;
  ASSERT_EQ(place.fenceline(kNightly).status, 0);
  EXPECT_EQ(there({"schedule", "remove", "nightly"}).status, 0);
}

TEST(Schedule, ImportMakesSchedulesOfACrontabAndABadLineChangesNothing) {
  const Workplace place;
  place.write("tab", "# nightly\nMAILTO=ana\nCRON_TZ=Europe/Berlin\n30 2 * * * /usr/bin/backup --all\n@hourly sync\n");
  const Json predicted = answer(place, {"schedule", "import", "tab", "--queue", "cron", "--dry-run"});
  EXPECT_FALSE(std::filesystem::exists(place.file("fenceline.db"))) << "a dry run does not even make a store";
  const Ended ended = place.fenceline({"schedule", "import", "tab", "--queue", "cron", "--json"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(has(ended.err, "tab:2: MAILTO is ignored")) << ended.err;
  const Json names = Json::parse(ended.out)["added"];
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(predicted,
            (Json{{"added", names}, {"changed", Json::array()}, {"unchanged", Json::array()}, {"dry_run", true}}));
  EXPECT_EQ(Json::parse(ended.out)["dry_run"], false);
  const Json backup = answer(place, {"schedule", "show", names[0].get<std::string>()});
  EXPECT_EQ(backup["cron"], "30 2 * * *");
  EXPECT_EQ(backup["tz"], "Europe/Berlin");
  EXPECT_EQ(backup["payload"], (Json{{"command", "/usr/bin/backup --all"}}));
  EXPECT_EQ(answer(place, {"schedule", "import", "tab", "--queue", "cron"})["unchanged"], names);
  place.write("tab", "CRON_TZ=Europe/Berlin\n30 3 * * * /usr/bin/backup --all\n");
  EXPECT_EQ(place.fenceline({"schedule", "import", "tab", "--queue", "cron", "--dry-run"}).out,
            names[0].get<std::string>() + " would be changed\n");
  EXPECT_EQ(answer(place, {"schedule", "show", names[0].get<std::string>()})["cron"], "30 2 * * *");
  place.write("tab", "CRON_TZ=UTC\n@daily other\n30 25 * * * backup\n");
  schedule_refused(place, {"schedule", "import", "tab", "--queue", "cron"}, 65, "tab:3: ");
  EXPECT_EQ(answer(place, {"schedule", "list"})["schedules"].size(), 2U);
  schedule_refused(place, {"schedule", "import", "tab"}, 64, "--queue");
  schedule_refused(place, {"schedule", "import", "none", "--queue", "cron"}, 66, "none");
  EXPECT_EQ(
      place.fenceline({"schedule", "import", "-", "--queue", "cron", "--tz", "UTC"}, {.input = "@daily x\n"}).status,
      0);
}

TEST(Schedule, WorkMakesSchedulesWhatTheFileSaysAndRemovesNone) {
  const Workplace place;
  const auto file = [&](const std::string& cron) {
    place.write("fenceline.toml",
                "[schedule.nightly]\ncron = \"" + cron + "\"\ntz = \"Europe/Berlin\"\nqueue = \"reports\"\n");
  };
  const auto work = [&] { return place.fenceline({"work", "q", "--drain", "--", "true"}); };
  ASSERT_EQ(place.fenceline({"schedule", "add", "mine", "--every", "1h", "--queue", "q"}).status, 0);
  file("30 2 * * *");
  const Ended first = work();
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_TRUE(has(first.err, "schedules of fenceline.toml: 1 added, 0 changed")) << first.err;
  EXPECT_FALSE(has(work().err, "schedules of"));
  file("30 3 * * *");
  EXPECT_TRUE(has(work().err, "0 added, 1 changed"));
  EXPECT_EQ(answer(place, {"schedule", "show", "nightly"})["cron"], "30 3 * * *");
  EXPECT_EQ(answer(place, {"schedule", "list"})["schedules"].size(), 2U);
  const Json settings = answer(place, {"config", "show", "--origin"})["settings"];
  EXPECT_TRUE(std::ranges::any_of(settings, [](const Json& setting) {
    return setting["name"] == "schedule.nightly.cron" && setting["origin"] == "fenceline.toml:2";
  })) << settings;
  file("30 25 * * *");
  const Ended bad = work();
  EXPECT_EQ(bad.status, 65);
  EXPECT_TRUE(one_line(bad.err) && has(bad.err, "fenceline.toml:1: schedule nightly: ")) << bad.err;
}

}  // namespace
}  // namespace fenceline::e2e
