#include "model/json_check.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace fenceline {
namespace {

constexpr int kDepth = 16;

bool good(std::string_view text) { return check_json(text, kDepth).verdict == JsonVerdict::good; }

TEST(JsonCheck, TakesEveryKindOfValue) {
  for (const std::string_view text : {"null",
                                      " true ",
                                      "false\n",
                                      "0",
                                      "-0",
                                      "-0.0e-0",
                                      "10",
                                      "1E+2",
                                      "1e308",
                                      "1e-400",
                                      "\"\"",
                                      "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
                                      "[]",
                                      "[ ]",
                                      "[[],{}]",
                                      "{}",
                                      "{ }",
                                      "{\"\":0}",
                                      "{\"a\":1,\"a\":2}",
                                      "\t[1 , 2]\r\n"}) {
    EXPECT_TRUE(good(text)) << text;
  }
}

TEST(JsonCheck, RefusesWhatOnlyLooksLikeIt) {
  for (const std::string_view text : {"",
                                      " ",
                                      "nul",
                                      "nulll",
                                      "True",
                                      "+1",
                                      "-",
                                      "01",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "0x1",
                                      "1e400",
                                      "-1e400",
                                      "\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\ud800\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"\\udc00\"",
                                      "\"\t\"",
                                      "[",
                                      "[1",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "]",
                                      "{",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{1:1}",
                                      "{\"a\":1]",
                                      "[1}",
                                      "1 2",
                                      "\xef\xbb\xbf"
                                      "1",
                                      "\"\xff\""}) {
    EXPECT_FALSE(good(text)) << text;
  }
  EXPECT_FALSE(good(std::string_view("1\0", 2)));
  EXPECT_FALSE(good(std::string_view("\"\0\"", 3)));
  EXPECT_FALSE(good(std::string(400, '9')));
}

TEST(JsonCheck, TellsWhereItShows) {
  EXPECT_EQ(check_json("[1,x]", kDepth), (JsonCheck{JsonVerdict::bad, 4}));
  EXPECT_EQ(check_json("", kDepth), (JsonCheck{JsonVerdict::bad, 1}));
  EXPECT_EQ(check_json("1 2", kDepth), (JsonCheck{JsonVerdict::bad, 3}));
}

TEST(JsonCheck, TellsANumberThatIsTooLargeAndHalfOfAPairFromWhatIsNotJson) {
  EXPECT_EQ(check_json("[1e400]", kDepth), (JsonCheck{JsonVerdict::number_too_large, 7}));
  EXPECT_EQ(check_json("-1e400", kDepth).verdict, JsonVerdict::number_too_large);
  EXPECT_EQ(check_json(R"("\ud800")", kDepth).verdict, JsonVerdict::half_of_a_pair);
  EXPECT_EQ(check_json(R"("\udc00")", kDepth).verdict, JsonVerdict::half_of_a_pair);
  EXPECT_EQ(check_json(R"("\ud800\u0041")", kDepth).verdict, JsonVerdict::half_of_a_pair);
  EXPECT_EQ(check_json(R"("\u12")", kDepth).verdict, JsonVerdict::bad);
  EXPECT_EQ(check_json("1e", kDepth).verdict, JsonVerdict::bad);
}

TEST(JsonCheck, StopsAtTheFirstLevelTooMany) {
  EXPECT_TRUE(good(std::string(kDepth, '[') + std::string(kDepth, ']')));
  EXPECT_EQ(check_json(std::string(kDepth + 1, '['), kDepth).verdict, JsonVerdict::too_deep);
  EXPECT_EQ(check_json(std::string(1'000'000, '['), kDepth).verdict, JsonVerdict::too_deep);
}

// Texts that are nearly JSON, against a reader that was written by others.
TEST(JsonCheck, AgreesWithAnotherReader) {
  const std::vector<std::string> pieces{"{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\"a\"",
                                        "\"",
                                        "\\",
                                        "\\u00e9",
                                        "\\ud83d\\ude00",
                                        "\\ud83d",
                                        "0",
                                        "1.5",
                                        "-2e3",
                                        "e9",
                                        ".",
                                        "-",
                                        "null",
                                        "true",
                                        " ",
                                        "\n",
                                        "\xc3\xa9",
                                        "\xc3",
                                        "\x01",
                                        "\"b\":",
                                        "\"c\":[1]",
                                        "[1,2]",
                                        "{\"d\":{}}"};
  std::mt19937_64 chance(20'261'115);
  int taken = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text;
    const std::uint64_t size = 1 + chance() % 7;
    for (std::uint64_t i = 0; i < size; ++i) text += pieces[chance() % pieces.size()];
    const bool expected = nlohmann::json::accept(text);
    ASSERT_EQ(good(text), expected) << text;
    taken += expected ? 1 : 0;
  }
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace fenceline
