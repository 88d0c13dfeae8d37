// fenceline workers quiet, workers stop and workers resume: what an operator wants of workers that run somewhere.
#include <nlohmann/json.hpp>

#include "cli/frame/acts.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "cli/operate/commands.hpp"
#include "doctor/state.hpp"

namespace fenceline::cli {
namespace {

Result<std::vector<std::string>> owners_of(const Invocation& invocation, Store& store) {
  if (const auto typed = invocation.arguments.find("OWNER"); typed != invocation.arguments.end()) return typed->second;
  const Result<std::vector<WorkerRow>> rows = store.workers(invocation.ns);
  if (!rows) return std::unexpected(rows.error());
  std::vector<std::string> owners;
  std::int64_t gone = 0;
  for (const WorkerRow& row : *rows) {
    if (is_gone(row)) gone += 1;
    else owners.push_back(row.report.owner);
  }
  // Skipping dead workers silently would look as if they had obeyed.
  if (gone > 0)
    tell("fenceline: " + counted(gone, "worker") +
         " skipped: not seen for longer than a lease; see 'fenceline workers list'");
  if (owners.empty()) tell("fenceline: no worker of namespace " + invocation.ns + " is alive; nothing was changed");
  return owners;
}

Error with_name(const Error& error, const std::string& owner) {
  if (error.code == Code::not_found)
    return {error.code, "no worker '" + printable(owner, 60) + "' is known; 'fenceline workers list' lists them"};
  if (error.code == Code::refused)
    return {Code::conflict, "worker " + printable(owner, 60) + " was told to stop and is exiting; start another one"};
  return error;
}

Result<int> order(Invocation& invocation, WorkerOrder wanted) {
  if (invocation.has("--all") == invocation.arguments.contains("OWNER"))
    return std::unexpected(usage_error("name workers, or pass --all; 'fenceline workers list' lists them"));
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<std::string>> owners = owners_of(invocation, **store);
  if (!owners) return std::unexpected(owners.error());
  nlohmann::ordered_json told = nlohmann::ordered_json::array();
  int status = kExitOk;
  for (const std::string& owner : *owners) {
    const OrderRequest request{.ns = invocation.ns, .owner = owner, .order = wanted, .act = *act};
    if (const Result<void> ok = store->until_known(invocation.stop, [&] { return (*store)->order_worker(request); });
        !ok) {
      if (invocation.has("--all") && (ok.error().code == Code::not_found || ok.error().code == Code::refused))
        continue;  // it ended, or will
      tell("fenceline: " + error_text(with_name(ok.error(), owner)));
      if (status == kExitOk) status = exit_code(with_name(ok.error(), owner));
      continue;
    }
    told.push_back(owner);
    if (!invocation.json) print_line(owner);
  }
  if (invocation.json) print_line(nlohmann::ordered_json{{"owners", told}, {"order", to_string(wanted)}}.dump());
  return status;
}

CommandSpec order_command(std::string name, std::string summary, std::string details, std::vector<ExampleSpec> examples,
                          WorkerOrder wanted) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .details = std::move(details),
          .arguments = {{"OWNER", "workers, as 'fenceline workers list' shows them", false, true}},
          .options = with_act_options({{"--all", "", "all workers of the namespace that are not gone"}}),
          .examples = std::move(examples),
          .run = [wanted](Invocation& invocation) { return order(invocation, wanted); }};
}

}  // namespace

CommandSpec workers_quiet_command() {
  return order_command("workers quiet", "Tell workers to claim no more jobs",
                       "They finish the jobs they have and stay until resumed.",
                       {{"fenceline workers quiet --all --reason 'upgrade'", "before a change"}}, WorkerOrder::quiet);
}

CommandSpec workers_stop_command() {
  return order_command("workers stop", "Stop workers gracefully, as SIGTERM does",
                       "They finish the jobs they have, within their drain timeout, and exit.",
                       {{"fenceline workers stop $OWNER", "stop a worker on another machine"}}, WorkerOrder::stop);
}

CommandSpec workers_resume_command() {
  return order_command("workers resume", "Let quiet workers claim jobs again", "",
                       {{"fenceline workers resume --all", "after a change"}}, WorkerOrder::work);
}

}  // namespace fenceline::cli
