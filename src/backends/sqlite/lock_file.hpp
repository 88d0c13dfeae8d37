// The writers' turn, over all processes of one store: `<file>-lock`.
//
// A lock of one word is unfair: who releases it takes it again at once, and of a crowd that waits any one may be next,
// so that one of two hundred can wait for ever. So there is a stair. The lock itself is byte 0; the steps are bytes 1
// to 4, and who stands on one waits for the next one down: they are served in turn. At the foot of the stair (step 4)
// the crowd pushes; who has waited long passes it by and goes to a lower step at once, in the end to the lock itself,
// and so waits among fewer and older ones. Nobody who stands on a step and is stopped there keeps the others waiting
// for more than some seconds.
//
// Byte 5 is held shared by everyone who has the store open. All are OFD locks, so the kernel frees them when their
// process dies. They show no pid, so whoever has one writes its own into the file.
//
// The file also remembers that a store was made here: a database that is empty or missing beside it was lost, and must
// not be made anew as if there had never been one.
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
  // The turn, if nobody has it and nobody waits for it.
  bool try_turn();
  void end_turn();

  // Who has the turn now, this process included. 0: someone whose pid is not known. May be called from any thread.
  std::optional<pid_t> turn_holder() const;

  // Byte 5. None of them waits; false: someone else is in the way.
  bool share_presence();
  bool own_presence();
  void leave_presence();

  // Whether a store was set up beside it, and that it was.
  bool remembers_store() const;
  void remember_store();

 private:
  LockFile(std::string path, int file) : path_(std::move(path)), file_(file) {}
  enum class Waited { got, stopped, grown_old };
  // Counts ticks on `age`, and gives up at the age `old_at`; 0: never.
  Result<Waited> wait_for(off_t byte, int old_at, int& age, std::stop_token stop);
  Result<bool> come_down(std::stop_token stop);
  void write_pid(off_t step) const;

  std::string path_;
  int file_;
};

}  // namespace fenceline::sqlite
