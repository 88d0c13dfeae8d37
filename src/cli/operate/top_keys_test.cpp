#include "cli/operate/top_keys.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

using Kind = TopKey::Kind;

std::vector<TopKey> keys(std::string bytes, bool complete = true) { return top_keys(bytes, complete); }
std::vector<TopKey> letters(const std::vector<std::string>& texts) {
  std::vector<TopKey> out;
  for (const std::string& text : texts) out.push_back({Kind::letter, text});
  return out;
}

TEST(TopKeys, LettersOrdersAndEscapeAreToldApart) {
  EXPECT_EQ(keys("q/ü出"), letters({"q", "/", "ü", "出"}));
  EXPECT_EQ(keys("\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[Z\t\r\x7f"), (std::vector<TopKey>{{Kind::up},
                                                                                   {Kind::down},
                                                                                   {Kind::page_up},
                                                                                   {Kind::page_down},
                                                                                   {Kind::back_tab},
                                                                                   {Kind::tab},
                                                                                   {Kind::enter},
                                                                                   {Kind::backspace}}));
  EXPECT_EQ(keys("\x1b"), (std::vector<TopKey>{{Kind::escape}}));
  EXPECT_EQ(keys("\x1bq"), (std::vector<TopKey>{{Kind::escape}, {Kind::letter, "q"}}));
  EXPECT_EQ(keys("\x1b[1;5Cq"), letters({"q"}));  // an order that is not known
  EXPECT_EQ(keys("\x01\xff"), letters({}));
}

TEST(TopKeys, AnIncompleteKeyIsWaitedFor) {
  std::string bytes = "a\x1b[";
  EXPECT_EQ(top_keys(bytes, false), letters({"a"}));
  EXPECT_EQ(bytes, "\x1b[");
  bytes += "A";
  EXPECT_EQ(top_keys(bytes, false), (std::vector<TopKey>{{Kind::up}}));
  bytes = "\xe5\x87";
  EXPECT_TRUE(top_keys(bytes, false).empty());
  bytes += "\xba";
  EXPECT_EQ(top_keys(bytes, false), letters({"出"}));
  EXPECT_TRUE(bytes.empty());
}

TopModel after(const std::string& typed) {
  TopModel model;
  for (const TopKey& key : keys(typed)) press(model, key, 10);
  return model;
}

TEST(TopKeys, PanesAreChosenByNumberAndInTurn) {
  EXPECT_EQ(after("3").pane, TopPane::locks);
  EXPECT_EQ(after("30").pane, TopPane::all);
  EXPECT_EQ(after("\t\t").pane, TopPane::workers);
  EXPECT_EQ(after("\x1b[Z").pane, TopPane::findings);
  EXPECT_EQ(after("5\t").pane, TopPane::all);
  EXPECT_EQ(after("2jj3").cursor, 0);  // of another pane
  EXPECT_EQ(after("2jj\x1b[6~k").cursor, 11);
  EXPECT_EQ(after("9"), TopModel{});
}

TEST(TopKeys, AFilterIsTypedCorrectedKeptAndLeft) {
  EXPECT_EQ(after("/mü\x7f"
                  "ail")
                .filter,
            "mail");
  EXPECT_TRUE(after("/mail").typing);
  EXPECT_FALSE(after("/mail\r").typing);
  EXPECT_EQ(after("/mail\r").filter, "mail");
  EXPECT_EQ(after("/q1").filter, "q1");  // letters, not orders
  EXPECT_EQ(after("/mail\r\x1b").filter, "");
  EXPECT_EQ(after("/\x7f\x7f").filter, "");
  EXPECT_LE(after("/" + std::string(500, 'x')).filter.size(), 60u);
}

TEST(TopKeys, OnlyQEndsItAndAnyKeyEndsTheHelp) {
  TopModel model;
  EXPECT_TRUE(press(model, {Kind::letter, "q"}, 10));
  EXPECT_FALSE(press(model, {Kind::escape}, 10));
  EXPECT_FALSE(press(model, {Kind::letter, "?"}, 10));
  EXPECT_TRUE(model.help);
  EXPECT_FALSE(press(model, {Kind::letter, "3"}, 10));
  EXPECT_EQ(model, TopModel{});
  EXPECT_TRUE(after("p").paused);
  EXPECT_FALSE(after("pp").paused);
  EXPECT_EQ(after("2s").sort[static_cast<std::size_t>(TopPane::workers)], 1);
}

}  // namespace
}  // namespace fenceline::cli
