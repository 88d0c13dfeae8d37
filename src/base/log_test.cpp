#include "base/log.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "base/utf8.hpp"

namespace fenceline {
namespace {

std::string literal(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(Log, EscapesWhatWouldBreakTheLine) {
  EXPECT_EQ(literal("a\"b\\c\nd\te\rf"), R"("a\"b\\c\nd\te\rf")");
  EXPECT_EQ(literal(std::string("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(literal("\xc3\xa9\xf0\x9f\x8c\x8a"), "\"\xc3\xa9\xf0\x9f\x8c\x8a\"");
}

TEST(Log, ReplacesBytesThatAreNotUtf8OneByOne) {
  EXPECT_EQ(literal("a\xff\xc2"), "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
  for (int byte = 0; byte < 256; ++byte) {
    const std::string line = literal(std::string{'x', static_cast<char>(byte), 'y'});
    EXPECT_TRUE(is_valid_utf8(line)) << byte;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(Log, WritesOneObjectWithItsFieldsInOrder) {
  const LogEvent event{
      Level::warn,
      "lease_lost",
      {{"name", "deploy"}, {"fence", std::int64_t{9007199254740991}}, {"forced", true}, {"share", 0.5}}};
  EXPECT_EQ(format_log_line(event, "2026-01-02T03:04:05Z"),
            R"({"time":"2026-01-02T03:04:05Z","level":"warn","event":"lease_lost","name":"deploy",)"
            R"("fence":9007199254740991,"forced":true,"share":0.5})");
}

TEST(Log, LeavesOutAnEmptyTime) {
  EXPECT_EQ(format_log_line({Level::info, "worker_exit", {}}, ""), R"({"level":"info","event":"worker_exit"})");
}

TEST(Log, WritesNumbersThatJsonKnows) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(format_log_line(
                {Level::debug,
                 "e",
                 {{"a", infinite}, {"b", -infinite}, {"c", std::numeric_limits<double>::quiet_NaN()}, {"d", 1e300}}},
                ""),
            R"({"level":"debug","event":"e","a":null,"b":null,"c":null,"d":1e+300})");
}

TEST(Log, PassesEventsToItsSink) {
  struct Kept final : LogSink {
    void write(const LogEvent& event) override {
      names.push_back(std::string(to_string(event.level)) + ":" + event.name);
    }
    std::vector<std::string> names;
  } sink;
  const Log log(sink);
  log.debug("a");
  log.info("b");
  log.warn("c");
  log.error("d", {{"k", 1}});
  EXPECT_EQ(sink.names, (std::vector<std::string>{"debug:a", "info:b", "warn:c", "error:d"}));
}

}  // namespace
}  // namespace fenceline
