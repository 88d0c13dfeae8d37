#include "bench/postgres_url.hpp"

#include <gtest/gtest.h>

namespace fenceline::bench {
namespace {

TEST(PostgresUrls, AreToldFromOthers) {
  EXPECT_TRUE(is_postgres_url("postgres://localhost/x"));
  EXPECT_TRUE(is_postgres_url("postgresql://localhost/x"));
  EXPECT_FALSE(is_postgres_url("sqlite:postgres://"));
}

TEST(PostgresUrls, GetAnotherSchemaAndKeepTheRest) {
  EXPECT_EQ(with_parameter("postgres://u@h:1/d", "schema", "a"), "postgres://u@h:1/d?schema=a");
  EXPECT_EQ(with_parameter("postgres://u@h:1/d?schema=b&sslmode=disable", "schema", "a"),
            "postgres://u@h:1/d?sslmode=disable&schema=a");
  EXPECT_EQ(libpq_url("postgres://u@h:1/d?schema=b&sslmode=disable"), "postgres://u@h:1/d?sslmode=disable");
  EXPECT_EQ(parameter_of("postgres://u@h/d?x=1&schema=a%5Fb", "schema"), "a_b");
  EXPECT_EQ(parameter_of("postgres://u@h/d?x=1", "schema"), "");
}

TEST(PostgresUrls, GetAnotherAddressAndKeepTheRest) {
  EXPECT_EQ(with_address("postgres://u:p@db.example:5433/d?schema=a&hostaddr=10.0.0.1", "127.0.0.1", 7),
            "postgres://u:p@db.example:7/d?schema=a&hostaddr=127.0.0.1");
  EXPECT_EQ(with_address("postgres:///d?host=/run/x&port=6", "127.0.0.1", 7), "postgres://127.0.0.1:7/d");
}

TEST(PostgresUrls, SayWhereTheServerListens) {
  EXPECT_EQ(address_of("postgres://u:p@db.example:5433/d?schema=a")->host, "db.example");
  EXPECT_EQ(address_of("postgres://u:p@db.example:5433/d?schema=a")->port, 5433);
  EXPECT_EQ(address_of("postgres:///d?host=/run/x&port=6")->host, "/run/x/.s.PGSQL.6");
  EXPECT_FALSE(address_of("postgres://a,b/d"));
}

TEST(PostgresUrls, AreNotRepeatedWhenTheyAreRefused) {
  const auto refused = address_of("postgres://u:s3cr3t@h:port/d?unknown=1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find("s3cr3t"), std::string::npos);
}

}  // namespace
}  // namespace fenceline::bench
