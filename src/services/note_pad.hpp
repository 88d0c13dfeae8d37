// What one delivery said and the store has not taken yet: the last word on progress, and the newest bytes of its log.
// Memory only, and bounded: what finds no room pushes the oldest bytes out, and its place in the log stays known, so
// that a repeat after a lost reply adds nothing. Safe from several threads.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "model/job.hpp"
#include "store/job_store.hpp"

namespace fenceline {

class NotePad {
 public:
  // Both return whether it is the first note since all before it were taken: then somebody must come for it.
  bool add(Progress progress);
  bool add(std::string_view log, std::size_t room);

  // What there is to send, at most `most` bytes of log, oldest first. It stays until `taken`.
  std::optional<Note> next(const Holding& holding, std::size_t most) const;
  // The store has this note. What was said meanwhile is still to be sent.
  void taken(const Note& note);

  // Nothing more is to be sent: what is here is forgotten, and so is what comes.
  void close();

 private:
  bool is_empty() const { return log_.empty() && !progress_; }

  mutable std::mutex mutex_;
  std::optional<Progress> progress_;
  std::string log_;
  std::int64_t log_at_ = 0;  // where `log_` begins in all that was logged
  bool closed_ = false;
};

}  // namespace fenceline
