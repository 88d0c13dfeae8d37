// What a SqliteStore says of itself: its class with reasons, and what `fenceline doctor` looks at.
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/sqlite/filesystem.hpp"
#include "backends/sqlite/lock_holders.hpp"
#include "backends/sqlite/schema.hpp"
#include "backends/sqlite/store_parts.hpp"
#include "base/utc_text.hpp"
#include "store/store_findings.hpp"

namespace fenceline {
namespace {

constexpr int kFirstSoundVersion = 3'051'003;  // 3.51.3
constexpr std::int64_t kWalBytesMost = 64 << 20;
constexpr std::int64_t kFreeBytesLeast = 256 << 20;
constexpr std::int64_t kFreeBytesNone = 4 << 20;           // a commit may not fit any more
constexpr Duration kWriteProbe = std::chrono::seconds{4};  // longer than SQLite waits for a lock that is not ours

Finding library_finding() {
  const std::string version = sqlite3_libversion();
  if (sqlite3_libversion_number() >= kFirstSoundVersion) return {"version", FindingStatus::ok, version, ""};
  return {"version", FindingStatus::ok,
          version +
              ": can corrupt a WAL when a checkpoint overlaps a commit. fenceline's never do. Do not open the "
              "file with another tool "
              "while it is in use",
          ""};
}

// What ends the transaction of that process: one that is stopped goes on by itself.
std::string ends_transaction_of(pid_t pid) {
  return (sqlite::is_stopped(pid) ? "kill -CONT " : "kill ") + std::to_string(pid);
}

// The same of a process of ours, which may only be busy.
std::string looks_at_and_ends(pid_t pid) {
  const std::string end = ends_transaction_of(pid);
  return sqlite::is_stopped(pid) ? end : look_then("ps -o pid,stat,etime,args -p " + std::to_string(pid), end);
}

Finding wal_finding(const std::string& path) {
  struct stat wal {};
  const std::int64_t bytes = ::stat((path + "-wal").c_str(), &wal) == 0 ? wal.st_size : 0;
  if (bytes < kWalBytesMost) return {"wal_size", FindingStatus::ok, in_units(bytes), ""};
  const std::string why =
      "a checkpoint cannot finish while a reader is active: the file grows, and every read takes longer";
  const std::vector<pid_t> readers = sqlite::readers_from_outside(path);
  if (readers.empty())
    return {"wal_size", FindingStatus::warning,
            in_units(bytes) + "; no reader is active now: the next writes shrink it again",
            "fuser -v " + shell_word(path), why};
  return {"wal_size", FindingStatus::warning,
          in_units(bytes) + "; " + sqlite::describe_process(readers.front()) + " reads",
          ends_transaction_of(readers.front()), why};
}

std::vector<Finding> filesystem_findings(const std::string& path) {
  const Result<sqlite::FilesystemFacts> facts = sqlite::filesystem_facts(path);
  const std::string folder = shell_word(sqlite::folder_of(path));
  if (!facts)
    return {{"filesystem", FindingStatus::bad, facts.error().message, "ls -ld " + folder,
             "nothing can be read or written"}};
  std::vector<Finding> findings;
  if (facts->shared)
    findings.push_back({"filesystem", FindingStatus::warning, *facts->shared,
                        "see docs/runbooks/store-finding.md#to-a-local-disk",
                        "its locks do not work between machines: two may write at once and corrupt the file"});
  else findings.push_back({"filesystem", FindingStatus::ok, "local", ""});
  if (facts->bytes_free >= kFreeBytesLeast)
    findings.push_back({"disk_space", FindingStatus::ok, in_units(facts->bytes_free) + " free", ""});
  else
    findings.push_back({"disk_space", facts->bytes_free < kFreeBytesNone ? FindingStatus::bad : FindingStatus::warning,
                        in_units(facts->bytes_free) + " free", "du -xh " + folder + " | sort -h | tail",
                        "when it is full, nothing can be enqueued, claimed or settled; nothing is lost"});
  return findings;
}

// An empty transaction of our own: it also meets a lock that another program holds around ours.
Finding lock_finding(const sqlite::LockFile& locks, sqlite::Writer& writer, const std::string& path) {
  const Result<void> wrote = writer.run(0, 0, kWriteProbe, [](sqlite::Call&) { return true; });
  if (wrote) return {"write_lock", FindingStatus::ok, "a write transaction succeeded", ""};
  const std::string why = "nobody can write: nothing is enqueued, claimed or settled, and leases run out";
  const std::vector<pid_t> outside = sqlite::writers_from_outside(path);
  const std::optional<pid_t> holder = outside.empty() ? locks.turn_holder() : outside.front();
  if (!holder || *holder == 0 || *holder == ::getpid())
    return {"write_lock", FindingStatus::bad, wrote.error().message, "fuser -v " + shell_word(path), why};
  return {"write_lock", FindingStatus::bad, sqlite::describe_process(*holder) + " holds the write lock",
          outside.empty() ? looks_at_and_ends(*holder) : ends_transaction_of(*holder), why};
}

Finding schema_finding(sqlite::Database& db, const std::string& path) {
  const std::int64_t version = db.number("PRAGMA user_version").value_or(0);
  const std::string why = "calls to the store fail or become slow";
  if (version != sqlite::kSchemaVersion)
    return {"schema", FindingStatus::bad, "version " + std::to_string(version), "fenceline migrate", why};
  const std::vector<sqlite::MissingPart> missing = sqlite::missing_parts(db);
  if (missing.empty()) return {"schema", FindingStatus::ok, "version " + std::to_string(version), ""};
  std::string all, statements;
  bool known = true;
  for (const sqlite::MissingPart& part : missing) {
    all += (all.empty() ? "" : ", ") + part.what;
    statements += (statements.empty() ? "" : "; ") + part.statement;
    known = known && !part.statement.empty();
  }
  if (!known) return {"schema", FindingStatus::bad, all, kRestoreSteps, why};
  const std::string file = shell_word(path);
  return {"schema", FindingStatus::bad, all,
          "fuser -k -TERM " + file + "; while fuser -s " + file + "; do sleep 1; done; sqlite3 " + file + " " +
              shell_word(statements),
          why};
}

// One whose account or bar lies ahead of the clock, as after a clock that was wrong, fires nothing until then.
void add_schedule_finding(sqlite::Call& call, std::vector<Finding>& findings) {
  auto row = call.db.query(
      "SELECT count(*), coalesce(sum(max(resolved_to, bar) > ?1), 0), max(max(resolved_to, bar)) FROM "
      "fenceline_schedule WHERE removed = 0",
      call.wall_us());
  row.next();
  const std::string all = std::to_string(row.integer(0));
  if (row.integer(1) == 0) findings.push_back({"schedules", FindingStatus::ok, all, ""});
  else
    findings.push_back({"schedules", FindingStatus::warning,
                        std::to_string(row.integer(1)) + " of " + all +
                            " are accounted for beyond the store's clock, up to " +
                            utc_text(sqlite::wall_time(row.integer(2))),
                        "fenceline schedule list", "they do not fire until the clock gets there"});
}

// What the tables say; in one snapshot.
void add_table_findings(sqlite::Call& call, const Clock& clock, const std::string& path,
                        std::vector<Finding>& findings) {
  findings.push_back(schema_finding(call.db, path));
  {
    auto rows = call.db.query("SELECT value FROM meta WHERE key = 'boot_id'");
    const std::string boot = rows.next() ? rows.text(0) : "";
    const bool same = boot == clock.boot_id();
    findings.push_back(
        {"boot_id", same ? FindingStatus::ok : FindingStatus::bad,
         same ? "the leases are of this boot of the machine" : "the leases are of another boot: " + boot,
         same ? "" : "fuser -k -TERM " + shell_word(path),
         same ? ""
              : "leases from another boot look like live ones: every process that has the store open must "
                "end; then open it again"});
  }
  const std::int64_t known =
      call.db.number("SELECT count(*) FROM meta WHERE key IN ('boot_id', 'floor', 'seq_floor', 'made_at')").value_or(0);
  const std::int64_t floor = call.db.number("SELECT value FROM meta WHERE key = 'floor'").value_or(-1);
  const bool whole = known == 4 && floor >= 0 && floor <= kFenceMax;
  findings.push_back({"meta", whole ? FindingStatus::ok : FindingStatus::bad,
                      whole ? "settings are present and in range" : "rows are missing or out of range",
                      whole ? "" : kRestoreSteps,
                      whole ? "" : "no lease can be granted, since every fence is above the floor"});
  add_schedule_finding(call, findings);
}

}  // namespace

StoreProfile SqliteStore::profile() const {
  const SqliteOptions& options = parts_->options;
  StoreProfile profile{"sqlite", "sqlite:" + parts_->given_path, GuaranteeClass::b, {}};
  if (parts_->direct) {
    profile.guarantee = GuaranteeClass::d;
    profile.reasons = {"in memory: everything is lost when the process ends"};
  } else if (options.synchronous == SqliteSync::full) {
    profile.reasons = {"synchronous=FULL: a commit is on disk before it is acknowledged",
                       "one machine: its disk is the only copy"};
  } else {
    profile.guarantee = GuaranteeClass::c;
    profile.reasons = {"synchronous=NORMAL: a power cut loses the last commits"};
  }
  return profile;
}

Result<std::vector<Finding>> SqliteStore::examine() {
  std::vector<Finding> findings;
  const SqliteOptions& options = parts_->options;
  findings.push_back(class_finding(profile(), profile(), ""));
  findings.push_back(library_finding());
  if (parts_->direct) {
    const Result<void> ran = parts_->direct->run([&](sqlite::Call& call) {
      add_table_findings(call, parts_->clock, options.path, findings);
      return true;
    });
    if (!ran) return std::unexpected(ran.error());
    findings.push_back({"durability", FindingStatus::warning, "kept in memory",
                        "export FENCELINE_STORE=sqlite:fenceline.db", "everything is lost when the process ends"});
    return findings;
  }
  if (::getpid() != parts_->pid)
    return fail(Code::refused, "the store was opened before a fork; open it again in this process");
  const bool full = options.synchronous == SqliteSync::full;
  findings.push_back({"synchronous", full ? FindingStatus::ok : FindingStatus::warning, full ? "FULL" : "NORMAL",
                      full ? "" : "start it without --accept no-sync",
                      full ? "" : "a power cut loses the last commits, though they were acknowledged"});
  findings.push_back(wal_finding(options.path));
  for (Finding& finding : filesystem_findings(options.path)) findings.push_back(std::move(finding));
  findings.push_back(lock_finding(*parts_->locks, *parts_->writer, options.path));
  if (const auto error = parts_->writer->broken())
    findings.push_back({"disk", FindingStatus::bad, error->message,
                        "df -h " + shell_word(sqlite::folder_of(options.path)),
                        "this process does not write again until it is restarted"});
  const Result<void> ran = parts_->readers->run(
      [&](sqlite::Call& call) { add_table_findings(call, parts_->clock, options.path, findings); });
  if (!ran) return std::unexpected(ran.error());
  return findings;
}

}  // namespace fenceline
