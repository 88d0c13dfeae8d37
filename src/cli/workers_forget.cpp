// fenceline workers forget: removes what a worker that died left in the registry. No lease depends on it.
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/duration_text.hpp"
#include "cli/acts.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"
#include "cli/workers.hpp"
#include "runtime/host.hpp"

namespace fenceline::cli {
namespace {

Result<std::vector<std::string>> gone_owners(const Invocation& invocation, const std::vector<WorkerRow>& rows) {
  std::vector<std::string> owners;
  const auto typed = invocation.arguments.find("OWNER");
  for (const WorkerRow& row : rows) {
    if (typed == invocation.arguments.end()) {
      if (is_gone(row)) owners.push_back(row.report.owner);
      continue;
    }
    if (std::ranges::find(typed->second, row.report.owner) == typed->second.end()) continue;
    if (!is_gone(row))
      return fail(Code::conflict, "worker " + printable(row.report.owner, 60) + " was seen " + format_duration(std::chrono::floor<std::chrono::seconds>(row.unseen)) +
                                      " ago, within its ttl: it is not gone; 'fenceline workers stop' ends it");
    owners.push_back(row.report.owner);
  }
  // One that is not known is as asked for already: a repeat is ok, and a mistake in typing is told.
  if (typed != invocation.arguments.end()) {
    for (const std::string& owner : typed->second) {
      if (std::ranges::find(owners, owner) == owners.end()) tell("fenceline: no worker " + printable(owner, 60) + " is known; nothing to forget");
    }
  }
  return owners;
}

Result<int> run(Invocation& invocation) {
  if (invocation.has("--gone") == invocation.arguments.contains("OWNER")) return std::unexpected(usage_error("name workers, or give --gone; 'fenceline workers list' names them"));
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<WorkerRow>> rows = (*store)->workers(invocation.ns);
  if (!rows) return std::unexpected(rows.error());
  const Result<std::vector<std::string>> owners = gone_owners(invocation, *rows);
  if (!owners) return std::unexpected(owners.error());
  for (const std::string& owner : *owners) {
    if (const Result<void> ok = sure(invocation, [&] { return (*store)->remove_worker(invocation.ns, owner); }); !ok) return std::unexpected(ok.error());
    if (!invocation.json) print_line(owner);
  }
  if (invocation.json) print_line(nlohmann::ordered_json{{"owners", *owners}}.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return kExitOk;
}

}  // namespace

std::optional<bool> lives_here(const WorkerReport& report) {
  if (report.pid <= 0 || report.host.empty() || report.host != host_name()) return std::nullopt;
  return ::kill(static_cast<pid_t>(report.pid), 0) == 0 || errno == EPERM;
}

CommandSpec workers_forget_command() {
  return {.name = "workers forget",
          .summary = "Removes workers that are gone from the list, instead of a day later. Their leases run out by themselves, whatever the list says.",
          .arguments = {{"OWNER", "as 'fenceline workers list' names them", false, true}},
          .options = {{"--gone", "", "all workers of the namespace that are gone"}},
          .sections = {{"Exit status", {{"0", "they are not on the list, now or before"}, {"65", "one of them was seen within its ttl: nothing is removed"}}}},
          .examples = {{"fenceline workers forget --gone", "who died is dead, and 'doctor' need not say so any more"}},
          .run = run};
}

}  // namespace fenceline::cli
