#include <gtest/gtest.h>

#include "model/job.hpp"

namespace fenceline {
namespace {

std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
}

TEST(Payload, AnyJsonValueWillDo) {
  for (const std::string text :
       {"null", "true", "0", "-1.5e3", "\"\"", "[]", "{}", " {\"a\": [1, 2, {\"b\": null}]}\n",
        "\"\\u0000\\ud83c\\udf0a\"", "\"\xc3\xa9\"", "18446744073709551615", "{\"a\":1,\"a\":2}"}) {
    EXPECT_TRUE(check_payload(text)) << text;
  }
}

TEST(Payload, WhatIsNotJsonIsRefused) {
  for (const std::string text : {"", " ", "{", "[1,]", "{\"a\":}", "'a'", "nul", "NaN", "Infinity", "01", "1.", "text",
                                 "[1] [2]", "// x\n1", "{a:1}", "\"\n\""}) {
    const Result<void> checked = check_payload(text);
    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.error().code, Code::invalid);
    EXPECT_EQ(checked.error().message.find('\n'), std::string::npos);
  }
}

TEST(Payload, ANumberThatIsTooLargeAndHalfOfAPairHaveMessagesOfTheirOwn) {
  EXPECT_EQ(
      check_payload("{\"n\":1e400}").error().message,
      "payload has a number that is too large for a double (ends at byte 10; at most about 1.8e308); send it as a "
      "string");
  const std::string half = check_payload(R"("\ud83d")").error().message;
  EXPECT_TRUE(half.starts_with("payload has half of a surrogate pair (at byte ")) << half;
}

TEST(Payload, NothingHidesBehindANul) {
  EXPECT_FALSE(check_payload(std::string("1\0", 2)));
  EXPECT_FALSE(check_payload(std::string("{}\0not json", 11)));
  EXPECT_FALSE(check_payload(std::string("\"\0\"", 3)));
}

TEST(Payload, InvalidUtf8IsRefused) {
  for (const std::string bytes : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc2"}) {
    EXPECT_FALSE(check_payload("\"" + bytes + "\""));
    EXPECT_FALSE(check_payload("{\"" + bytes + "\":1}"));
  }
}

TEST(Payload, IsAtMostOneMebibyte) {
  const std::string largest = "\"" + std::string(kPayloadBytesMax - 2, 'x') + "\"";
  EXPECT_TRUE(check_payload(largest));
  const Result<void> larger = check_payload(largest + " ");
  ASSERT_FALSE(larger);
  EXPECT_NE(larger.error().message.find("1 MiB"), std::string::npos);
}

TEST(Payload, IsAtMost128LevelsDeep) {
  EXPECT_TRUE(check_payload(nested(kPayloadDepthMax)));
  const Result<void> deeper = check_payload(nested(kPayloadDepthMax + 1));
  ASSERT_FALSE(deeper);
  EXPECT_NE(deeper.error().message.find("128"), std::string::npos);
}

// Neither text ever closes, so only who stops at the 129th level can say that it is too deep.
TEST(Payload, OfAMillionLevelsOnlyTheFirstAreLookedAt) {
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += "{\"a\":";
  for (const std::string& payload : {std::string(1'000'000, '['), objects}) {
    const Result<void> checked = check_payload(payload);
    ASSERT_FALSE(checked);
    EXPECT_NE(checked.error().message.find("too deeply"), std::string::npos) << checked.error().message;
  }
}

TEST(Payload, TheMessageDoesNotRepeatThePayload) {
  const Result<void> checked = check_payload("{\"password\":\"hunter2\"");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message.find("hunter2"), std::string::npos);
}

TEST(SameJson, OrderOfMembersAndSpaceDoNotCount) {
  EXPECT_TRUE(same_json(R"({"a":1,"b":{"c":[],"d":null}})", " { \"b\" : {\"d\":null,\"c\":[ ]},\n\"a\":1}"));
  EXPECT_FALSE(same_json("[1,2]", "[2,1]"));
  EXPECT_FALSE(same_json(R"({"a":1})", R"({"a":1,"b":null})"));
  EXPECT_FALSE(same_json("{}", "[]"));
  EXPECT_FALSE(same_json("[[],[]]", "[[[]]]"));
  EXPECT_FALSE(same_json(R"(["a","b"])", R"(["a,b"])"));
}

TEST(SameJson, TheSpellingOfStringsDoesNotCount) {
  EXPECT_TRUE(same_json(R"("\u00e9\/\u0041\n")", "\"\xc3\xa9/A\\n\""));
  EXPECT_TRUE(same_json(R"({"\u0061":1})", R"({"a":1})"));
  EXPECT_TRUE(same_json(R"("\ud83d\ude00")", "\"\xf0\x9f\x98\x80\""));
  EXPECT_FALSE(same_json(R"("a")", R"("A")"));
  EXPECT_FALSE(same_json(R"("1")", "1"));
  EXPECT_FALSE(same_json(R"("\u0000")", R"("")"));
}

TEST(SameJson, TheSpellingOfNumbersDoesNotCount) {
  EXPECT_TRUE(same_json("1", "1.0"));
  EXPECT_TRUE(same_json("100", "1e2"));
  EXPECT_TRUE(same_json("100", "1E+2"));
  EXPECT_TRUE(same_json("0.01", "1e-2"));
  EXPECT_TRUE(same_json("-0", "0.0"));
  EXPECT_TRUE(same_json("0e9", "0"));
  EXPECT_TRUE(same_json("-1.50", "-15e-1"));
  EXPECT_TRUE(same_json("1000000000000000", "1e15")) << "also where a double is no longer exact";
  EXPECT_TRUE(same_json("123456789012345678901234567890", "1.2345678901234567890123456789e29"));
  EXPECT_FALSE(same_json("1", "-1"));
  EXPECT_FALSE(same_json("10", "1"));
  EXPECT_FALSE(same_json("0.1", "0.01"));
}

TEST(SameJson, LongNumbersThatDifferAreNotTheSame) {
  EXPECT_FALSE(same_json("9007199254740993", "9007199254740992"));
  EXPECT_FALSE(same_json("9007199254740993.0", "9007199254740992.0"));
  EXPECT_FALSE(same_json("18446744073709551617", "18446744073709551616"));
  EXPECT_FALSE(same_json("0.1", "0.1000000000000000000001"));
  EXPECT_FALSE(same_json("1e-99999999999999999999", "1e-99999999999999999998"));
}

TEST(SameJson, OfTwoMembersOfOneNameTheLastCounts) {
  EXPECT_TRUE(same_json(R"({"a":1,"a":2})", R"({"a":2})"));
  EXPECT_FALSE(same_json(R"({"a":1,"a":2})", R"({"a":1})"));
}

}  // namespace
}  // namespace fenceline
