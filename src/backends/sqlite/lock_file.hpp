// The writers' turn, over all processes of one store: `<file>-lock`.
//
// A lock of one word is unfair (who releases it takes it again at once), so there are two: a turnstile (byte 1) that
// one waiter holds while it waits for the lock itself (byte 0). Byte 2 is held shared by everyone who has the store
// open. All are OFD locks, so the kernel frees them when their process dies. They show no pid, so the holder writes
// its own into the file.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.hpp"

namespace fenceline::sqlite {

class LockFile {
 public:
  // Makes the file if it is missing. Errors: not_found (the folder is missing), refused, full.
  static Result<std::unique_ptr<LockFile>> open(const std::string& path);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // Waits for the turn, however long it takes; false if `stop` was requested first. One thread at a time may call it.
  // Errors: broken.
  Result<bool> take_turn(std::stop_token stop);
  void end_turn();

  // Who has the turn now, this process included. 0: someone whose pid is not known. May be called from any thread.
  std::optional<pid_t> turn_holder() const;

  // Byte 2. None of them waits; false: someone else is in the way.
  bool share_presence();
  bool own_presence();
  void leave_presence();

 private:
  LockFile(std::string path, int file) : path_(std::move(path)), file_(file) {}
  Result<bool> wait_for(off_t byte, std::stop_token stop);

  std::string path_;
  int file_;
};

}  // namespace fenceline::sqlite
