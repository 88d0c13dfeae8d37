// Compared with another writer and reader of the format.
#include "backends/redis/msgpack.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fenceline::redis {
namespace {

using nlohmann::json;

std::string bytes_of(const json& value) {
  const std::vector<std::uint8_t> bytes = json::to_msgpack(value);
  return {bytes.begin(), bytes.end()};
}

const std::vector<std::int64_t> kNumbers{0,
                                         1,
                                         -1,
                                         31,
                                         -32,
                                         -33,
                                         127,
                                         128,
                                         255,
                                         256,
                                         -128,
                                         -129,
                                         32767,
                                         32768,
                                         -32768,
                                         -32769,
                                         65535,
                                         65536,
                                         2147483647,
                                         2147483648,
                                         -2147483648,
                                         -2147483649,
                                         4294967295,
                                         4294967296,
                                         9007199254740991,
                                         std::numeric_limits<std::int64_t>::max(),
                                         std::numeric_limits<std::int64_t>::min()};
const std::vector<std::size_t> kSizes{0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536};

TEST(Msgpack, WritesWhatAnotherReaderReads) {
  for (const std::int64_t number : kNumbers) {
    std::string out;
    MsgpackWriter(out).list(1).number(number);
    EXPECT_EQ(json::from_msgpack(out), json::array({number}));
  }
  for (const std::size_t size : kSizes) {
    std::string out;
    MsgpackWriter(out).map(1).text("k").text(std::string(size, 'x'));
    EXPECT_EQ(json::from_msgpack(out), json({{"k", std::string(size, 'x')}})) << size;
    std::string many;
    MsgpackWriter writer(many);
    writer.list(size);
    for (std::size_t i = 0; i < size; ++i) writer.number(7);
    EXPECT_EQ(json::from_msgpack(many), json(std::vector<int>(size, 7))) << size;
  }
}

// Scripts look for what the client packed in what they packed themselves.
TEST(Msgpack, TextIsWrittenInItsShortestFormAsScriptsDo) {
  for (const std::size_t size : kSizes) {
    std::string out;
    MsgpackWriter(out).list(1).text(std::string(size, 'x'));
    EXPECT_TRUE(out == bytes_of(json::array({std::string(size, 'x')}))) << size;
  }
}

TEST(Msgpack, ReadsWhatAnotherWriterWrites) {
  for (const std::int64_t number : kNumbers) {
    const std::string bytes = bytes_of(json::array({number}));
    MsgpackReader reader(bytes);
    EXPECT_EQ(reader.list(), 1u);
    EXPECT_EQ(reader.number(), number);
    EXPECT_TRUE(reader.is_at_end() && !reader.has_failed()) << number;
  }
  for (const std::size_t size : kSizes) {
    const std::string bytes =
        bytes_of(json::array({std::string(size, 'x'), json({{"a", json::array({1, 2.5, nullptr, true})}}), "end"}));
    MsgpackReader reader(bytes);
    EXPECT_EQ(reader.list(), 3u);
    EXPECT_EQ(reader.text(), std::string(size, 'x'));
    reader.skip();
    EXPECT_EQ(reader.text(), "end");
    EXPECT_TRUE(reader.is_at_end() && !reader.has_failed()) << size;
  }
}

TEST(Msgpack, WhatIsCutOffOrSomethingElseFailsForGood) {
  const std::string bytes = bytes_of(json::array({"some text", 70000, json({{"k", json::array({1, 2, 3})}})}));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    MsgpackReader reader(std::string_view(bytes).substr(0, size));
    static_cast<void>(reader.list());
    reader.text();
    reader.number();
    reader.skip();
    EXPECT_TRUE(reader.has_failed()) << size;
    EXPECT_EQ(reader.text(), "");
  }
  MsgpackReader not_a_number(bytes);
  EXPECT_EQ(not_a_number.number(), 0);
  EXPECT_TRUE(not_a_number.has_failed());
  MsgpackReader huge(std::string_view("\xdd\xff\xff\xff\xff", 5));  // a list of four thousand million items
  EXPECT_EQ(huge.list(), 0u);
  EXPECT_TRUE(huge.has_failed());
  const std::string nested(1000, '\x91');
  MsgpackReader deep(nested);
  deep.skip();
  EXPECT_TRUE(deep.has_failed());
}

}  // namespace
}  // namespace fenceline::redis
