#include <gtest/gtest.h>

#include "model/job.hpp"

namespace fenceline {
namespace {

std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
}

TEST(Payload, AnyJsonValueWillDo) {
  for (const std::string text : {"null", "true", "0", "-1.5e3", "\"\"", "[]", "{}", " {\"a\": [1, 2, {\"b\": null}]}\n",
                                 "\"\\u0000\\ud83c\\udf0a\"", "\"\xc3\xa9\"", "18446744073709551615", "{\"a\":1,\"a\":2}"}) {
    EXPECT_TRUE(check_payload(text)) << text;
  }
}

TEST(Payload, WhatIsNotJsonIsRefused) {
  for (const std::string text :
       {"", " ", "{", "[1,]", "{\"a\":}", "'a'", "nul", "NaN", "Infinity", "01", "1.", "text", "[1] [2]", "// x\n1", "{a:1}", "\"\n\""}) {
    const Result<void> checked = check_payload(text);
    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.error().code, Code::invalid);
    EXPECT_EQ(checked.error().message.find('\n'), std::string::npos);
  }
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

}  // namespace
}  // namespace fenceline
