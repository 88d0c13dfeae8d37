#include "cli/operate/top_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/frame/columns.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

const WallTime kTopNow = WallTime(std::chrono::sys_days{std::chrono::year{2026} / 11 / 16}) + 12h + 3min + 11s;

QueueRow queue(const std::string& name, std::int64_t ready, std::int64_t running, std::int64_t dead = 0) {
  QueueRow row{.queue = name};
  row.depth[static_cast<std::size_t>(JobState::ready)] = ready;
  row.depth[static_cast<std::size_t>(JobState::running)] = running;
  row.depth[static_cast<std::size_t>(JobState::dead)] = dead;
  if (ready > 0) row.oldest_ready_at = kTopNow - 90s;
  return row;
}

WorkerRow worker(const std::string& owner, Duration unseen) {
  WorkerRow row;
  row.report = {.ns = "default",
                .owner = owner,
                .host = "db1",
                .pid = 77,
                .queues = {"mail", "print"},
                .concurrency = 4,
                .ttl = 30s};
  row.unseen = unseen;
  return row;
}

LockRow lock(const std::string& name, std::int64_t waiters) {
  LockRow row{.resource = name,
              .fence = 1731,
              .holders = {{.owner = "o", .place = "db1:12", .granted_at = kTopNow - 5min, .left = 20s}},
              .holders_count = 1,
              .free_in = 20s,
              .waiters_count = waiters};
  if (waiters > 0) row.waiters = {{.owner = "w", .place = "db2:9", .since = kTopNow - 2min}};
  return row;
}

TopState busy() {
  TopState state{.store = "sqlite:/var/lib/app/jobs.db", .guarantee = "B", .ns = "default", .at = kTopNow};
  state.queues = {queue("mail", 12, 3), queue("print", 0, 0, 2), queue("報告", 140, 0)};
  state.queues[2].paused = QueuePause{.by = "ana"};
  state.finished = {{"mail", 12.5}, {"print", 0}};
  state.workers = {worker("0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10", 4s),
                   worker("0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d11", 5min)};
  state.locks = {lock("deploy", 0), lock("nightly", 2)};
  state.schedules = {{.row = {.name = "report"}, .queue = "print", .rule = "30 2 * * *", .next = kTopNow + 2h},
                     {.row = {.name = "sync"}, .queue = "mail", .rule = "every 5m", .next = kTopNow - 3min}};
  state.findings = {
      {"stale_jobs", FindingStatus::ok, "none", ""},
      {"workers_gone", FindingStatus::warning, "worker 0198 was not seen for 5m", "fenceline workers forget 0198"},
      {"queue_age", FindingStatus::bad, "queue 報告 is paused since 20m", "fenceline queue resume 報告"}};
  return state;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool shows(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST(TopView, EveryPaneIsThereWithWhatMatters) {
  const std::string text = text_of(top_lines(busy(), {}, {.width = 120, .height = 50}));
  for (const char* what : {"1 queues  3, by name", "2 workers  2, by start", "3 locks  2, by waiters",
                           "4 schedules  2, by next", "5 findings  2, by status", "12:03:11Z", "namespace default",
                           "class B", "jobs 152 ready 3 running 0 waiting 2 dead; 2 workers; 2 locks, 2 waiters",
                           "paused", "gone", "db1:77", "q quit"})
    EXPECT_TRUE(shows(text, what)) << what << " in\n" << text;
}

TEST(TopView, RatesAgesAndLatenessAreShown) {
  const std::vector<std::string> lines = top_lines(busy(), {}, {.width = 120, .height = 50});
  const auto line_with = [&](const std::string& name) {
    return *std::ranges::find_if(lines, [&](const std::string& line) { return shows(line, name); });
  };
  EXPECT_TRUE(shows(line_with(" mail "), "12") && shows(line_with(" mail "), "90s")) << line_with(" mail ");
  EXPECT_TRUE(shows(line_with("nightly"), "5m") && shows(line_with("nightly"), "2m")) << line_with("nightly");
  EXPECT_TRUE(shows(line_with("sync"), "3m")) << line_with("sync");
  EXPECT_TRUE(shows(line_with("report"), "02:03") || shows(line_with("report"), "14:03:11Z")) << line_with("report");
}

TEST(TopView, NoLineIsWiderThanTheTerminalAndThereAreAsManyAsItHas) {
  for (const bool colour : {false, true}) {
    for (const int width : {20, 40, 60, 79, 80, 100, 200}) {
      for (const int height : {1, 3, 5, 10, 24, 60}) {
        for (int pane = 0; pane < kTopPanes; ++pane) {
          TopModel model{.pane = static_cast<TopPane>(pane)};
          const std::vector<std::string> lines =
              top_lines(busy(), model, {.width = width, .height = height, .colour = colour});
          ASSERT_EQ(lines.size(), static_cast<std::size_t>(height)) << width << "x" << height << " pane " << pane;
          for (const std::string& line : lines)
            ASSERT_LE(columns_of(line), width) << width << "x" << height << " pane " << pane << ": " << line;
        }
      }
    }
  }
}

TEST(TopView, ASmallScreenShowsProblemsFirstAndSaysThatTheRestIsCut) {
  TopState state = busy();
  for (int i = 0; i < 100; ++i) state.queues.push_back(queue("q" + std::to_string(i), 1, 0));
  const std::string text = text_of(top_lines(state, {}, {.width = 80, .height = 24}));
  EXPECT_TRUE(shows(text, "queue_age")) << text;
  EXPECT_TRUE(shows(text, "of 103, by name")) << text;
  for (const char* pane : {"2 workers", "3 locks", "4 schedules", "5 findings"})
    EXPECT_TRUE(shows(text, pane)) << pane << " in\n" << text;
}

TEST(TopView, ASinglePaneFollowsTheSelectedRowAndShowsItsCommand) {
  TopState state = busy();
  for (int i = 0; i < 100; ++i) state.queues.push_back(queue("q" + std::to_string(1000 + i), 1, 0));
  TopModel model{.pane = TopPane::queues, .cursor = 90};
  const std::string text = text_of(top_lines(state, model, {.width = 80, .height = 24}));
  EXPECT_TRUE(shows(text, ">  q1088")) << text;
  EXPECT_TRUE(shows(text, "try: fenceline jobs --queue q1088")) << text;
  EXPECT_EQ(top_rows(state, model), 103);
  model = {.pane = TopPane::locks};
  EXPECT_TRUE(
      shows(text_of(top_lines(state, model, {.width = 100, .height = 24})), "try: fenceline locks show nightly"));
  state.paste = [](const std::string& command) { return command + " --namespace shop"; };
  model = {.pane = TopPane::queues, .cursor = 102};
  EXPECT_TRUE(shows(text_of(top_lines(state, model, {.width = 100, .height = 24})),
                    "try: fenceline queue resume '報告' --namespace shop"))
      << text_of(top_lines(state, model, {.width = 100, .height = 24}));
}

TEST(TopView, TheWorstFindingsRemedyStandsAtTheFoot) {
  const std::vector<std::string> lines = top_lines(busy(), {}, {.width = 80, .height = 24});
  EXPECT_EQ(lines[22], "try: fenceline queue resume 報告");
}

TEST(TopView, SortingAndFilteringChangeTheRows) {
  TopModel model{.pane = TopPane::queues};
  model.sort[static_cast<std::size_t>(TopPane::queues)] = 1;
  std::vector<std::string> lines = top_lines(busy(), model, {.width = 80, .height = 24});
  EXPECT_TRUE(shows(lines[2], "by ready")) << lines[2];
  EXPECT_TRUE(shows(lines[4], "報告")) << lines[4];  // 140 are ready there
  model.filter = "MAI";
  EXPECT_EQ(top_rows(busy(), model), 1);
  lines = top_lines(busy(), model, {.width = 100, .height = 24});
  EXPECT_TRUE(shows(lines[0], "[only /MAI]")) << lines[0];
  model.filter = "nothing has this";
  EXPECT_EQ(top_rows(busy(), model), 0);
}

TEST(TopView, AnUnreachableStoreIsReportedAboveTheLastState) {
  TopState state = busy();
  state.away = "the server\nis not there";
  const std::vector<std::string> lines = top_lines(state, {}, {.width = 100, .height = 40});
  EXPECT_EQ(lines[0], "the store has been unreachable since 12:03:11Z: the server is not there");
  EXPECT_TRUE(shows(text_of(lines), "mail"));
}

TEST(TopView, NamesCannotSteerTheTerminalAndColourIsLeftOutWhereItIsNotWanted) {
  TopState state = busy();
  state.locks = {lock("evil\x1b[2J\x07", 0)};
  state.findings = {{"config", FindingStatus::bad, "line one\nline two \x1b[31m", "rm -rf \x1b[0m"}};
  for (int pane = 0; pane < kTopPanes; ++pane) {
    for (const std::string& line : top_lines(state, {.pane = static_cast<TopPane>(pane)}, {.width = 120, .height = 40}))
      EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  }
  EXPECT_NE(text_of(top_lines(busy(), {}, {.width = 120, .height = 40, .colour = true})).find("\x1b[31m"),
            std::string::npos);
}

TEST(TopView, AnEmptyNamespaceSaysSo) {
  const TopState empty{.store = "sqlite:x",
                       .guarantee = "B",
                       .ns = "default",
                       .at = kTopNow,
                       .findings = {{"stale_jobs", FindingStatus::ok, "none", ""}}};
  const std::string text = text_of(top_lines(empty, {}, {.width = 80, .height = 24}));
  for (const char* what : {"1 queues  none has a job", "2 workers  none", "3 locks  none is held", "4 schedules  none",
                           "5 findings  all healthy: 1 checks"})
    EXPECT_TRUE(shows(text, what)) << what << " in\n" << text;
}

TEST(TopView, TheHelpFitsAnOldTerminal) {
  const std::vector<std::string> lines = top_lines(busy(), {.help = true}, {.width = 80, .height = 24});
  EXPECT_TRUE(shows(text_of(lines), "This view changes nothing")) << text_of(lines);
  for (std::size_t i = 2; i < lines.size(); ++i) EXPECT_FALSE(lines[i].ends_with("..")) << lines[i];
}

}  // namespace
}  // namespace fenceline::cli
