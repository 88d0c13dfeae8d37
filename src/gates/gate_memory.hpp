// What a gate remembers: the largest fence that it ever let through, in one small file.
//
//   fenceline gate 1
//   resource reports
//   fence 1794776406123456
//   check 5d1c0e7f3a2b4c6d
//
// Whoever writes behind the gate holds the file's lock from the comparison to the end of the write. The file is
// replaced, never changed, so the lock moves with it: a new one is locked before it takes the name. Whoever got the
// lock of a file that no longer has the name knows nothing, and tries again. A file that is torn or somebody else's is
// refused by name: a memory that cannot be read is never taken for one that remembers nothing.
#pragma once

#include <sys/types.h>

#include <optional>
#include <stop_token>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/fence.hpp"
#include "runtime/runtime.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline {

inline constexpr std::size_t kGateResourceBytesMax = 256;

struct GateRecord {
  std::string resource;
  Fence fence = 0;  // 0: none was let through yet

  bool operator==(const GateRecord&) const = default;
};

// 1 to 256 bytes of valid UTF-8 without control characters. Errors: invalid.
Result<void> check_gate_resource(std::string_view resource);

// 1 to kFenceMax. Errors: invalid.
Result<void> check_gate_fence(Fence fence);

// Both pure. Errors of reading: invalid, naming `path`.
std::string gate_text(const GateRecord& record);
Result<GateRecord> parse_gate(const std::string& path, std::string_view text);

// As it is now, without the lock; empty if there is no such file. Errors: invalid, broken.
Result<std::optional<GateRecord>> look_at_gate(const std::string& path);

// Which process took the lock, if this system says so. It may have ended since and left the lock to its child.
std::optional<pid_t> gate_holder(const std::string& path);

struct GateAt {
  std::string path;      // of the memory
  std::string resource;  // one that is there must be of this
  bool make_folder = false;
};

// The gate, held. Given free when it goes away.
class GateMemory {
 public:
  // Waits for one who holds it, at most `wait`; a gate that is not there is made. Errors: held (that took longer, or a
  // stop was asked for), invalid (no memory of a gate), conflict (of another resource), not_found (no such folder),
  // full, broken.
  static Result<GateMemory> lock(Runtime& runtime, const GateAt& at, Duration wait, std::stop_token stop = {});

  Fence remembered() const { return record_.fence; }

  // Remembers a larger fence. It is on the disk when this returns; after an error but broken nothing changed.
  Result<void> raise(Fence fence);

  // For a child that shall go on holding the gate if this process dies: it inherits it.
  int descriptor() const { return fd_.get(); }

  // Gives it free at once, for all who inherited it too.
  void release();

 private:
  GateMemory(std::string path, GateRecord record, UniqueFd fd)
      : path_(std::move(path)), record_(std::move(record)), fd_(std::move(fd)) {}
  // Empty: somebody else is there.
  static Result<std::optional<GateMemory>> try_lock(const GateAt& at);
  static Result<std::optional<GateMemory>> try_make(const GateAt& at);

  std::string path_;
  GateRecord record_;
  UniqueFd fd_;
};

}  // namespace fenceline
