// fenceline backup and restore: a copy of a SQLite store that is in use, and a store made of such a copy.
#include "backends/sqlite/backup.hpp"

#include <algorithm>
#include <filesystem>

#include "backends/postgres/dsn.hpp"
#include "cli/frame/acts.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "cli/locks/gates.hpp"
#include "cli/operate/commands.hpp"
#include "gates/gate_memory.hpp"
#include "session/open_store.hpp"
#include "store/store_findings.hpp"

namespace fenceline::cli {
namespace {

constexpr std::string_view kScheme = "sqlite:";
constexpr Duration kQuietFor = std::chrono::seconds{2};
constexpr Duration kGateAheadMost = std::chrono::hours{24};

// Whoever waits at a terminal is told how far it is, from two seconds on.
class Progress {
 public:
  explicit Progress(Runtime& runtime) : runtime_(runtime), next_(runtime.now() + kQuietFor) {}

  void operator()(const std::string& step, int percent) {
    if (!stderr_is_terminal() || runtime_.now() < next_) return;
    next_ = runtime_.now() + kQuietFor;
    tell("fenceline: " + step + (percent > 0 ? " " + std::to_string(percent) + "%" : ""));
  }

 private:
  Runtime& runtime_;
  Instant next_;
};

// A server has its own programs for this, which know more than we do. Errors: usage.
Result<SqliteOptions> sqlite_options(const Invocation& invocation, const std::string& command) {
  const std::string& url = invocation.store_url;
  if (postgres::is_postgres_url(url)) {
    const Result<postgres::Dsn> dsn = postgres::parse_dsn(url);
    return std::unexpected(
        usage_error("'" + command + "' is for SQLite; on PostgreSQL use " +
                    (command == "backup" ? "pg_dump --format=custom --schema=" : "pg_restore --schema=") +
                    (dsn ? dsn->schema : "fenceline") + ", see docs/backup.md"));
  }
  if (is_on_a_server(url))
    return std::unexpected(usage_error("'" + command + "' is for SQLite; on Redis use " +
                                       (command == "backup" ? "redis-cli --rdb FILE" : "the server's own files") +
                                       ", see docs/backup.md"));
  if (auto ok = check_store_url(url); !ok) return std::unexpected(usage_error(ok.error().message));
  return SqliteOptions{
      .path = url.substr(kScheme.size()), .accept_shared_fs = invocation.accepts("shared-fs"), .actor = login_name()};
}

Result<int> run_backup(Invocation& invocation) {
  const Result<SqliteOptions> options = sqlite_options(invocation, "backup");
  if (!options) return std::unexpected(options.error());
  Progress progress(*invocation.runtime);
  const Result<sqlite::BackupReply> made = sqlite::back_up(*invocation.runtime, *invocation.runtime, *options,
                                                           {.file = invocation.argument("FILE"),
                                                            .replace = invocation.has("--replace"),
                                                            .stop = invocation.stop,
                                                            .progress = std::ref(progress)});
  if (!made) return std::unexpected(made.error());
  if (invocation.json)
    print_line(Json{{"file", made->file}, {"bytes", made->bytes}, {"taken_at", format_time(made->taken_at)}}.dump());
  else print_line("backed up to " + printable(made->file) + " (" + in_units(made->bytes) + ")");
  return kExitOk;
}

// The largest fence that a gate of this store, or of a file that was named, let through. One that cannot be read is an
// error: what it remembers is not known. One far ahead of the clock was fed a wrong fence, and is only named.
Result<Fence> largest_at_gates(const Invocation& invocation) {
  std::vector<std::string> paths;
  if (const auto files = invocation.options.find("--gated"); files != invocation.options.end()) {
    for (const std::string& file : files->second) {
      paths.push_back(GatedFile::memory_path(file));
      if (const auto there = look_at_gate(paths.back()); there && !*there)
        return fail(Code::not_found, "no gate at " + paths.back() + "; name a file that 'gate put' writes");
    }
  }
  std::error_code trouble;
  if (!invocation.gates.empty() && std::filesystem::exists(invocation.gates, trouble)) {
    std::filesystem::recursive_directory_iterator entries(invocation.gates, trouble);
    for (; !trouble && entries != std::filesystem::recursive_directory_iterator(); entries.increment(trouble)) {
      if (entries->path().string().ends_with(".gate")) paths.push_back(entries->path().string());
    }
    if (trouble)
      return fail(Code::broken, invocation.gates + " cannot be read: " + trouble.message() +
                                    "; check the folder and its permissions");
  }
  const Fence most = (invocation.runtime->wall_now() + kGateAheadMost).time_since_epoch().count();
  Fence largest = 0;
  for (const std::string& path : paths) {
    const Result<std::optional<GateRecord>> record = look_at_gate(path);
    if (!record) return std::unexpected(record.error());
    if (!*record) continue;
    if ((*record)->fence <= most) largest = std::max(largest, (*record)->fence);
    else
      tell("fenceline: the gate " + printable(path) + " remembers a fence more than a day ahead of the clock (" +
           std::to_string((*record)->fence) + "); if it refuses every write, remove it");
  }
  return largest;
}

Result<int> run_restore(Invocation& invocation) {
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  Result<SqliteOptions> options = sqlite_options(invocation, "restore");
  if (!options) return std::unexpected(options.error());
  options->actor = act->actor;
  const Result<Fence> above = largest_at_gates(invocation);
  if (!above) return std::unexpected(above.error());
  const std::string file = invocation.argument("FILE");
  const Result<bool> sure = confirmed(invocation, "Replace the store " + printable(options->path) + " by " +
                                                      printable(file) + "? Changes since that backup are lost.");
  if (!sure) return std::unexpected(sure.error());
  if (!*sure) return kExitFound;
  Progress progress(*invocation.runtime);
  const Result<sqlite::RestoreReply> done = sqlite::restore(
      *invocation.runtime, *invocation.runtime, *options,
      {.file = file, .above = *above, .reason = act->reason, .stop = invocation.stop, .progress = std::ref(progress)});
  if (!done) return std::unexpected(done.error());
  if (!done->knew_old_fences)
    tell(
        "fenceline: the old store cannot be read, so its newest fence is unknown; the clock was used instead. If the "
        "clock was set back since, run 'fenceline gate rebase'");
  if (invocation.json) {
    Json json{{"store", "sqlite:" + done->store},
              {"taken_at", nullptr},
              {"kept", nullptr},
              {"leases_ended", done->leases_ended},
              {"floor", done->floor}};
    if (done->taken_at) json["taken_at"] = format_time(*done->taken_at);
    if (!done->kept.empty()) json["kept"] = done->kept;
    print_line(json.dump());
    return kExitOk;
  }
  print_line("restored sqlite:" + printable(done->store) +
             (done->taken_at ? " as it was at " + format_time(*done->taken_at) : "") + "; " +
             counted(done->leases_ended, "lease") + " ended, every new fence is above " + std::to_string(done->floor));
  if (!done->kept.empty()) print_line("the old store is kept as " + printable(done->kept));
  return kExitOk;
}

}  // namespace

CommandSpec backup_command() {
  return {
      .name = "backup",
      .summary = "Copy a SQLite store into a file while workers run",
      .arguments = {{"FILE", "file of the backup; its folder must exist", true}},
      .options = {{"--replace", "", "replace FILE if it exists; otherwise that is refused"}},
      .sections = {{"What it does",
                    {{"consistent", "the copy contains what was committed when it began; writers do not wait for it"},
                     {"FILE", "is checked and synced to disk before it gets its name; it is one file, without a log"},
                     {"PostgreSQL, Redis", "have their own tools for this, see docs/backup.md"}}}},
      .examples = {{"fenceline backup /backups/fenceline-monday.db", "copy the store as it is now"},
                   {"fenceline backup --replace /backups/latest.db", "every night, to the same file"}},
      .run = run_backup};
}

CommandSpec restore_command() {
  return {.name = "restore",
          .summary = "Replace a SQLite store by a backup",
          .details = "No process may have the store open.",
          .arguments = {{"FILE", "a file that 'fenceline backup' made", true}},
          .options = with_act_options({{"--yes", "", "do not ask for confirmation"},
                                       {.name = "--gated",
                                        .value = "FILE",
                                        .help = "a file that 'gate put' writes: raise fences above its gate, too",
                                        .repeated = true},
                                       gates_option()}),
          .sections = {{"What it does",
                        {{"the old store", "is kept beside the new one; its name is printed"},
                         {"leases", "are ended: jobs that were running can be claimed at once"},
                         {"fences",
                          "granted before are refused; new fences are larger than those of the backup, the old store, "
                          "its gates and the clock"},
                         {"work since the backup", "is lost: jobs that finished since then run again"}}}},
          .examples = {{"fenceline restore /backups/fenceline-monday.db --reason 'the disk failed'",
                        "after all workers were stopped"}},
          .run = run_restore};
}

}  // namespace fenceline::cli
