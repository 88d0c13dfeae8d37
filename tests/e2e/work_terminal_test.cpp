// `fenceline work` as somebody at a terminal meets it.
#include <gtest/gtest.h>

#include <algorithm>

#include "jobs.hpp"
#include "tmux.hpp"

namespace fenceline::e2e {
namespace {

std::string work_at_terminal(const std::string& words) { return "NO_COLOR=1 " + program() + " work q " + words; }

std::string short_of(const std::string& id) { return id.substr(id.size() - 8); }

TEST(WorkTerminal, EachJobIsOneLineWithinTheWindowAndTheLastLineCounts) {
  const Workplace place;
  const std::string good = trimmed(place.fenceline({"enqueue", "q", "--payload", "0"}).out);
  const std::string bad = trimmed(place.fenceline({"enqueue", "q", "--payload", "3"}).out);
  const std::string dead = trimmed(place.fenceline({"enqueue", "q", "--payload", "65"}).out);
  Tmux tmux(place, 80, 30);
  tmux.run(work_at_terminal("-- sh -c 'read s; echo said by $s >&2; exit $s'"));
  EXPECT_TRUE(tmux.shows("q " + short_of(good) + " done after ")) << tmux.picture();
  EXPECT_TRUE(tmux.shows("q " + short_of(bad) + " failed: exit 3 after ")) << tmux.picture();
  EXPECT_TRUE(tmux.shows("; retry 2 of 10 in ")) << tmux.picture();
  EXPECT_TRUE(tmux.shows("q " + short_of(dead) + " dead: exit 65 after ")) << tmux.picture();
  EXPECT_TRUE(tmux.shows("worker started: q; ")) << tmux.picture();
  EXPECT_TRUE(tmux.shows("said by 3\n")) << "what commands say stands on lines of its own: " << tmux.picture();
  EXPECT_TRUE(tmux.shows(" running, 1 done, ")) << tmux.picture();
  EXPECT_EQ(tmux.picture().find("job_settled"), std::string::npos) << tmux.picture();
  EXPECT_EQ(tmux.picture().find("{\"time\""), std::string::npos) << tmux.picture();
  tmux.press("C-c");
  EXPECT_TRUE(tmux.shows("worker stopping")) << tmux.picture();
  EXPECT_TRUE(tmux.shows("fenceline: 1 done, ")) << tmux.picture();
  EXPECT_TRUE(tmux.does_not_show(" running, ")) << "the last line is gone: " << tmux.picture();
}

TEST(WorkTerminal, AWorkerOfAPipelineStartsOnceAndSaysWhereItsItemsWent) {
  const Workplace place;
  place.write("docs.toml",
              "[pipeline]\nname = \"q\"\nstages = [\"write\", \"publish\"]\n[stage.publish]\n"
              "entry = { approval = { count = 1, within = \"2d\" } }\n");
  ASSERT_EQ(place.fenceline({"pipeline", "apply", "docs.toml"}).status, 0);
  const std::string id = enqueue(place);
  Tmux tmux(place, 80, 30);
  tmux.run(work_at_terminal("--stage write -- true"));
  EXPECT_TRUE(tmux.shows("q " + short_of(id) + " moved to publish after ")) << tmux.picture();
  EXPECT_TRUE(tmux.shows("; waits for approval")) << tmux.picture();
  EXPECT_TRUE(tmux.shows("0 running, 0 done, 1 moved on")) << tmux.picture();
  tmux.press("C-c");
  EXPECT_TRUE(tmux.shows("fenceline: 0 done, 1 moved on, 0 failed")) << tmux.picture();
  const std::vector<std::string> lines = lines_of(tmux.picture());
  EXPECT_EQ(std::ranges::count_if(lines, [](const std::string& line) { return has(line, "worker started"); }), 1)
      << tmux.picture();
}

TEST(WorkTerminal, TheLastLineIsThereOnceAfterTheWindowWasResized) {
  const Workplace place;
  Tmux tmux(place, 80, 20);
  tmux.run(work_at_terminal("--concurrency 1 -- sleep 60"));
  EXPECT_TRUE(tmux.shows("0 running, 0 done")) << tmux.picture();
  const auto lines_with = [&](const std::string& text) {
    const std::vector<std::string> lines = lines_of(tmux.picture());
    return std::ranges::count_if(lines, [&](const std::string& line) { return has(line, text); });
  };
  for (const int width : {40, 30, 80}) {
    tmux.resize(width, 20);
    const std::string id = enqueue(place);
    ASSERT_EQ(place.fenceline({"job", "cancel", id}).status, 0);
    EXPECT_TRUE(eventually([&] { return lines_with("running") == 1; })) << width << ":\n" << tmux.picture();
  }
  EXPECT_TRUE(tmux.shows("0 running, 0 done")) << tmux.picture();
  tmux.press("C-c");
  EXPECT_TRUE(tmux.does_not_show(" running")) << tmux.picture();
}

}  // namespace
}  // namespace fenceline::e2e
