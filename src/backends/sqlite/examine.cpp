// What a SqliteStore says of itself: its class with reasons, and what `fenceline doctor` looks at.
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "backends/sqlite/filesystem.hpp"
#include "backends/sqlite/schema.hpp"
#include "backends/sqlite/store_parts.hpp"
#include "base/utc_text.hpp"

namespace fenceline {
namespace {

constexpr int kFirstSoundVersion = 3'051'003;  // 3.51.3
constexpr std::int64_t kWalBytesMost = 64 << 20;
constexpr std::int64_t kFreeBytesLeast = 256 << 20;
constexpr std::int64_t kFreeBytesNone = 4 << 20;  // a commit may not fit any more
constexpr Duration kWriteProbe = std::chrono::seconds{4};  // longer than SQLite waits for a lock that is not ours

std::string in_mebibytes(std::int64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text.data();
}

Finding library_finding() {
  const std::string version = sqlite3_libversion();
  if (sqlite3_libversion_number() >= kFirstSoundVersion) return {"sqlite_version", FindingStatus::ok, version, ""};
  return {"sqlite_version", FindingStatus::ok,
          version +
              ": can corrupt a WAL when a checkpoint meets a commit; guarded against: ours never overlap. Open the file with no other tool "
              "while it is in use",
          ""};
}

Finding wal_finding(const std::string& path) {
  struct stat wal {};
  const std::int64_t bytes = ::stat((path + "-wal").c_str(), &wal) == 0 ? wal.st_size : 0;
  if (bytes < kWalBytesMost) return {"wal_size", FindingStatus::ok, in_mebibytes(bytes), ""};
  return {"wal_size", FindingStatus::warning, in_mebibytes(bytes) + ": a reader from outside keeps checkpoints from ending",
          "lsof " + path};
}

std::vector<Finding> filesystem_findings(const std::string& path) {
  const Result<sqlite::FilesystemFacts> facts = sqlite::filesystem_facts(path);
  if (!facts) return {{"filesystem", FindingStatus::bad, facts.error().message, "ls -ld " + sqlite::folder_of(path)}};
  std::vector<Finding> findings;
  if (facts->shared)
    findings.push_back({"filesystem", FindingStatus::warning, *facts->shared + ": its locks do not hold between machines",
                        "move the store to a local disk"});
  else findings.push_back({"filesystem", FindingStatus::ok, "local", ""});
  const bool enough = facts->bytes_free >= kFreeBytesLeast;
  const FindingStatus low = facts->bytes_free < kFreeBytesNone ? FindingStatus::bad : FindingStatus::warning;
  findings.push_back({"disk_space", enough ? FindingStatus::ok : low, in_mebibytes(facts->bytes_free) + " free",
                      enough ? "" : "df -h " + sqlite::folder_of(path)});
  return findings;
}

// An empty transaction of our own: it also meets a lock that another program holds around ours.
Finding lock_finding(const sqlite::LockFile& locks, sqlite::Writer& writer, const std::string& path) {
  const Result<void> wrote = writer.run(0, 0, kWriteProbe, [](sqlite::Call&) { return true; });
  if (wrote) return {"write_lock", FindingStatus::ok, "a write transaction went through", ""};
  const std::optional<pid_t> holder = locks.turn_holder();
  const std::string text = sqlite::describe_holder(holder);
  if (text.find("is stopped") != std::string::npos)
    return {"write_lock", FindingStatus::bad, text + ": nobody can write", "kill -CONT " + std::to_string(*holder)};
  return {"write_lock", FindingStatus::bad, wrote.error().message, "fuser " + path};
}

// One whose account or bar lies ahead of the clock, as after a clock that was wrong, fires nothing until then.
void add_schedule_finding(sqlite::Call& call, std::vector<Finding>& findings) {
  auto row = call.db.query("SELECT count(*), coalesce(sum(max(resolved_to, bar) > ?1), 0), max(max(resolved_to, bar)) FROM fenceline_schedule WHERE removed = 0", call.wall_us());
  row.next();
  const std::string all = std::to_string(row.integer(0));
  if (row.integer(1) == 0) findings.push_back({"schedules", FindingStatus::ok, all, ""});
  else
    findings.push_back({"schedules", FindingStatus::warning,
                        std::to_string(row.integer(1)) + " of " + all + " are accounted for beyond the store's clock, up to " + utc_text(sqlite::wall_time(row.integer(2))), "fenceline schedule list"});
}

// What the tables say; in one snapshot.
void add_table_findings(sqlite::Call& call, const Clock& clock, std::vector<Finding>& findings) {
  const std::int64_t version = call.db.number("PRAGMA user_version").value_or(0);
  findings.push_back({"schema", version == sqlite::kSchemaVersion ? FindingStatus::ok : FindingStatus::bad,
                      "version " + std::to_string(version), version == sqlite::kSchemaVersion ? "" : "fenceline migrate"});
  {
    auto rows = call.db.query("SELECT value FROM meta WHERE key = 'boot_id'");
    const std::string boot = rows.next() ? rows.text(0) : "";
    const bool same = boot == clock.boot_id();
    findings.push_back({"boot_id", same ? FindingStatus::ok : FindingStatus::bad, same ? "the leases are of this boot of the machine" : "the leases are of another boot: " + boot,
                        same ? "" : "end every process that has the store open, then start again"});
  }
  const std::int64_t known =
      call.db.number("SELECT count(*) FROM meta WHERE key IN ('boot_id', 'floor', 'seq_floor', 'made_at')").value_or(0);
  const std::int64_t floor = call.db.number("SELECT value FROM meta WHERE key = 'floor'").value_or(-1);
  const bool whole = known == 4 && floor >= 0 && floor <= kFenceMax;
  findings.push_back({"meta", whole ? FindingStatus::ok : FindingStatus::bad,
                      whole ? "settings are there and in range" : "rows are missing or out of range",
                      whole ? "" : "restore a backup"});
  add_schedule_finding(call, findings);
}

}  // namespace

StoreProfile SqliteStore::profile() const {
  const SqliteOptions& options = parts_->options;
  StoreProfile profile{"sqlite", "sqlite:" + parts_->given_path, GuaranteeClass::b, {}};
  if (parts_->direct) {
    profile.guarantee = GuaranteeClass::d;
    profile.reasons = {"in memory: everything is gone with the process"};
  } else if (options.synchronous == SqliteSync::full) {
    profile.reasons = {"synchronous=FULL: a commit is on disk before it is acknowledged", "one machine: its disk is the only copy"};
  } else {
    profile.guarantee = GuaranteeClass::c;
    profile.reasons = {"synchronous=NORMAL: a power cut takes the last commits"};
  }
  return profile;
}

Result<std::vector<Finding>> SqliteStore::examine() {
  std::vector<Finding> findings;
  const SqliteOptions& options = parts_->options;
  findings.push_back(library_finding());
  if (parts_->direct) {
    const Result<void> ran = parts_->direct->run([&](sqlite::Call& call) {
      add_table_findings(call, parts_->clock, findings);
      return true;
    });
    if (!ran) return std::unexpected(ran.error());
    findings.push_back(
        {"durability", FindingStatus::warning, "kept in memory: everything is gone with the process", "--store sqlite:fenceline.db"});
    return findings;
  }
  if (::getpid() != parts_->pid) return fail(Code::refused, "the store was opened before a fork; open it again in this process");
  const bool full = options.synchronous == SqliteSync::full;
  findings.push_back({"synchronous", full ? FindingStatus::ok : FindingStatus::warning,
                      full ? "FULL" : "NORMAL: a power cut takes the last commits", full ? "" : "open the store without --accept no-sync"});
  findings.push_back(wal_finding(options.path));
  for (Finding& finding : filesystem_findings(options.path)) findings.push_back(std::move(finding));
  findings.push_back(lock_finding(*parts_->locks, *parts_->writer, options.path));
  if (const auto error = parts_->writer->broken())
    findings.push_back({"disk", FindingStatus::bad, error->message, "look at the disk, then start again"});
  const Result<void> ran = parts_->readers->run([&](sqlite::Call& call) { add_table_findings(call, parts_->clock, findings); });
  if (!ran) return std::unexpected(ran.error());
  return findings;
}

}  // namespace fenceline
