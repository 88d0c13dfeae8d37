#include "services/note_pad.hpp"

#include <algorithm>
#include <utility>

namespace fenceline {

bool NotePad::add(Progress progress) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  const bool first = is_empty();
  progress_ = std::move(progress);
  return first;
}

bool NotePad::add(std::string_view log, std::size_t room) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  const bool first = is_empty();
  log_.append(log);
  if (log_.size() > room) {
    const std::size_t dropped = log_.size() - room;
    log_.erase(0, dropped);
    log_at_ += static_cast<std::int64_t>(dropped);
  }
  return first && !log_.empty();
}

std::optional<Note> NotePad::next(const Holding& holding, std::size_t most) const {
  const std::lock_guard lock(mutex_);
  if (is_empty()) return std::nullopt;
  return Note{
      .id = holding.id, .fence = holding.fence, .progress = progress_, .log = log_.substr(0, most), .log_at = log_at_};
}

void NotePad::taken(const Note& note) {
  const std::lock_guard lock(mutex_);
  if (note.progress && note.progress == progress_) progress_.reset();
  const std::int64_t end = note.log_at + static_cast<std::int64_t>(note.log.size());
  const std::int64_t done = std::clamp(end - log_at_, std::int64_t{0}, static_cast<std::int64_t>(log_.size()));
  log_.erase(0, static_cast<std::size_t>(done));
  log_at_ += done;
}

void NotePad::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  progress_.reset();
  log_at_ += static_cast<std::int64_t>(log_.size());
  log_.clear();
}

}  // namespace fenceline
