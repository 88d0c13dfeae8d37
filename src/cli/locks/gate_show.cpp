// fenceline gate show and gate rebase: what gates remember, and a store that was set back brought above it.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "cli/frame/acts.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/table.hpp"
#include "cli/frame/text.hpp"
#include "cli/locks/commands.hpp"
#include "cli/locks/gates.hpp"

namespace fenceline::cli {
namespace {

constexpr std::string_view kEnding = ".gate";

struct ShownGate {
  GateRecord record;
  std::string path;
  WallTime raised_at{};
  std::optional<pid_t> holder;
};

WallTime changed_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return WallTime(std::chrono::duration_cast<Duration>(std::chrono::seconds{status.st_mtim.tv_sec} +
                                                       std::chrono::nanoseconds{status.st_mtim.tv_nsec}));
}

// Those in the folder of this namespace, by name, then those of files that it has links to. Errors: broken.
Result<std::vector<std::string>> all_paths(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code trouble;
  if (!std::filesystem::exists(folder, trouble)) return paths;
  const std::vector<std::string> of_files = linked_gates(folder);
  std::filesystem::directory_iterator entries(folder, trouble);
  for (; !trouble && entries != std::filesystem::directory_iterator(); entries.increment(trouble)) {
    const std::string path = entries->path().string();
    if (path.ends_with(kEnding)) paths.push_back(path);
  }
  if (trouble)
    return fail(Code::broken,
                folder + " cannot be read: " + trouble.message() + "; check the folder and its permissions");
  std::ranges::sort(paths);
  paths.insert(paths.end(), of_files.begin(), of_files.end());
  return paths;
}

// What was named by RESOURCE and --file; all of the folder if nothing was.
Result<std::vector<std::string>> asked_for(const Invocation& invocation) {
  std::vector<std::string> paths;
  if (const auto files = invocation.options.find("--file"); files != invocation.options.end()) {
    for (const std::string& file : files->second) paths.push_back(GatedFile::memory_path(file));
  }
  const bool by_name = !invocation.argument("RESOURCE").empty();
  if (!by_name && !paths.empty()) return paths;
  const Result<std::string> folder = gate_folder(invocation);
  if (!folder) return std::unexpected(folder.error());
  if (!by_name) return all_paths(*folder);
  const Result<std::string> resource = gate_resource(invocation);
  if (!resource) return std::unexpected(resource.error());
  paths.insert(paths.begin(), gate_path(*folder, *resource));
  return paths;
}

// One that is not there or cannot be read is an error: what it remembers is not known, and none of it is passed over.
Result<std::vector<ShownGate>> gates(const Invocation& invocation) {
  const Result<std::vector<std::string>> paths = asked_for(invocation);
  if (!paths) return std::unexpected(paths.error());
  std::vector<ShownGate> shown;
  for (const std::string& path : *paths) {
    const Result<std::optional<GateRecord>> record = look_at_gate(path);
    if (!record) return std::unexpected(record.error());
    if (!*record)
      return fail(Code::not_found,
                  "no gate at " + path + "; 'fenceline gate show' lists the gates of " + invocation.gates);
    shown.push_back({**record, path, changed_at(path), gate_holder(path)});
  }
  return shown;
}

Result<int> run_gate_show(Invocation& invocation) {
  const Result<std::vector<ShownGate>> shown = gates(invocation);
  if (!shown) return std::unexpected(shown.error());
  if (invocation.json) {
    Json list = Json::array();
    for (const ShownGate& gate : *shown) {
      Json one{{"resource", gate.record.resource},
               {"fence", nullptr},
               {"raised_at", format_time(gate.raised_at)},
               {"held_by", nullptr},
               {"path", gate.path}};
      if (gate.record.fence != 0) one["fence"] = gate.record.fence;
      if (gate.holder) one["held_by"] = *gate.holder;
      list.push_back(std::move(one));
    }
    print_line(Json{{"gates", list}}.dump());
    return kExitOk;
  }
  Table table{{{.name = "resource", .whole = true},
               {.name = "fence", .right = true, .whole = true},
               {.name = "raised_at"},
               {.name = "held_by"},
               {.name = "path", .wide_only = true}},
              {}};
  for (const ShownGate& gate : *shown) {
    const std::string at =
        stdout_is_terminal() ? short_time(gate.raised_at, invocation.runtime->wall_now()) : format_time(gate.raised_at);
    table.rows.push_back({gate.record.resource, gate.record.fence == 0 ? "" : std::to_string(gate.record.fence), at,
                          gate.holder ? std::to_string(*gate.holder) : "", gate.path});
  }
  print_list(table, "no gates in " + invocation.gates);
  return kExitOk;
}

Result<int> run_gate_rebase(Invocation& invocation) {
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const Result<std::vector<ShownGate>> asked = gates(invocation);
  if (!asked) return std::unexpected(asked.error());
  const auto worst = std::ranges::max_element(*asked, {}, [](const ShownGate& gate) { return gate.record.fence; });
  const Fence largest = worst == asked->end() ? 0 : worst->record.fence;
  if (largest == 0)
    return fail(Code::not_found,
                "no gate has a fence in " + invocation.gates + "; name the folder with --gates, or a file with --file");
  const RaiseFloorRequest request{.ns = invocation.ns, .floor = largest, .act = *act};
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<Fence> floor = store->until_known(invocation.stop, [&] { return (*store)->raise_floor(request); });
  // The store is fine: a gate is not.
  if (!floor && floor.error().code == Code::refused)
    return fail(Code::conflict, floor.error().message + "; the gate of " + worst->record.resource +
                                    " was given a wrong fence: stop the processes that write through it, and remove " +
                                    worst->path);
  if (!floor) return std::unexpected(floor.error());
  if (invocation.json) print_line(Json{{"gates", asked->size()}, {"remembered", largest}, {"floor", *floor}}.dump());
  else
    print_line("every new fence is above " + std::to_string(*floor) +
               (*floor > largest
                    ? "; that was already so, and the largest fence of the gates is " + std::to_string(largest)
                    : ""));
  return kExitOk;
}

}  // namespace

CommandSpec gate_show_command() {
  return {.name = "gate show",
          .summary = "Show what gates remember: the largest fence, and when",
          .details = "Also shows which process holds a gate now.",
          .arguments = {{"RESOURCE", "only this gate; default all gates of the folder", false}},
          .options = {{.name = "--file",
                       .value = "FILE",
                       .help = "gate of this file, as 'gate put' keeps it",
                       .repeated = true},
                      gates_option()},
          .examples = {{"fenceline gate show", "all gates of the folder"},
                       {"fenceline gate show --file report.csv", "gate of a file"}},
          .run = run_gate_show};
}

CommandSpec gate_rebase_command() {
  return {
      .name = "gate rebase",
      .summary = "Raise the store's fences above all gates, after a restore",
      .arguments = {{"RESOURCE", "only this gate; default all gates of the folder", false}},
      .options = with_act_options(
          {{.name = "--file", .value = "FILE", .help = "gate of this file, as 'gate put' keeps it", .repeated = true},
           gates_option()}),
      .sections =
          {{"What it does",
            {{"the store's floor",
              "every new grant, in all namespaces, has a larger fence; the floor is never lowered"},
             {"current leases", "keep their fence and stay behind; 'job retry' gets a job a new one"},
             {"more than a day ahead",
              "of the store's clock and above every fence it granted: refused; such a gate was given a wrong fence"}}}},
      .examples = {{"fenceline gate rebase --reason 'restored the backup of Monday'",
                    "after a gate answered 'behind'"}},
      .run = run_gate_rebase};
}

}  // namespace fenceline::cli
