#include "base/uuid.hpp"

#include <gtest/gtest.h>

#include "base/ascending_uuids.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

TEST(Uuid, Version7CarriesTimeVersionAndVariant) {
  const Uuid uuid = make_uuid7(WallTime{0x0123456789abms}, ~0ull, ~0ull);
  EXPECT_EQ(to_string(uuid), "01234567-89ab-7003-bfff-ffffffffffff");
  EXPECT_EQ(to_string(make_uuid7(WallTime{1ms}, 0, 0)), "00000000-0001-7000-8000-000000000000");
  EXPECT_EQ(to_string(make_uuid7(WallTime{1999us}, 0, 0)), "00000000-0001-7f9c-8000-000000000000");
}

TEST(Uuid, HexDigitsHaveNoDashes) {
  EXPECT_EQ(hex_digits(make_uuid7(WallTime{0x0123456789abms}, ~0ull, ~0ull)), "0123456789ab7003bfffffffffffffff");
}

TEST(Uuid, SortsByTheTimeItWasMade) {
  const WallTime base{1'700'000'000s};
  EXPECT_LT(make_uuid7(base, ~0ull, ~0ull), make_uuid7(base + 1us, 0, 0));
  EXPECT_LT(make_uuid7(base + 999us, ~0ull, ~0ull), make_uuid7(base + 1ms, 0, 0));
  EXPECT_LT(to_string(make_uuid7(base, ~0ull, ~0ull)), to_string(make_uuid7(base + 1ms, 0, 0)));
}

TEST(Uuid, DiffersByAnyBitOfChanceItUses) {
  const WallTime now{1s};
  for (int bit = 0; bit < 2; ++bit) EXPECT_NE(make_uuid7(now, 1ull << bit, 0), make_uuid7(now, 0, 0));
  for (int bit = 0; bit < 62; ++bit) EXPECT_NE(make_uuid7(now, 0, 1ull << bit), make_uuid7(now, 0, 0));
}

TEST(Uuid, AscendsForAProducerOfManyWhateverTheClockDoes) {
  AscendingUuids ids;
  Uuid last = ids.next(WallTime{1'700'000'000s}, 0, ~0ull / 2);
  for (const WallTime now :
       {WallTime{1'700'000'000s}, WallTime{1'700'000'000s}, WallTime{1'600'000'000s}, WallTime{1'700'000'001s}}) {
    const Uuid next = ids.next(now, 0xffff'ffff'0000'0001ull, 5);
    EXPECT_LT(last, next);
    EXPECT_EQ(to_string(next)[14], '7');
    EXPECT_EQ(next.bytes[8] & 0xc0, 0x80);
    last = next;
  }
}

TEST(Uuid, ReadsWhatItWritesInEitherCase) {
  const Uuid uuid = make_uuid7(WallTime{1'700'000'000s}, 0xabc, 0xdef0123456789abc);
  EXPECT_EQ(parse_uuid(to_string(uuid)), uuid);
  EXPECT_EQ(parse_uuid("018BCFE5-6800-7ABC-9EF0-123456789ABC"), parse_uuid("018bcfe5-6800-7abc-9ef0-123456789abc"));
}

TEST(Uuid, RefusesEverythingElse) {
  for (const std::string text : {"", "018bcfe568007abc9ef0123456789abc", "018bcfe5-6800-7abc-9ef0-123456789ab",
                                 "018bcfe5-6800-7abc-9ef0-123456789abcd", "018bcfe5-6800-7abc-9ef0-123456789abg",
                                 "018bcfe5_6800-7abc-9ef0-123456789abc", "{18bcfe5-6800-7abc-9ef0-123456789ab}",
                                 " 18bcfe5-6800-7abc-9ef0-123456789abc", "018bcfe56-800-7abc-9ef0-123456789abc"}) {
    EXPECT_FALSE(parse_uuid(text)) << text;
  }
  EXPECT_FALSE(parse_uuid(std::string(36, '\0')));
  EXPECT_FALSE(parse_uuid(std::string(36, '-')));
}

}  // namespace
}  // namespace fenceline
