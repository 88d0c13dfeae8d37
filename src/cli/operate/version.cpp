// fenceline version: what was built from what.
#include "fenceline/version.hpp"

#include <sqlite3.h>

#include <nlohmann/json.hpp>

#include "backends/postgres/schema.hpp"
#include "backends/redis/layout.hpp"
#include "backends/sqlite/schema.hpp"
#include "cli/frame/output.hpp"
#include "cli/operate/commands.hpp"

namespace fenceline::cli {
namespace {

#ifdef __clang__
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "g++ " __VERSION__;
#endif

Result<int> run_version(Invocation& invocation) {
  if (invocation.json) {
    print_line(nlohmann::ordered_json{{"version", kVersion},
                                      {"compiler", kCompiler},
                                      {"sqlite", ::sqlite3_libversion()},
                                      {"schema", sqlite::kSchemaVersion},
                                      {"postgres_schema", postgres::kSchemaVersion},
                                      {"redis_layout", redis::kLayout}}
                   .dump());
  } else {
    print_line("fenceline " + std::string(kVersion) + " (" + kCompiler + ", SQLite " + ::sqlite3_libversion() +
               ", schema " + std::to_string(sqlite::kSchemaVersion) + "; PostgreSQL, schema " +
               std::to_string(postgres::kSchemaVersion) + "; Redis, layout " + std::string(redis::kLayout) + ")");
  }
  return kExitOk;
}

}  // namespace

CommandSpec version_command() {
  return {.name = "version",
          .summary = "Print the version of the program and its parts",
          .details = "Names the compiler, SQLite and the schema versions.",
          .examples = {{"fenceline version --json", "for a bug report"}},
          .without_config = true,
          .run = run_version};
}

}  // namespace fenceline::cli
