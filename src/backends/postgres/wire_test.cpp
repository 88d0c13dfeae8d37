#include "backends/postgres/wire.hpp"

#include <gtest/gtest.h>

#include "backends/postgres/json_wire.hpp"

namespace fenceline::postgres {
namespace {

using namespace std::string_literals;

TEST(PostgresWire, NumbersAreWrittenLargestByteFirst) {
  const Params params = Params().int8(0x0102030405060708).int4(-2);
  EXPECT_EQ(params.value(0), "\1\2\3\4\5\6\7\10"s);
  EXPECT_EQ(params.value(1), "\xff\xff\xff\xfe"s);
  EXPECT_EQ(integer_of(*params.value(0)), 0x0102030405060708);
  EXPECT_EQ(integer_of(*params.value(1)), -2);
}

TEST(PostgresWire, AnArrayHasItsTypeItsLengthAndItsNulls) {
  Array numbers(Type::int2, 2);
  numbers.add_int2(-1);
  numbers.add_null();
  EXPECT_EQ(numbers.type(), Type::int2_array);
  EXPECT_EQ(numbers.bytes(), "\0\0\0\1\0\0\0\1\0\0\0\x15\0\0\0\2\0\0\0\1\0\0\0\2\xff\xff\xff\xff\xff\xff"s);
}

TEST(PostgresWire, AnEmptyArrayHasNoDimension) {
  EXPECT_EQ(Array(Type::text, 0).bytes(), "\0\0\0\0\0\0\0\1\0\0\0\x19"s);
}

TEST(PostgresWire, AnArrayOfIdsComesBackAsItWent) {
  const std::vector<Uuid> ids{make_uuid7(WallTime{}, 1, 2), make_uuid7(WallTime{}, 3, 4)};
  Array array(Type::uuid, ids.size());
  for (const Uuid& id : ids) array.add_uuid(id);
  EXPECT_EQ(uuids_of(array.bytes()), ids);
  EXPECT_EQ(uuids_of(Array(Type::uuid, 0).bytes()), std::vector<Uuid>{});
}

TEST(PostgresWire, WhatIsCutShortIsRefused) {
  Array array(Type::uuid, 1);
  array.add_uuid({});
  EXPECT_THROW(uuids_of(std::string_view(array.bytes()).substr(0, 30)), WireFailure);
  EXPECT_THROW(integer_of("abc"), WireFailure);
  EXPECT_THROW(uuid_of("abc"), WireFailure);
  EXPECT_THROW(jsonb_of(""), WireFailure);
  EXPECT_THROW(jsonb_of("\2{}"), WireFailure);
}

TEST(PostgresWire, BytesComeBackFromHexadecimal) {
  const std::string bytes = "\0\x7f\xff z"s;
  EXPECT_EQ(to_hex(bytes), "007fff207a");
  EXPECT_EQ(from_hex(to_hex(bytes)), bytes);
  EXPECT_THROW(from_hex("0"), WireFailure);
  EXPECT_THROW(from_hex("zz"), WireFailure);
}

TEST(PostgresWire, AJobThatSetsNothingHasNoExtras) {
  EXPECT_TRUE(extras_json({}).is_null());
  NewJob job;
  job.key = "k";
  job.backoff.most = std::chrono::seconds{7};
  job.tags = {"a", "b"};
  Job read;
  read_extras(extras_json(job), read);
  EXPECT_EQ(read.key, "k");
  EXPECT_EQ(read.backoff, job.backoff);
  EXPECT_EQ(read.tags, job.tags);
}

}  // namespace
}  // namespace fenceline::postgres
