// fenceline workers forget: removes what a worker that died left in the registry. No lease depends on it.
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "backends/sqlite/lock_holders.hpp"
#include "base/duration_text.hpp"
#include "cli/frame/acts.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "cli/operate/commands.hpp"
#include "cli/operate/workers.hpp"
#include "runtime/actor.hpp"
#include "runtime/host.hpp"

namespace fenceline::cli {
namespace {

// By more than the clocks that say so may differ.
bool is_younger(pid_t pid, Duration age) {
  const std::optional<Duration> own = process_age(pid);
  return own && *own + std::chrono::seconds{2} < age;
}

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
      return fail(Code::conflict, "worker " + printable(row.report.owner, 60) + " was seen " +
                                      format_duration(std::chrono::floor<std::chrono::seconds>(row.unseen)) +
                                      " ago, within its ttl: it is not gone; 'fenceline workers stop' stops it");
    owners.push_back(row.report.owner);
  }
  // One that is not known is as asked for already: a repeat is ok, and a mistake in typing is told.
  if (typed != invocation.arguments.end()) {
    for (const std::string& owner : typed->second) {
      if (std::ranges::find(owners, owner) == owners.end())
        tell("fenceline: no worker " + printable(owner, 60) + " is known; there is nothing to forget");
    }
  }
  return owners;
}

Result<int> run_workers_forget(Invocation& invocation) {
  if (invocation.has("--gone") == invocation.arguments.contains("OWNER"))
    return std::unexpected(usage_error("name workers, or pass --gone; 'fenceline workers list' lists them"));
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<WorkerRow>> rows = (*store)->workers(invocation.ns);
  if (!rows) return std::unexpected(rows.error());
  const Result<std::vector<std::string>> owners = gone_owners(invocation, *rows);
  if (!owners) return std::unexpected(owners.error());
  for (const std::string& owner : *owners) {
    if (const Result<void> ok =
            store->until_known(invocation.stop, [&] { return (*store)->remove_worker(invocation.ns, owner); });
        !ok)
      return std::unexpected(ok.error());
    if (!invocation.json) print_line(owner);
  }
  if (invocation.json)
    print_line(nlohmann::ordered_json{{"owners", *owners}}.dump(-1, ' ', false,
                                                                nlohmann::ordered_json::error_handler_t::replace));
  return kExitOk;
}

}  // namespace

std::optional<bool> lives_here(const WorkerRow& row) {
  const WorkerReport& report = row.report;
  if (report.pid <= 0 || report.host.empty() || report.host != host_name()) return std::nullopt;
  const pid_t pid = static_cast<pid_t>(report.pid);
  if (::kill(pid, 0) != 0 && errno != EPERM) return false;
  return !is_younger(pid, row.unseen);  // one that began after the worker was last seen has only its number
}

bool stopped_here(const std::string& host, std::int64_t pid, Duration age) {
  return host == host_name() && sqlite::is_stopped(static_cast<pid_t>(pid)) &&
         !is_younger(static_cast<pid_t>(pid), age);
}

CommandSpec workers_forget_command() {
  return {.name = "workers forget",
          .summary = "Remove workers that are gone from the list",
          .details = "Otherwise the list drops them after a day. Their leases expire on time either way.",
          .arguments = {{"OWNER", "workers, as 'fenceline workers list' shows them", false, true}},
          .options = {{"--gone", "", "all workers of the namespace that are gone"}},
          .sections = {{"Exit status",
                        {{"0", "they are not on the list now"},
                         {"65", "one of them was seen within its ttl: nothing was removed"}}}},
          .examples = {{"fenceline workers forget --gone", "drop dead workers from the list and from 'doctor'"}},
          .run = run_workers_forget};
}

}  // namespace fenceline::cli
