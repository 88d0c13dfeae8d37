#include "cli/frame/terminal_log.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "cli/frame/config.hpp"
#include "cli/frame/job_ids.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/stderr_log.hpp"

namespace fenceline::cli {
namespace {

constexpr int kLineMost = 80;  // columns; a narrower terminal wraps the line
constexpr Duration kLongFor = std::chrono::seconds{2};
constexpr Duration kLiveEvery = std::chrono::seconds{1};
constexpr const char* kForcedEnd = "\r\x1b[J";  // takes the last line away

int stderr_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kLineMost;
}

// In one piece: others share the terminal.
void write_to_terminal(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void WorkCounts::count(const LogEvent& event, WallTime now) {
  if (!field_text(event, "entry_of").empty()) return;  // the check of an entry condition is not a job
  if (event.name == "execution_started") {
    running_[field_text(event, "job")] = {.queue = field_text(event, "queue"), .since = now};
  } else if (event.name == "execution_ended") {
    running_.erase(field_text(event, "job"));
  } else if (event.name == "lease_lost") {
    if (field_text(event, "why") != "revoked") lost_ += 1;  // an operator's act is not a loss
  } else if (event.name == "stale_write_refused") {
    refused_ += 1;
  } else if (event.name == "job_dead") {
    dead_ += 1;
  } else if (event.name == "jobs_buried") {
    dead_ += field_number(event, "jobs").value_or(0);
  } else if (event.name == "job_settled") {
    const std::string outcome = field_text(event, "outcome");
    const bool moved = !field_text(event, "moved_to").empty();
    if (outcome == "done") (moved ? moved_ : done_) += 1;
    if (outcome == "failed" || outcome == "dead") failed_ += 1;
    if (outcome == "later") later_ += 1;
  }
}

std::vector<WorkCounts::Started> WorkCounts::newly_long(WallTime now) {
  std::vector<Started> found;
  for (auto& [job, running] : running_) {
    if (running.told || now - running.since < kLongFor) continue;
    running.told = true;
    const std::optional<JobId> id = parse_uuid(job);
    found.push_back({{.subject = running.queue + " " + (id ? short_id(*id) : job), .what = "started"}, running.since});
  }
  std::ranges::sort(found, {}, &Started::at);
  return found;
}

std::string WorkCounts::text() const {
  std::string text = std::to_string(running_.size()) + " running, " + std::to_string(done_) + " done";
  const auto add = [&](std::int64_t number, std::string_view what) {
    if (number > 0) text += ", " + std::to_string(number) + " " + std::string(what);
  };
  add(moved_, "moved on");
  add(failed_, "failed");
  add(dead_, "dead");
  add(later_, "postponed");
  add(lost_, "leases lost");
  add(refused_, "late writes refused");
  return text;
}

TerminalLog::TerminalLog(const Clock& clock, Level least) : clock_(clock), least_(least), colour_(colour_allowed()) {}

void TerminalLog::write(const LogEvent& event) {
  const WallTime now = clock_.wall_now();
  const int width = stderr_width();
  const std::optional<EventLine> line = least_ == Level::debug ? std::nullopt : line_of(event);
  std::string text;
  if (event.level >= least_ && line && !line->hidden) text = render_line(*line, now, kLineMost, colour_) + "\n";
  else if (event.level >= least_ && !line) text = format_log_text(event, now) + "\n";
  const std::lock_guard lock(mutex_);
  counts_.count(event, now);
  if (live_) write_to_terminal(line_.above(text, width) + line_.show(counts_.text(), width));
  else write_to_terminal(text);
}

void TerminalLog::pass_on(std::string_view lines) {
  const int width = stderr_width();
  const std::lock_guard lock(mutex_);
  if (live_) write_to_terminal(line_.above(lines, width));
  else write_to_terminal(lines);
}

Task TerminalLog::keep_live_line(Runtime& runtime) {
  if (from_environment("TERM").value_or("dumb") == "dumb" || least_ > Level::info) return {};
  {
    const std::lock_guard lock(mutex_);
    live_ = true;
  }
  write_at_forced_end(kForcedEnd);
  return runtime.spawn("live_line", [this, &runtime](std::stop_token stop) {
    do redraw(false);
    while (runtime.sleep_for(kLiveEvery, stop));
    redraw(true);
    write_at_forced_end(nullptr);
  });
}

void TerminalLog::redraw(bool over) {
  const WallTime now = clock_.wall_now();
  const int width = stderr_width();
  const std::lock_guard lock(mutex_);
  std::string bytes;
  for (const WorkCounts::Started& one : counts_.newly_long(now))
    bytes += line_.above(render_line(one.line, one.at, kLineMost, colour_) + "\n", width);
  bytes += line_.show(over ? "" : counts_.text(), width);
  if (over) live_ = false;
  write_to_terminal(bytes);
}

}  // namespace fenceline::cli
