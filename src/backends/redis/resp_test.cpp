// The parser: every type, any split of the bytes, and what a server that sends garbage can do to it.
#include "backends/redis/resp.hpp"

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <malloc.h>

#include <limits>
#include <memory>
#include <random>

#include "backends/redis/command.hpp"
#include "support/results.hpp"

namespace fenceline::redis {
namespace {

using fenceline::test::must;
using Kind = Value::Kind;

// The same seed makes the same values.
class ValueMaker {
 public:
  explicit ValueMaker(std::uint64_t seed, bool only_resp2 = false) : chance_(seed), only_resp2_(only_resp2) {}

  std::uint64_t below(std::uint64_t bound) { return chance_() % bound; }

  Value make(int depth = 0) {
    static constexpr Kind kOld[] = {Kind::nil, Kind::integer, Kind::simple, Kind::blob, Kind::error, Kind::array};
    static constexpr Kind kNew[] = {Kind::nil,   Kind::integer, Kind::simple,  Kind::blob,       Kind::error,
                                    Kind::array, Kind::number,  Kind::boolean, Kind::big_number, Kind::verbatim,
                                    Kind::set,   Kind::map,     Kind::push};
    Value value;
    value.kind = only_resp2_ ? kOld[below(std::size(kOld))] : kNew[below(std::size(kNew))];
    if (depth >= 4 && value.is_list()) value.kind = Kind::blob;
    switch (value.kind) {
      case Kind::integer: value.integer = static_cast<std::int64_t>(chance_()) >> below(63); break;
      case Kind::boolean: value.integer = static_cast<std::int64_t>(below(2)); break;
      case Kind::number: value.number = static_cast<double>(static_cast<std::int64_t>(chance_())) / 1024; break;
      case Kind::big_number:
        value.text = (below(2) == 0 ? "-" : "") + std::to_string(chance_()) + std::to_string(chance_());
        break;
      case Kind::simple: value.text = text(20, false); break;
      case Kind::error: value.text = "ERR " + text(20, false); break;
      case Kind::blob:
      case Kind::verbatim: value.text = text(below(20) == 0 ? 5000 : 30, true); break;
      case Kind::nil: break;
      default:
        for (std::uint64_t items = below(5) * (value.kind == Kind::map ? 2 : 1); items > 0; --items)
          value.items.push_back(make(depth + 1));
    }
    return value;
  }

  static std::string bytes_of(const Value& value) {
    const auto list = [&](char type, std::size_t count) {
      std::string out = type + std::to_string(count) + "\r\n";
      for (const Value& item : value.items) out += bytes_of(item);
      return out;
    };
    switch (value.kind) {
      case Kind::nil: return "$-1\r\n";
      case Kind::integer: return ":" + std::to_string(value.integer) + "\r\n";
      case Kind::boolean: return value.integer != 0 ? "#t\r\n" : "#f\r\n";
      case Kind::number: {
        char text[64];
        std::snprintf(text, sizeof text, ",%.17g\r\n", value.number);
        return text;
      }
      case Kind::big_number: return "(" + value.text + "\r\n";
      case Kind::simple: return "+" + value.text + "\r\n";
      case Kind::error: return "-" + value.text + "\r\n";
      case Kind::blob: return "$" + std::to_string(value.text.size()) + "\r\n" + value.text + "\r\n";
      case Kind::verbatim: return "=" + std::to_string(value.text.size() + 4) + "\r\ntxt:" + value.text + "\r\n";
      case Kind::array: return list('*', value.items.size());
      case Kind::set: return list('~', value.items.size());
      case Kind::map: return list('%', value.items.size() / 2);
      case Kind::push: return list('>', value.items.size());
    }
    return "";
  }

  // One byte is changed, taken out, doubled, or put in; or what follows is gone.
  void mutate(std::string& bytes) {
    if (bytes.empty()) return;
    const std::size_t at = below(bytes.size());
    static constexpr char kLikely[] = "+-:$*_#,(!=~%>|\r\n0123456789?tf";
    const char byte = below(3) == 0 ? static_cast<char>(below(256)) : kLikely[below(sizeof kLikely - 1)];
    switch (below(5)) {
      case 0: bytes[at] = byte; break;
      case 1: bytes.erase(at, 1 + below(8)); break;
      case 2: bytes.insert(at, bytes.substr(at, 1 + below(8))); break;
      case 3: bytes.insert(at, 1, byte); break;
      default: bytes.resize(at);
    }
  }

 private:
  std::string text(std::uint64_t most, bool any) {
    std::string out;
    for (std::uint64_t left = below(most + 1); left > 0; --left)
      out += any ? static_cast<char>(below(256)) : static_cast<char>('a' + below(26));
    return out;
  }

  std::mt19937_64 chance_;
  bool only_resp2_;
};

Value one(std::string_view bytes) {
  RespParser parser;
  parser.add(bytes);
  const std::optional<Value> value = must(parser.next());
  EXPECT_TRUE(value) << bytes;
  EXPECT_EQ(parser.waiting_bytes(), 0u) << bytes;
  return value.value_or(Value{});
}

// What is read until the bytes end, or until they are garbage.
struct Reading {
  std::vector<Value> values;
  bool is_garbage = false;
  bool operator==(const Reading&) const = default;
};

template <class Split>
Reading read_in_parts(std::string_view bytes, Split part_size) {
  RespParser parser;
  Reading reading;
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), part_size());
    parser.add(bytes.substr(0, size));
    bytes.remove_prefix(size);
    for (;;) {
      Result<std::optional<Value>> value = parser.next();
      reading.is_garbage = !value;
      if (!value) return reading;
      if (!*value) break;
      reading.values.push_back(std::move(**value));
    }
  }
  return reading;
}

TEST(Resp, ReadsEveryType) {
  EXPECT_EQ(one("+OK\r\n"), (Value{.kind = Kind::simple, .text = "OK"}));
  EXPECT_EQ(one("+\r\n"), (Value{.kind = Kind::simple}));
  EXPECT_EQ(one("-ERR no\r\n"), (Value{.kind = Kind::error, .text = "ERR no"}));
  EXPECT_EQ(one(":-9223372036854775808\r\n").integer, INT64_MIN);
  EXPECT_EQ(one(":+7\r\n").integer, 7);
  EXPECT_EQ(one("$5\r\na\r\nbc\r\n"), (Value{.kind = Kind::blob, .text = "a\r\nbc"}));
  EXPECT_EQ(one("$0\r\n\r\n"), (Value{.kind = Kind::blob}));
  for (const char* nil : {"$-1\r\n", "*-1\r\n", "_\r\n"}) EXPECT_TRUE(one(nil).is_nil()) << nil;
  EXPECT_EQ(one("#t\r\n"), (Value{.kind = Kind::boolean, .integer = 1}));
  EXPECT_EQ(one("#f\r\n"), (Value{.kind = Kind::boolean}));
  EXPECT_DOUBLE_EQ(one(",-1.5e3\r\n").number, -1500);
  EXPECT_EQ(one(",inf\r\n").number, std::numeric_limits<double>::infinity());
  EXPECT_EQ(one("(-123456789012345678901234567890\r\n"),
            (Value{.kind = Kind::big_number, .text = "-123456789012345678901234567890"}));
  EXPECT_EQ(one("!6\r\nERR no\r\n"), (Value{.kind = Kind::error, .text = "ERR no"}));
  EXPECT_EQ(one("=6\r\ntxt:hi\r\n"), (Value{.kind = Kind::verbatim, .text = "hi"}));
  const Value nested = one("*2\r\n%1\r\n+k\r\n~1\r\n:1\r\n>1\r\n*0\r\n");
  ASSERT_EQ(nested.items.size(), 2u);
  EXPECT_EQ(nested.items[0].kind, Kind::map);
  EXPECT_EQ(nested.items[0].items[1].items[0].integer, 1);
  EXPECT_EQ(nested.items[1].kind, Kind::push);
}

TEST(Resp, WhatIsSaidAboutAValueIsDropped) {
  EXPECT_EQ(one("|1\r\n+popular\r\n%1\r\n$1\r\na\r\n,0.1\r\n:5\r\n").integer, 5);
  const Value list = one("*2\r\n|1\r\n+ttl\r\n:9\r\n:1\r\n|0\r\n|0\r\n:2\r\n");
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[1].integer, 2);
}

TEST(Resp, KnowsTheWordOfAnErrorAndWholeNumbersInText) {
  EXPECT_EQ(one("-NOSCRIPT No matching script\r\n").error_word(), "NOSCRIPT");
  EXPECT_EQ(one("-ERR\r\n").error_word(), "ERR");
  EXPECT_EQ(one("+OK\r\n").error_word(), "");
  EXPECT_EQ(whole_number(one("$16\r\n9007199254740993\r\n")), 9007199254740993);
  EXPECT_EQ(whole_number(one(":4\r\n")), 4);
  for (const char* none :
       {"$3\r\n1e3\r\n", "$0\r\n\r\n", "$2\r\n1 \r\n", "$20\r\n99999999999999999999\r\n", "_\r\n", "#t\r\n", "-1\r\n"})
    EXPECT_FALSE(whole_number(one(none))) << none;
}

TEST(Resp, GarbageIsAnErrorForEver) {
  const char* garbage[] = {"hello\r\n",       "\r\n",        ":12a\r\n",  ":\r\n",     ":9223372036854775808\r\n",
                           ":+-1\r\n",        "$-2\r\n",     "$x\r\n",    "$?\r\n",    "*?\r\n",
                           "*-2\r\n",         "$3\r\nabcde", "+a\nb\r\n", "+a\rb\r\n", "#x\r\n",
                           "_x\r\n",          ",1.5x\r\n",   "(12x\r\n",  "(\r\n",     "=3\r\nabc\r\n",
                           "=5\r\nabcde\r\n", "~-1\r\n",     "%-1\r\n",   ">x\r\n",    "!-1\r\n",
                           "*1\r\nx"};
  for (const char* bytes : garbage) {
    RespParser parser;
    parser.add(bytes);
    const auto value = parser.next();
    ASSERT_FALSE(value) << bytes;
    EXPECT_EQ(value.error().code, Code::broken);
    parser.add("+OK\r\n");
    EXPECT_FALSE(parser.next()) << bytes;
  }
}

TEST(Resp, LimitsHold) {
  RespLimits limits;
  limits.blob_bytes_most = 10;
  limits.line_bytes_most = 20;
  limits.items_most = 6;
  limits.answer_bytes_most = 60;
  limits.depth_most = 3;
  const auto is_refused = [&](const std::string& bytes) {
    RespParser parser(limits);
    parser.add(bytes);
    return !parser.next();
  };
  EXPECT_FALSE(is_refused("$10\r\n"));
  EXPECT_TRUE(is_refused("$11\r\n"));
  EXPECT_FALSE(is_refused("*6\r\n"));
  EXPECT_TRUE(is_refused("*7\r\n"));
  EXPECT_TRUE(is_refused("%4\r\n"));
  EXPECT_TRUE(is_refused("*3\r\n*3\r\n*1\r\n")) << "all lists together";
  EXPECT_TRUE(is_refused("*9223372036854775807\r\n"));
  EXPECT_TRUE(is_refused("%9223372036854775807\r\n"));
  EXPECT_FALSE(is_refused("*1\r\n*1\r\n*1\r\n"));
  EXPECT_TRUE(is_refused("*1\r\n*1\r\n*1\r\n*1\r\n"));
  EXPECT_TRUE(is_refused("+" + std::string(30, 'a')));
  EXPECT_TRUE(is_refused("+" + std::string(30, 'a') + "\r\n"));
  EXPECT_TRUE(is_refused("*6\r\n$9\r\n123456789\r\n$9\r\n123456789\r\n$9\r\n123456789\r\n$9\r\n123456789\r\n"));
  // Each answer has its own.
  RespParser parser(limits);
  for (int i = 0; i < 100; ++i) {
    parser.add("*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n");
    EXPECT_TRUE(must(parser.next()));
  }
}

TEST(Resp, WhatIsAnnouncedAndNeverComesCostsNoMemory) {
  const std::size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  std::vector<RespParser> parsers(100);
  for (RespParser& parser : parsers) {
    parser.add("*2000000\r\n$200000000\r\nabc");
    EXPECT_FALSE(must(parser.next()));
  }
  EXPECT_LT(::mallinfo2().uordblks + ::mallinfo2().hblkhd, before + (100u << 20));
}

TEST(Resp, EndlessAttributesAreGarbageAtLast) {
  RespLimits limits;
  limits.answer_bytes_most = 1000;
  RespParser parser(limits);
  for (int i = 0; i < 1000; ++i) parser.add("|0\r\n");
  EXPECT_FALSE(parser.next());
}

TEST(Resp, AnySplitOfTheBytesGivesTheSameValues) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    ValueMaker maker(seed);
    std::vector<Value> values;
    std::string bytes;
    for (std::uint64_t count = 1 + maker.below(6); count > 0; --count) {
      values.push_back(maker.make());
      bytes += ValueMaker::bytes_of(values.back());
    }
    const Reading whole = read_in_parts(bytes, [&] { return bytes.size(); });
    ASSERT_FALSE(whole.is_garbage) << seed;
    ASSERT_EQ(whole.values, values) << seed;
    ASSERT_EQ(read_in_parts(bytes, [] { return std::size_t{1}; }), whole) << seed;
    for (int i = 0; i < 5; ++i) ASSERT_EQ(read_in_parts(bytes, [&] { return 1 + maker.below(50); }), whole) << seed;
  }
}

TEST(Resp, MutatedBytesNeverCrashAndReadTheSameInAnySplit) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    ValueMaker maker(seed);
    std::string bytes;
    for (std::uint64_t count = 1 + maker.below(3); count > 0; --count) bytes += ValueMaker::bytes_of(maker.make());
    for (std::uint64_t count = 1 + maker.below(4); count > 0; --count) maker.mutate(bytes);
    const Reading whole = read_in_parts(bytes, [&] { return bytes.size(); });
    const Reading split = read_in_parts(bytes, [&] { return 1 + maker.below(20); });
    ASSERT_EQ(split.is_garbage, whole.is_garbage) << seed;
    ASSERT_EQ(split.values.size(), whole.values.size()) << seed;
    // By their bytes: a number that is none is not equal to itself.
    for (std::size_t i = 0; i < whole.values.size(); ++i)
      ASSERT_EQ(ValueMaker::bytes_of(split.values[i]), ValueMaker::bytes_of(whole.values[i])) << seed;
  }
}

Value value_of(const redisReply& reply) {
  Value value;
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      value.kind = Kind::integer;
      value.integer = reply.integer;
      break;
    case REDIS_REPLY_STATUS: value = {.kind = Kind::simple, .text = std::string(reply.str, reply.len)}; break;
    case REDIS_REPLY_ERROR: value = {.kind = Kind::error, .text = std::string(reply.str, reply.len)}; break;
    case REDIS_REPLY_STRING: value = {.kind = Kind::blob, .text = std::string(reply.str, reply.len)}; break;
    case REDIS_REPLY_ARRAY:
      value.kind = Kind::array;
      for (std::size_t i = 0; i < reply.elements; ++i) value.items.push_back(value_of(*reply.element[i]));
      break;
    default: break;
  }
  return value;
}

Reading read_by_hiredis(const std::string& bytes) {
  const std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader(redisReaderCreate(), &redisReaderFree);
  redisReaderFeed(reader.get(), bytes.data(), bytes.size());
  Reading reading;
  for (;;) {
    void* reply = nullptr;
    reading.is_garbage = redisReaderGetReply(reader.get(), &reply) != REDIS_OK;
    if (reading.is_garbage || !reply) return reading;
    reading.values.push_back(value_of(*static_cast<redisReply*>(reply)));
    freeReplyObject(reply);
  }
}

TEST(Resp, ReadsWhatHiredisReads) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    ValueMaker maker(seed, true);
    std::string bytes;
    for (std::uint64_t count = 1 + maker.below(4); count > 0; --count) bytes += ValueMaker::bytes_of(maker.make());
    const Reading ours = read_in_parts(bytes, [&] { return bytes.size(); });
    ASSERT_EQ(ours, read_by_hiredis(bytes)) << seed;
    // Of what is not whole both read as much, unless one of them has stopped at garbage: ours is the stricter.
    maker.mutate(bytes);
    const Reading theirs = read_by_hiredis(bytes);
    const Reading mutated = read_in_parts(bytes, [&] { return bytes.size(); });
    for (std::size_t i = 0; i < std::min(mutated.values.size(), theirs.values.size()); ++i) {
      if (mutated.values[i] != theirs.values[i]) {
        // Types that only RESP3 has are garbage to hiredis 0.14, and so is all after them.
        ADD_FAILURE() << "seed " << seed << ": " << testing::PrintToString(bytes);
        break;
      }
    }
    ASSERT_TRUE(theirs.is_garbage || mutated.is_garbage || mutated.values.size() == theirs.values.size()) << seed;
  }
}

TEST(Resp, WritesWhatHiredisWrites) {
  Command command("SET");
  command.key("k\r\n").arg("").arg(-5);
  std::string ours;
  command.append_to(ours);
  const char* words[] = {"SET", "k\r\n", "", "-5"};
  const std::size_t sizes[] = {3, 3, 0, 2};
  char* theirs = nullptr;
  const auto size = redisFormatCommandArgv(&theirs, 4, words, sizes);
  EXPECT_EQ(ours, std::string(theirs, static_cast<std::size_t>(size)));
  redisFreeCommand(theirs);
}

TEST(Script, IsKnownByTheSha1OfItsText) {
  const Script script("return 1");
  EXPECT_EQ(script.sha(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
  std::string out;
  Command(script).key("k").arg(7).append_to(out);
  EXPECT_EQ(
      out,
      "*5\r\n$7\r\nEVALSHA\r\n$40\r\ne0e1f9fabfc9d4800c877a703b823ac0578ff8db\r\n$1\r\n1\r\n$1\r\nk\r\n$1\r\n7\r\n");
  out.clear();
  Command(script).key("k").arg(7).in_full().append_to(out);
  EXPECT_EQ(out, "*5\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n1\r\n$1\r\nk\r\n$1\r\n7\r\n");
}

}  // namespace
}  // namespace fenceline::redis
