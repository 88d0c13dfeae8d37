// The format: what is written is read back, and what is not exactly it is refused in words.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "history/format/event_reader.hpp"

namespace fenceline::history {
namespace {

Event full_event() {
  return {.kind = Kind::ok,
          .by = "w",
          .n = 7,
          .at = -5,
          .store_at = 0,
          .version = 1,
          .store = "s",
          .guarantee = "B",
          .clock = "c",
          .store_clock = "d",
          .whole = true,
          .repeats = 3,
          .verb = Verb::claim,
          .ns = "n",
          .owner = "o \"quoted\" \\ \n \x01 ü",
          .request = "r",
          .queues = {"a", "b"},
          .queue = "q",
          .stage = "s",
          .name = "f",
          .only = "dead",
          .limit = 0,
          .limit_per_key = 2,
          .ttl = 4,
          .holds_others = true,
          .paused = true,
          .digest = "d",
          .policy = "hold",
          .dead_call = "e",
          .end = "none",
          .jobs = {{.id = "j",
                    .queue = "q",
                    .stage = "s",
                    .group = "g",
                    .limit_key = "l",
                    .key = "k",
                    .key_for = 9,
                    .digest = "d",
                    .delayed = true,
                    .attempts = 3,
                    .fence = (std::int64_t{1} << 53) - 1,
                    .left = 1,
                    .deliveries = 2,
                    .failures = 3,
                    .losses = 4,
                    .losses_in_row = 5,
                    .forced = true,
                    .from = "x",
                    .outcome = "done",
                    .reason = "state",
                    .current = 6,
                    .holder = "h",
                    .state = "waiting",
                    .only = "ready",
                    .fresh = true,
                    .act = "item_held",
                    .revision = 7},
                   {.id = "k"}},
          .locks = {{.id = "deploy#2", .fence = 9, .holder = "h"}},
          .shared = true,
          .to_its_end = true,
          .change = "rewind",
          .from = 10,
          .to = 11,
          .ticks = {{.id = "t", .tick = 12}},
          .skipped = {{.id = "missed", .tick = 13, .last = 14, .count = 2}},
          .stages = {{.id = "review", .count = 2, .gate = "approval", .then = "reject"}},
          .people = {{.id = "ana", .stage = "review"}},
          .code = "c",
          .refused = {{.id = "l", .reason = "expired"}},
          .ids = {"x", "y"},
          .existing = 1,
          .first_seen = 0,
          .left = 2,
          .waited = 3,
          .count = 4,
          .state = "done",
          .verdict = "act",
          .stands = 15,
          .wall = 16,
          .result = "r",
          .floor = 8,
          .revision = 17};
}

std::string refusal(std::string_view line) {
  const Result<Event> event = parse_line(line);
  return event ? "" : event.error().message;
}

// As a file: the first line is a recorder's.
Result<std::vector<std::int64_t>> read_all(std::string_view bytes, std::size_t piece = 7) {
  std::vector<std::int64_t> lines;
  EventReader reader("f", [&](Event, std::int64_t line) { lines.push_back(line); });
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    if (const Result<void> ok = reader.feed(bytes.substr(0, piece)); !ok) return std::unexpected(ok.error());
  }
  if (const Result<void> ok = reader.end(); !ok) return std::unexpected(ok.error());
  return lines;
}

const std::string kRecorder = R"({"e":"recorder","by":"w","history":1,"store":"s","class":"B","clock":"c"})";
const std::string kInvoke = R"({"e":"invoke","verb":"tidy","by":"w","n":1,"at":5,"ns":"n"})";

TEST(HistoryFormat, EveryFieldIsReadBackAsItWasWritten) {
  const Result<Event> read = parse_line(to_line(full_event()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, full_event());
  EXPECT_EQ(*parse_line(kInvoke), (Event{.by = "w", .n = 1, .at = 5, .verb = Verb::tidy, .ns = "n"}));
}

// As it was written before there were locks in it.
TEST(HistoryFormat, AFileWithoutLocksIsReadAsBefore) {
  const std::string claim = R"({"e":"ok","by":"w","n":2,"at":9,"jobs":[{"id":"j","queue":"q","fence":5,"left":3}]})";
  const std::string handler = R"({"e":"started","by":"w","at":9,"owner":"o","jobs":[{"id":"j","fence":5}]})";
  EXPECT_EQ(read_all(kRecorder + "\n" + kInvoke + "\n" + claim + "\n" + handler + "\n"),
            (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_TRUE(parse_line(claim)->locks.empty());
}

TEST(HistoryFormat, AnEventOfWorkIsAboutOneJobOrOneLock) {
  EXPECT_EQ(refusal(R"({"e":"started","by":"w","at":9,"locks":[{"id":"deploy","fence":5}]})"), "");
  EXPECT_NE(refusal(R"({"e":"started","by":"w","at":9,"jobs":[{"id":"j"}],"locks":[{"id":"deploy"}]})"), "");
  EXPECT_NE(refusal(R"({"e":"started","by":"w","at":9})"), "");
}

TEST(HistoryFormat, WhatIsNotTheFormatIsRefusedAndNamed) {
  EXPECT_EQ(refusal(R"({"e":"invoke","by":"w","n":1,"verb":"tidy","speed":3})"),
            "there is no field 'speed'; a newer fenceline may have written it");
  EXPECT_EQ(refusal(R"({"e":"invoke","by":"w","n":"one","verb":"tidy"})"), "field 'n' has a value of the wrong type");
  EXPECT_EQ(refusal(R"({"e":"invoke","by":"w","n":1,"n":2,"verb":"tidy"})"), "field 'n' appears twice");
  EXPECT_EQ(refusal(R"({"e":"invoke","by":"w","n":1,"verb":"fly"})"), "there is no verb 'fly'");
  EXPECT_EQ(refusal(R"({"e":"dance","by":"w"})"), "there is no kind of event 'dance'");
  EXPECT_EQ(refusal(R"({"e":"invoke","by":"w","n":1})"), "an invoke without a verb");
  EXPECT_EQ(refusal(R"({"e":"ok","by":"w"})"), "a call without its number");
  EXPECT_EQ(refusal(R"({"e":"ok","n":1})"), "it does not name its recorder");
  EXPECT_EQ(refusal(R"({"by":"w"})"), "it does not say what kind of event it is");
  EXPECT_EQ(refusal(R"({"e":"recorder","by":"w","history":2,"class":"B"})"),
            "the history is of format 2; this program reads format 1");
  EXPECT_EQ(refusal(R"({"e":"recorder","by":"w","history":1,"class":"E"})"),
            "class 'E' is none; there are A, B, C and D");
  EXPECT_EQ(refusal(R"({"e":"ok","by":"w","n":1,"at":1.5})"), "field 'at' is not a whole number, or is too large");
  EXPECT_EQ(refusal(R"({"e":"ok","by":"w","n":1,"at":18446744073709551615})"), "field 'at' is too large");
  EXPECT_EQ(refusal(R"({"e":"ok","by":"w","n":1,"jobs":[{"fence":1}]})"), "a job, lock, tick or stage has no id");
  EXPECT_EQ(refusal(R"({"e":"ok","by":"w","n":1,"jobs":[[]]})"), "field 'jobs' has a value of the wrong type");
  EXPECT_EQ(refusal("[]"), "it is not a JSON object");
  EXPECT_EQ(refusal("7"), "it is not a JSON object");
}

TEST(HistoryFormat, NoBytesMakeItFallOver) {
  const std::string good = to_line(full_event());
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parse_line(good.substr(0, length))) << length;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char byte : {'\xff', '\xc0', '\0', '"', '{', '[', '9'}) {
      std::string bad = good;
      bad[at] = byte;
      (void)parse_line(bad);  // what it says does not matter
    }
  }
  EXPECT_NE(refusal("{\"e\":\"ok\",\"by\":\"\xff\xfe\",\"n\":1}"), "");
  EXPECT_NE(refusal(std::string(1'000'000, '[')), "");
  EXPECT_NE(refusal(R"({"jobs":)" + std::string(1'000'000, '[')), "");
  EXPECT_NE(refusal(R"({"jobs":[)" + std::string(1'000'000, '{')), "");
}

TEST(HistoryReader, GivesEachLineItsNumberHoweverTheBytesCome) {
  const std::string text = kRecorder + "\n" + kInvoke + "\r\n" + kInvoke + "\n";
  for (const std::size_t piece : {1U, 2U, 63U, 100'000U})
    EXPECT_EQ(*read_all(text, piece), (std::vector<std::int64_t>{1, 2, 3})) << piece;
}

TEST(HistoryReader, ATornLastLineIsCountedAndLeftOut) {
  std::int64_t events = 0;
  EventReader reader("f", [&](Event, std::int64_t) { ++events; });
  ASSERT_TRUE(reader.feed(kRecorder + "\n" + kInvoke.substr(0, 20)));
  ASSERT_TRUE(reader.end());
  EXPECT_TRUE(reader.torn());
  EXPECT_EQ(events, 1);
}

TEST(HistoryReader, SaysWhichLineIsWrong) {
  EXPECT_EQ(read_all(kRecorder + "\n\n").error().message, "f, line 2: it is not JSON in UTF-8 (at byte 1)");
  EXPECT_EQ(read_all(kRecorder + "\n" + kInvoke + "\nnonsense\n").error().message.substr(0, 10), "f, line 3:");
  EXPECT_EQ(read_all(kInvoke + "\n").error().message,
            "f, line 1: not a history; the first line of a history names its recorder");
  EXPECT_EQ(read_all("").error().message, "f is empty; not a history");
  EXPECT_EQ(read_all("x").error().message, "f, line 1: the line does not end; not a history");
}

TEST(HistoryReader, KeepsNoMoreThanOneLineInMemory) {
  EventReader reader("f", [](Event, std::int64_t) {});
  ASSERT_TRUE(reader.feed(kRecorder + "\n"));
  const std::string mebibyte(1 << 20, 'x');
  Result<void> fed;
  int pieces = 0;
  while (fed && pieces < 100) {
    fed = reader.feed(mebibyte);
    ++pieces;
  }
  ASSERT_FALSE(fed);
  EXPECT_EQ(pieces, 17);
  EXPECT_EQ(fed.error().message, "f, line 2: it is longer than 16 MiB; not a history");
}

}  // namespace
}  // namespace fenceline::history
