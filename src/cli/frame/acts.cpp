#include "cli/frame/acts.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "cli/frame/config.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

// What the person at the terminal types, without its end.
Result<std::string> typed_line() {
  std::string line;
  while (true) {
    if (!wait_readable(STDIN_FILENO)) return fail(Code::held, "interrupted; nothing was changed");
    char c = 0;
    const ssize_t count = ::read(STDIN_FILENO, &c, 1);
    if (count <= 0) std::fputs("\n", stderr);  // the next message starts on its own line
    if (count <= 0 || c == '\n') return line;
    line += c;
  }
}

}  // namespace

std::vector<OptionSpec> with_act_options(std::vector<OptionSpec> options) {
  options.push_back({"--reason", "TEXT", "reason, recorded for 'fenceline trail'"});
  options.push_back({"--as", "NAME", "who acts, recorded for 'fenceline trail'; default your login name"});
  return options;
}

Result<Act> act_of(const Invocation& invocation) {
  std::string who = invocation.value("--as").value_or(login_name());
  who.erase(who.find_last_not_of(" \t") + 1);
  who.erase(0, std::min(who.find_first_not_of(" \t"), who.size()));
  const Act act{std::move(who), invocation.value("--reason").value_or("")};
  if (invocation.has("--reason") && act.reason.find_first_not_of(" \t\r\n") == std::string::npos)
    return std::unexpected(usage_error("--reason is empty; say why, or leave it out"));
  if (act.actor.empty() || act.actor.size() > kNameBytesMax)
    return std::unexpected(
        usage_error("--as '" + printable(act.actor, 40) + "' is not a valid name; use 1 to 128 bytes"));
  if (act.reason.size() > kNoteBytesMax)
    return std::unexpected(usage_error("--reason is too long; use at most 1024 bytes"));
  return act;
}

std::string fresh_request(Runtime& runtime) {
  return to_string(make_uuid7(runtime.wall_now(), runtime.random(), runtime.random()));
}

Result<std::vector<JobId>> ids_of(const Invocation& invocation, Store& store) {
  std::vector<JobId> ids;
  std::set<JobId> seen;
  const auto typed = invocation.arguments.find("ID");
  if (typed == invocation.arguments.end()) return ids;
  for (const std::string& text : typed->second) {
    const Result<JobId> id = find_id(text, invocation.ns, store);
    if (!id) return std::unexpected(id.error());
    if (seen.insert(*id).second) ids.push_back(*id);
  }
  return ids;
}

Result<JobId> id_of(const Invocation& invocation, Store& store) {
  return find_id(invocation.argument("ID"), invocation.ns, store);
}

Result<int> look_at_each(Invocation& invocation,
                         const std::function<Result<void>(const Invocation&, Store&, const JobId&)>& look) {
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<JobId>> ids = ids_of(invocation, **store);
  if (!ids) return std::unexpected(ids.error());
  int status = kExitOk;
  for (const JobId& id : *ids) {
    if (id != ids->front() && !invocation.json) print("\n");
    const Result<void> looked = look(invocation, **store, id);
    if (looked) continue;
    if (ids->size() == 1 || looked.error().code != Code::not_found) return std::unexpected(looked.error());
    flush_output();
    tell("fenceline: " + error_text(looked.error()));
    status = exit_code(looked.error());
  }
  return status;
}

Result<bool> confirmed(const Invocation& invocation, const std::string& question) {
  if (invocation.has("--yes")) return true;
  if (::isatty(STDIN_FILENO) != 1)
    return std::unexpected(usage_error(question + " Standard input is not a terminal; pass --yes to confirm"));
  flush_output();
  std::fputs(("fenceline: " + question + " [y/N] ").c_str(), stderr);
  const Result<std::string> answer = typed_line();
  if (!answer) return std::unexpected(answer.error());
  if (*answer == "y" || *answer == "Y" || *answer == "yes") return true;
  tell("fenceline: nothing was changed");
  return false;
}

std::string counted(std::int64_t number, std::string_view thing) {
  return std::to_string(number) + " " + std::string(thing) + (number == 1 ? "" : "s");
}

}  // namespace fenceline::cli
