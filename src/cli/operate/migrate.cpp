// fenceline migrate: sets an empty store up, or brings an older one to this version's schema.
#include <nlohmann/json.hpp>

#include "backends/postgres/grants.hpp"
#include "cli/frame/output.hpp"
#include "cli/operate/commands.hpp"

namespace fenceline::cli {
namespace {

// No confirmation: the script is printed, and a person can read it first.
Result<int> print_grants(const Invocation& invocation, const std::string& role) {
  if (!postgres::is_postgres_url(invocation.store_url))
    return std::unexpected(usage_error("--grants-for works only with PostgreSQL; a file has owners and modes"));
  const Result<postgres::Dsn> dsn = postgres::parse_dsn(invocation.store_url);
  if (!dsn) return std::unexpected(usage_error(dsn.error().message));
  const Result<std::string> script = postgres::grants_for(*dsn, role);
  if (!script) return std::unexpected(usage_error("--grants-for: " + script.error().message));
  if (invocation.json)
    print_line(nlohmann::ordered_json{{"script", *script}}.dump(-1, ' ', false,
                                                                nlohmann::ordered_json::error_handler_t::replace));
  else print_line(script->substr(0, script->size() - 1));
  return kExitOk;
}

Result<int> run_migrate(Invocation& invocation) {
  if (const auto role = invocation.value("--grants-for")) return print_grants(invocation, *role);
  auto store = invocation.open_store(false, true);
  const bool set_up = !store && store.error().code == Code::not_found;
  if (set_up) store = invocation.open_store(true, true);
  if (!store) return std::unexpected(store.error());
  const StoreProfile profile = (*store)->profile();
  const std::string guarantee(1, letter(profile.guarantee));
  if (invocation.json)
    print_line(
        nlohmann::ordered_json{{"store", profile.url}, {"kind", profile.kind}, {"class", guarantee}, {"set_up", set_up}}
            .dump());
  else
    print_line(profile.url + (set_up ? " was empty and is set up now" : " is up to date") + " (class " + guarantee +
               ")");
  return kExitOk;
}

}  // namespace

CommandSpec migrate_command() {
  return {.name = "migrate",
          .summary = "Set up an empty store, or upgrade an older one",
          .details = "Running it again changes nothing.",
          .options = {{"--grants-for", "ROLE",
                       "change nothing: print the SQL that grants a PostgreSQL role what a worker needs"}},
          .examples = {{"fenceline migrate --store sqlite:/var/lib/app/fenceline.db",
                        "create the store before anything uses it"},
                       {"fenceline migrate --grants-for app | psql app_db",
                        "then grant access to a role that does not own it"}},
          .run = run_migrate};
}

}  // namespace fenceline::cli
