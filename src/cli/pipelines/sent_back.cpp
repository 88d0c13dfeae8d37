#include "cli/pipelines/sent_back.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/uuid.hpp"
#include "base/valid_text.hpp"
#include "cli/frame/command.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/text.hpp"
#include "tracker/marker.hpp"

namespace fenceline::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "FENCELINE_SENT_BACK";
constexpr const char* kStages = "FENCELINE_SENT_BACK_TO";  // with blanks between them
constexpr std::size_t kReasonBytesMax = 2000;

std::string file_of(const std::string& folder, const std::string& job, const std::string& delivery) {
  return folder + "/" + job + "." + delivery;
}

std::string read_all(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A cleaner of temporary files may have removed the folder while the worker ran: then it is made again, since the
// worker looks for a file in it, not for the folder that it made.
bool is_there_for_us_alone(const std::string& folder) {
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return false;
  struct stat about {};
  return ::lstat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() &&
         (about.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

}  // namespace

Result<std::unique_ptr<SentBackFolder>> SentBackFolder::make(const std::vector<std::string>& stages) {
  std::error_code failed;
  std::string path = (fs::temp_directory_path(failed) / "fenceline-XXXXXX").string();
  if (failed || ::mkdtemp(path.data()) == nullptr)
    return fail(Code::unavailable, "cannot create a folder for temporary files; check TMPDIR");
  std::unique_ptr<SentBackFolder> folder(new SentBackFolder(path));
  ::setenv(kFolder, path.c_str(), 1);
  ::setenv(kStages, joined(stages, " ").c_str(), 1);
  return folder;
}

SentBackFolder::~SentBackFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::optional<tracker::SentBack> SentBackFolder::take(const Job& job) {
  const std::string path = file_of(path_, to_string(job.id), std::to_string(job.deliveries));
  std::error_code failed;
  if (!fs::exists(path, failed) || failed) return std::nullopt;
  const std::string text = read_all(path);
  fs::remove(path, failed);
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return std::nullopt;
  return tracker::SentBack{.to = text.substr(0, end),
                           .reason = as_text(one_line(text.substr(end + 1)), kReasonBytesMax)};
}

Result<void> ask_to_be_sent_back(const std::string& to, const std::string& reason) {
  const std::optional<std::string> folder = from_environment(kFolder);
  const std::optional<std::string> job = from_environment("FENCELINE_JOB");
  const std::optional<std::string> delivery = from_environment("FENCELINE_DELIVERY");
  if (!folder || !job || !delivery || !parse_uuid(*job) ||
      delivery->find_first_not_of("0123456789") != std::string::npos)
    return std::unexpected(
        usage_error("this command cannot send its item back; keep FENCELINE_JOB, FENCELINE_DELIVERY and "
                    "FENCELINE_SENT_BACK as 'fenceline work' sets them"));
  if (from_environment("FENCELINE_STAGE").value_or("").starts_with(tracker::kEntryPrefix))
    return fail(Code::conflict, "a check decides by its exit status: 0 lets the item in, 65 sends it back");
  std::istringstream stages(from_environment(kStages).value_or(""));
  std::string known;
  bool found = false;
  for (std::string stage; stages >> stage;) {
    found = found || stage == to;
    known += (known.empty() ? "" : ", ") + stage;
  }
  if (!found)
    return fail(Code::conflict, "an item can be sent back from here to " +
                                    (known.empty() ? "no stage: this is the first" : known + " only") +
                                    "; to move it to the next stage, exit with 0");
  if (!is_there_for_us_alone(*folder))
    return fail(Code::unavailable, "the worker's folder " + printable(*folder) +
                                       " cannot be made, or belongs to another user: the item is not sent back");
  const std::string path = file_of(*folder, *job, *delivery);
  std::ofstream out(path + ".new", std::ios::binary);
  out << to << '\n' << reason.substr(0, kReasonBytesMax);
  out.close();
  std::error_code failed;
  if (out) fs::rename(path + ".new", path, failed);
  if (!out || failed) return fail(Code::unavailable, "cannot write to the worker's folder: the item was not sent back");
  return {};
}

}  // namespace fenceline::cli
