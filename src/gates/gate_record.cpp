// The text of a gate's memory, and who holds its file.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>

#include "gates/durable_file.hpp"
#include "gates/gate_memory.hpp"
#include "model/job.hpp"

namespace fenceline {
namespace {

constexpr std::string_view kFirstLine = "fenceline gate 1\n";
constexpr std::string_view kAnyVersion = "fenceline gate ";
constexpr std::size_t kTextMost = 4096;

std::string body_of(const GateRecord& record) {
  return std::string(kFirstLine) + "resource " + record.resource + "\nfence " + std::to_string(record.fence) + "\n";
}

// The rest of the line after `name`; empty if the text does not go on so.
std::optional<std::string_view> field(std::string_view& text, std::string_view name) {
  const std::size_t end = text.find('\n');
  if (!text.starts_with(name) || end == std::string_view::npos) return std::nullopt;
  const std::string_view value = text.substr(name.size(), end - name.size());
  text.remove_prefix(end + 1);
  return value;
}

std::optional<GateRecord> parsed(std::string_view text) {
  if (!text.starts_with(kFirstLine)) return std::nullopt;
  text.remove_prefix(kFirstLine.size());
  const auto resource = field(text, "resource ");
  const auto fence = resource ? field(text, "fence ") : std::nullopt;
  if (!fence) return std::nullopt;
  GateRecord record{std::string(*resource), 0};
  const auto [end, problem] = std::from_chars(fence->data(), fence->data() + fence->size(), record.fence);
  if (problem != std::errc{} || end != fence->data() + fence->size()) return std::nullopt;
  return record;
}

}  // namespace

Result<void> check_gate_resource(std::string_view resource) {
  if (resource.size() > kGateResourceBytesMax)
    return fail(Code::invalid, "the resource of a gate is too long; at most 256 bytes");
  return check_key("resource", resource);
}

Result<void> check_gate_fence(Fence fence) {
  if (fence >= 1 && fence <= kFenceMax) return {};
  return fail(Code::invalid, "fence " + std::to_string(fence) +
                                 " is not a fence; a fence is a whole number from 1 to " + std::to_string(kFenceMax));
}

std::string gate_text(const GateRecord& record) {
  const std::string body = body_of(record);
  return body + "check " + bytes_digest(body) + "\n";
}

Result<GateRecord> parse_gate(const std::string& path, std::string_view text) {
  const std::optional<GateRecord> record = parsed(text);
  if (record && text == gate_text(*record) && check_gate_resource(record->resource) && record->fence >= 0 &&
      record->fence <= kFenceMax)
    return *record;
  const bool other_version =
      text.starts_with(kAnyVersion) && !text.starts_with(kFirstLine) && text.find('\n') != std::string_view::npos;
  if (other_version)
    return fail(Code::invalid, path + " was written by another version of fenceline; use that version");
  return fail(Code::invalid, path +
                                 " is not a gate's record, or it is damaged; restore it, or remove it if no writer "
                                 "with an older fence can be alive");
}

Result<std::optional<GateRecord>> look_at_gate(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) return std::unexpected(file_error(path, "cannot be opened", errno));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return fail(Code::invalid, path + " is not a regular file; a gate keeps its record there");
  std::string text(kTextMost, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::pread(fd.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(file_error(path, "cannot be read", errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  Result<GateRecord> record = parse_gate(path, text);
  if (!record) return std::unexpected(record.error());
  return std::move(*record);
}

std::optional<pid_t> gate_holder(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const std::string inode = ":" + std::to_string(status.st_ino);
  std::ifstream locks(
      "/proc/locks");  // "1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF"; the device is not told alike everywhere
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, mode, file;
    pid_t pid = 0;
    if (words >> number >> kind >> advisory >> mode >> pid >> file && kind == "FLOCK" && pid > 0 &&
        file.ends_with(inode))
      return pid;
  }
  return std::nullopt;
}

}  // namespace fenceline
