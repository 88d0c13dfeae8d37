// fenceline migrate: sets an empty store up, or brings an older one to this version's schema.
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/output.hpp"

namespace fenceline::cli {
namespace {

Result<int> run(Invocation& invocation) {
  const auto store = invocation.open_store(true, true);
  if (!store) return std::unexpected(store.error());
  const StoreProfile profile = (*store)->profile();
  const std::string guarantee(1, letter(profile.guarantee));
  if (invocation.json) print_line(nlohmann::ordered_json{{"store", profile.url}, {"kind", profile.kind}, {"class", guarantee}}.dump());
  else print_line(profile.url + " is up to date (class " + guarantee + ")");
  return kExitOk;
}

}  // namespace

CommandSpec migrate_command() {
  return {.name = "migrate",
          .summary = "Sets an empty store up, or brings an older one up to date. Repeating it does nothing.",
          .examples = {{"fenceline migrate --store sqlite:/var/lib/app/fenceline.db", "make the store before anything uses it"}},
          .run = run};
}

}  // namespace fenceline::cli
