#include "cli/acts.hpp"

#include <unistd.h>

#include <cstdio>
#include <set>

#include "cli/config.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include "cli/text.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds{200};

Result<JobId> parse_id(const std::string& text) {
  const std::optional<JobId> id = parse_uuid(text);
  if (id) return *id;
  return fail(Code::invalid, "'" + printable(text, 40) + "' is no job id; use one that enqueue or jobs printed, 36 characters");
}

// What the person at the terminal types, without its end.
Result<std::string> typed_line() {
  std::string line;
  while (true) {
    if (!wait_readable(STDIN_FILENO)) return fail(Code::held, "interrupted, nothing was changed; run it again when you are sure");
    char c = 0;
    const ssize_t count = ::read(STDIN_FILENO, &c, 1);
    if (count <= 0 || c == '\n') return line;
    line += c;
  }
}

}  // namespace

std::vector<OptionSpec> with_act_options(std::vector<OptionSpec> options) {
  options.push_back({"--reason", "TEXT", "why, for 'fenceline trail'"});
  options.push_back({"--as", "NAME", "who does it, for 'fenceline trail'; default your login name"});
  return options;
}

Result<Act> act_of(const Invocation& invocation) {
  const Act act{invocation.value("--as").value_or(login_name()), invocation.value("--reason").value_or("")};
  if (act.actor.empty() || act.actor.size() > kNameBytesMax)
    return std::unexpected(usage_error("--as '" + printable(act.actor, 40) + "' is not possible; give a name of 1 to 128 bytes"));
  if (act.reason.size() > kNoteBytesMax) return std::unexpected(usage_error("--reason is too long; at most 1024 bytes"));
  return act;
}

std::string fresh_request(Runtime& runtime) { return to_string(make_uuid7(runtime.wall_now(), runtime.random(), runtime.random())); }

Result<std::vector<JobId>> ids_of(const Invocation& invocation) {
  std::vector<JobId> ids;
  std::set<JobId> seen;
  const auto typed = invocation.arguments.find("ID");
  if (typed == invocation.arguments.end()) return ids;
  for (const std::string& text : typed->second) {
    const Result<JobId> id = parse_id(text);
    if (!id) return std::unexpected(id.error());
    if (seen.insert(*id).second) ids.push_back(*id);
  }
  return ids;
}

Result<JobId> id_of(const Invocation& invocation) { return parse_id(invocation.argument("ID")); }

Error no_such_job(const JobId& id, const std::string& ns) {
  return {Code::not_found, "no job " + to_string(id) + " in namespace " + ns + "; 'fenceline jobs' lists them"};
}

Result<bool> confirmed(const Invocation& invocation, const std::string& question) {
  if (invocation.has("--yes")) return true;
  if (::isatty(STDIN_FILENO) != 1) return std::unexpected(usage_error(question + " Nobody can be asked here; give --yes if that is meant"));
  flush_output();
  std::fputs(("fenceline: " + question + " [y/N] ").c_str(), stderr);
  const Result<std::string> answer = typed_line();
  if (!answer) return std::unexpected(answer.error());
  if (*answer == "y" || *answer == "Y" || *answer == "yes") return true;
  tell("fenceline: nothing was changed");
  return false;
}

Duration pause_before_repeat(int nth) { return nth == 0 ? Duration{0} : kFirstPause * (1 << (nth - 1)); }

std::string counted(std::int64_t number, std::string_view thing) {
  return std::to_string(number) + " " + std::string(thing) + (number == 1 ? "" : "s");
}

}  // namespace fenceline::cli
