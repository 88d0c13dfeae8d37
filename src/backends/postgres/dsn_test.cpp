#include "backends/postgres/dsn.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "support/results.hpp"

namespace fenceline::postgres {
namespace {

using test::code_of;
using test::must;

std::map<std::string, std::string> options_of(const Dsn& dsn) { return {dsn.options.begin(), dsn.options.end()}; }

TEST(PostgresDsn, TakesOurOptionsOutAndLeavesTheRestToLibpq) {
  const Dsn dsn = must(
      parse_dsn("postgresql://ann@db.example:6000/app?schema=work&sslmode=verify-full&pooler=transaction&listen=0"));
  EXPECT_EQ(dsn.schema, "work");
  EXPECT_TRUE(dsn.pooled);
  EXPECT_FALSE(dsn.listens);
  const auto options = options_of(dsn);
  EXPECT_EQ(options.at("host"), "db.example");
  EXPECT_EQ(options.at("sslmode"), "verify-full");
  EXPECT_FALSE(options.contains("schema"));
  EXPECT_EQ(dsn.shown, "postgres://ann@db.example:6000/app?schema=work");
}

TEST(PostgresDsn, HasItsDefaults) {
  const Dsn dsn = must(parse_dsn("postgres://ann@h/app"));
  EXPECT_EQ(dsn.schema, "fenceline");
  EXPECT_FALSE(dsn.pooled);
  EXPECT_TRUE(dsn.listens);
}

TEST(PostgresDsn, ShowsNoPassword) {
  for (const char* url : {"postgres://ann:s3cret@h/app", "postgres://ann@h/app?password=s3cret",
                          "postgres://ann:s3cret@h/app?sslpassword=s3cret"}) {
    const Dsn dsn = must(parse_dsn(url));
    EXPECT_EQ(dsn.shown.find("s3cret"), std::string::npos) << dsn.shown;
  }
}

TEST(PostgresDsn, OfSeveralHostsEachIsShownAndTriedApart) {
  const Dsn dsn = must(parse_dsn("postgres://ann:s3cret@h1:5433,h2:5434/app?target_session_attrs=any"));
  EXPECT_EQ(dsn.shown, "postgres://ann@h1:5433,h2:5434/app?schema=fenceline");
  ASSERT_EQ(dsn.servers.size(), 2u);
  EXPECT_EQ(dsn.servers[1], (DsnOptions{{"host", "h2"}, {"port", "5434"}}));
  EXPECT_FALSE(options_of(dsn).contains("host"));
  EXPECT_EQ(options_of(dsn).at("target_session_attrs"), "any");
  EXPECT_TRUE(must(parse_dsn("postgres://ann@h1/app")).servers.empty());
}

TEST(PostgresDsn, OfSeveralHostsTheOneThatTakesWritesIsMeant) {
  for (const char* url : {"postgres://h1:5433,h2/app", "postgres://h1,h2:5433/app", "postgres://ann@h1,h2/app",
                          "postgres://ann@/app?host=h1,h2&port=5433", "postgres://[::1]:5433,[::2]/app"})
    EXPECT_EQ(options_of(must(parse_dsn(url))).at("target_session_attrs"), "read-write") << url;
  EXPECT_EQ(must(parse_dsn("postgres://ann@[::1]:5433,h2/app")).shown,
            "postgres://ann@[::1]:5433,h2:5432/app?schema=fenceline");
  EXPECT_EQ(must(parse_dsn("postgres://ann@/app?host=h1,h2&port=5433")).servers[1],
            (DsnOptions{{"host", "h2"}, {"port", "5433"}}));
  EXPECT_FALSE(options_of(must(parse_dsn("postgres://ann@h1/app"))).contains("target_session_attrs"));
}

TEST(PostgresDsn, HostsAndPortsThatDoNotFitEachOtherAreRefused) {
  EXPECT_EQ(code_of(parse_dsn("postgres://ann@/app?host=h1,h2,h3&port=1,2")), Code::invalid);
}

TEST(PostgresDsn, AnErrorRepeatsNoPartThatMayBeSecret) {
  for (const char* url :
       {"postgres://ann:s3cret", "postgres://ann:s3cret/app", "postgres://ann:12,s:3cret/app",
        "postgres://ann:ab@s3cret@h/app", "postgres://ann:ab/s3cret@h/app", "postgres://ann:ab?s3cret@h/app",
        "postgres://ann:s3cret%zz@h/app", "postgres://ann:s3cret@[h/app", "postgres://ann:s3cret@h/app?schema=BAD",
        "postgres://ann:s3cret@h/app?s3cret", "postgres://ann:s3cret@h/app?password=s3cret%",
        "postgres://ann:s3cret@h/app?nonsense=s3cret", "postgres://ann:s3cret@h/app?pooler=s3cret"}) {
    const Result<Dsn> dsn = parse_dsn(url);
    ASSERT_EQ(code_of(dsn), Code::invalid) << url;
    EXPECT_EQ(dsn.error().message.find("s3cret"), std::string::npos) << dsn.error().message;
    EXPECT_EQ(dsn.error().message.find('\n'), std::string::npos);
  }
}

TEST(PostgresDsn, ASchemaIsAPlainName) {
  for (const char* name : {"", "1a", "a-b", "a%22b", "A", "pg_x"})
    EXPECT_EQ(code_of(parse_dsn(std::string("postgres://h/app?schema=") + name)), Code::invalid) << name;
  EXPECT_EQ(must(parse_dsn("postgres://h/app?schema=%61b_2")).schema, "ab_2");
}

TEST(PostgresDsn, TellsHowItIsUsedWithoutASecret) {
  EXPECT_EQ(
      in_force(must(parse_dsn(
          "postgres://ann:s3cret@h/"
          "app?listen=0&sslmode=verify-full&pooler=transaction&target_session_attrs=primary&sslpassword=s3cret"))),
      "postgres://ann@h:5432/"
      "app?schema=fenceline&pooler=transaction&listen=0&sslmode=verify-full&target_session_attrs=primary");
  EXPECT_EQ(in_force(must(parse_dsn("postgres://ann:s3cret@h/app"))),
            "postgres://ann@h:5432/app?schema=fenceline&sslmode=prefer");
}

TEST(PostgresDsn, AnOptionIsGivenOnce) {
  for (const char* url :
       {"postgres://h/app?schema=a&schema=b", "postgres://h/app?sslmode=require&schema=a&sslmode=disable"}) {
    const Result<Dsn> dsn = parse_dsn(url);
    ASSERT_EQ(code_of(dsn), Code::invalid) << url;
    EXPECT_NE(dsn.error().message.find("more than once"), std::string::npos) << dsn.error().message;
  }
}

TEST(PostgresDsn, AloneItReadsTheEnvironment) {
  ::unsetenv("DATABASE_URL");
  EXPECT_EQ(code_of(parse_dsn("postgres:")), Code::invalid);
  ::setenv("DATABASE_URL", "mysql://ann:s3cret@h/app", 1);
  const Result<Dsn> other = parse_dsn("postgres:");
  ASSERT_EQ(code_of(other), Code::invalid);
  EXPECT_EQ(other.error().message.find("s3cret"), std::string::npos);
  ::setenv("DATABASE_URL", "postgres://ann:s3cret@h/app", 1);
  EXPECT_EQ(must(parse_dsn("postgres:")).shown, "postgres://ann@h:5432/app?schema=fenceline");
  ::unsetenv("DATABASE_URL");
}

TEST(PostgresDsn, KnowsWhichUrlsAreItsOwn) {
  EXPECT_TRUE(is_postgres_url("postgres:"));
  EXPECT_TRUE(is_postgres_url("postgresql://h/d"));
  EXPECT_FALSE(is_postgres_url("sqlite:postgres.db"));
  EXPECT_FALSE(is_postgres_url("postgres"));
}

}  // namespace
}  // namespace fenceline::postgres
