#include "backends/postgres/grants.hpp"

#include <gtest/gtest.h>

#include "support/results.hpp"

namespace fenceline::postgres {
namespace {

using test::code_of;
using test::must;

TEST(PostgresGrants, NameTheSchemaOfTheUrlAndTheRole) {
  const std::string script = must(grants_for(must(parse_dsn("postgres://h/app?schema=work")), "app"));
  EXPECT_NE(script.find("grant usage on schema \"work\" to \"app\";"), std::string::npos) << script;
  EXPECT_NE(script.find("revoke update, delete on \"work\".trail from \"app\";"), std::string::npos) << script;
}

TEST(PostgresGrants, ANameIsOneWordOfTheScriptWhateverStandsInIt) {
  const Dsn dsn = must(parse_dsn("postgres://h/app"));
  const std::string script = must(grants_for(dsn, "a\"; drop 'x"));
  EXPECT_NE(script.find("to \"a\"\"; drop 'x\";"), std::string::npos) << script;
  EXPECT_NE(script.find("'a\"; drop ''x';"), std::string::npos) << script;
  for (const char* role : {"", "a\nb", "a\\b"}) EXPECT_EQ(code_of(grants_for(dsn, role)), Code::invalid);
  EXPECT_EQ(code_of(grants_for(dsn, std::string(64, 'x'))), Code::invalid);
}

}  // namespace
}  // namespace fenceline::postgres
