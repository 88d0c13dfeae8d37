#include "backends/postgres/grants.hpp"

#include <algorithm>

#include "backends/postgres/schema_parts.hpp"

namespace fenceline::postgres {
namespace {

constexpr std::size_t kNameMost = 63;

}  // namespace

Result<std::string> grants_for(const Dsn& dsn, const std::string& role) {
  const bool printable = std::all_of(
      role.begin(), role.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && c != '\\'; });
  if (role.empty() || role.size() > kNameMost || !printable)
    return fail(Code::invalid, "a role's name has 1 to 63 bytes, all of them printable");
  const std::string to = " to " + quoted(role) + ";\n";
  const std::string from = " from " + quoted(role) + ";\n";
  const std::string schema = quoted(dsn.schema);
  return "-- For a role that enqueues and works: run it as the owner of the schema, after `fenceline migrate` and "
         "again after each upgrade.\n"
         "begin;\n"
         "do $$ declare app text := " +
         quoted(role, '\'') +
         "; begin\n"
         "  if has_database_privilege(app, current_database(), 'connect') then return; end if;\n"
         "  execute format('grant connect on database %I to %I', current_database(), app);\n"
         "  if not has_database_privilege(app, current_database(), 'connect') then\n"
         "    raise exception '% may not connect to database %, and only its owner can let it: grant connect on "
         "database % to %', app, current_database(), current_database(), app;\n"
         "  end if;\n"
         "end $$;\n"
         "grant usage on schema " +
         schema + to + "grant select, insert, update, delete on all tables in schema " + schema + to +
         "grant usage, select on all sequences in schema " + schema + to + "grant execute on all functions in schema " +
         schema + to +
         "-- Which schema it is, is the owner's to say; what stands in the trail stays there.\n"
         "revoke insert, update, delete on " +
         schema + ".meta" + from + "revoke update, delete on " + schema + ".trail" + from + "commit;\n";
}

}  // namespace fenceline::postgres
