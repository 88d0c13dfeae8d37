#include "backends/sqlite/backup.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "backends/sqlite/copy_pages.hpp"
#include "backends/sqlite/filesystem.hpp"
#include "backends/sqlite/opening.hpp"
#include "gates/durable_file.hpp"

namespace fenceline::sqlite {
namespace {

constexpr mode_t kRights = 0777;

// Its own for each run: two that make the same backup at once do not meet before one of them is refused.
std::string partial_path(Runtime& runtime, const std::string& file) {
  return file + ".partial-" + std::to_string(runtime.random() % 1'000'000'000);
}

Result<void> check_target(const std::string& file, const std::string& store, bool replace) {
  for (const char* part : {"", "-wal", "-shm", "-lock", "-wake"}) {
    if (file == store + part) return fail(Code::invalid, file + " belongs to the store itself; name another file");
  }
  if (auto ok = check_replaceable(file); !ok) return ok;
  std::error_code unknown;
  if (!replace && std::filesystem::exists(file, unknown))
    return fail(Code::conflict, file + " is there already; name another file, or replace it with --replace");
  return {};
}

// What the store is at this moment, into `to`.
Result<void> take(Clock& clock, const SqliteOptions& options, const std::string& to, const BackupRequest& request,
                  BackupReply& reply) {
  const std::unique_ptr<Database> from = open_reader(options);
  from->execute("BEGIN");
  from->execute("SELECT value FROM meta WHERE key = 'floor'");  // takes the snapshot
  reply.taken_at = clock.wall_now();
  const std::unique_ptr<Database> copy = open_copy(to);
  if (auto ok = copy_pages(*from, *copy, request.progress, request.stop); !ok) return ok;
  from->execute("COMMIT");
  if (auto ok = finish_copy(*copy, "store " + options.path, request.progress, request.stop); !ok) return ok;
  copy->execute("INSERT OR REPLACE INTO meta VALUES ('backup_at', ?1)",
                static_cast<std::int64_t>(reply.taken_at.time_since_epoch().count()));
  return {};
}

}  // namespace

Result<BackupReply> back_up(Runtime& runtime, Clock& clock, const SqliteOptions& wanted, const BackupRequest& request) {
  SqliteOptions options = wanted;
  options.may_create = false;
  const Result<std::string> store = canonical_path(options.path);
  if (!store) return std::unexpected(store.error());
  options.path = *store;
  const Result<std::string> file = canonical_path(request.file);
  if (!file) return std::unexpected(file.error());
  if (auto ok = check_target(*file, options.path, request.replace); !ok) return std::unexpected(ok.error());
  // Open as everyone has it: what another version or another boot must not touch is refused here, too.
  const Result<OpenedFile> opened = open_file(runtime, clock, options);
  if (!opened) return std::unexpected(opened.error());

  BackupReply reply{.file = *file};
  const std::string partial = partial_path(runtime, *file);
  Result<StagedFile> staged = StagedFile::begin(*file, partial);
  if (!staged) return std::unexpected(staged.error());
  struct stat status {};
  // As few may read it as the store: it holds the same.
  if (::stat(options.path.c_str(), &status) == 0) ::fchmod(staged->descriptor(), status.st_mode & kRights);
  try {
    if (auto ok = take(clock, options, partial, request, reply); !ok) return std::unexpected(ok.error());
  } catch (const SqliteFailure& failure) {
    remove_copy_files(partial);
    return std::unexpected(failure.error(*file));
  }
  if (auto ok = staged->sync(); !ok) return std::unexpected(ok.error());
  if (::fstat(staged->descriptor(), &status) == 0) reply.bytes = status.st_size;
  if (auto ok = request.replace ? staged->take_place() : staged->take_free_place(); !ok)
    return std::unexpected(ok.error());
  if (auto ok = sync_folder(fenceline::folder_of(*file)); !ok) return std::unexpected(ok.error());
  return reply;
}

}  // namespace fenceline::sqlite
