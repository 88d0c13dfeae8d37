#include "cli/jobs/enqueue_lines.hpp"

#include <utility>

#include "cli/frame/acts.hpp"
#include "cli/frame/line_reader.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/progress_bar.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "cli/jobs/batch_id.hpp"
#include "cli/jobs/sender.hpp"

namespace fenceline::cli {
namespace {

constexpr std::size_t kBatchLines = 1000;
constexpr std::size_t kBatchBytes = 8 << 20;  // long lines make shorter batches: memory stays constant

// How far a file came that did not go in whole.
struct Stand {
  std::int64_t sent = 0;      // lines whose jobs are in the store
  std::int64_t existing = 0;  // of those: were there before
  std::int64_t doubtful = 0;  // lines behind those that may have gone in too
};

std::string lines(std::int64_t from, std::int64_t to) {
  return from == to ? "line " + std::to_string(from) : "lines " + std::to_string(from) + " to " + std::to_string(to);
}

std::string went_in(const Stand& stand) {
  if (stand.sent == 0) return "nothing was enqueued";
  const std::string range = " (" + lines(1, stand.sent) + ")";
  if (stand.existing == 0) return counted(stand.sent, "job") + " enqueued" + range;
  return counted(stand.sent - stand.existing, "new job") + " enqueued and " + std::to_string(stand.existing) +
         " already existed" + range;
}

std::string what_to_do(const Stand& stand, bool repeatable) {
  const std::string known = stand.sent == 0 ? "" : went_in(stand) + ", ";
  if (repeatable && (stand.sent > 0 || stand.doubtful > 0))
    return known + "run it again with the same --batch: no line is added twice";
  if (stand.doubtful > 0)
    return known + lines(stand.sent + 1, stand.sent + stand.doubtful) +
           " may have been enqueued: check before you continue";
  return stand.sent == 0 ? went_in(stand) : known + "continue from line " + std::to_string(stand.sent + 1);
}

// A file of payloads, one a line. A batch goes in whole or not at all, so a bad line costs its batch.
class Lines {
 public:
  Lines(Invocation& invocation, NewJob pattern)
      : invocation_(invocation),
        pattern_(std::move(pattern)),
        batch_name_(invocation.value("--batch")),
        sender_(invocation),
        progress_(*invocation.runtime, "jobs enqueued") {}

  Result<int> enqueue(const std::string& path) {
    Result<InputFile> file = InputFile::open(path);
    if (!file) return std::unexpected(file.error());
    const Result<void> done = send_all(*file);
    progress_.end();
    sender_.write_metrics();
    if (!done) {
      sender_.end_early();
      const Stand stand{sender_.sent(), sender_.existing(), doubtful_};
      // Under a name that is taken a repeat would end the same way.
      const bool taken = repeatable() && done.error().code == Code::conflict;
      const std::string rest = taken ? went_in(stand) : what_to_do(stand, repeatable());
      if (stop_signal() == 0) return fail(done.error().code, done.error().message + "; " + rest);
      tell("fenceline: interrupted; " + rest);
      return interrupted_exit();
    }
    sender_.end();
    if (!invocation_.json) print_line(std::to_string(sender_.sent()));
    if (sender_.existing() > 0 && !invocation_.json)
      tell("fenceline: " + std::to_string(sender_.existing()) + " of " + counted(sender_.sent(), "job") +
           " already existed");
    return kExitOk;
  }

 private:
  Result<void> send_all(InputFile& file) {
    LineReader reader(file, kPayloadBytesMax);
    for (std::int64_t number = 1;; ++number) {
      Result<std::optional<std::string>> line = reader.next();
      if (!line) return std::unexpected(line.error());
      if (!*line) return flush(file);
      **line = without_byte_order_mark(std::move(**line));
      if ((*line)->empty())
        return fail(Code::invalid, "line " + std::to_string(number) + " is empty; write null, or remove the line");
      if (auto ok = check_payload(**line); !ok)
        return fail(ok.error().code, "line " + std::to_string(number) + ": " + ok.error().message);
      bytes_ += (*line)->size();
      NewJob& job = batch_.emplace_back(pattern_);
      if (!batch_name_) job.id = sender_.new_id();
      job.payload = std::move(**line);
      if (batch_.size() < kBatchLines && bytes_ < kBatchBytes) continue;
      if (auto ok = flush(file); !ok) return ok;
    }
  }

  Result<void> flush(const InputFile& file) {
    if (batch_.empty()) return {};
    if (invocation_.stop.stop_requested()) return fail(Code::held, "interrupted");
    if (auto ok = number_batch(); !ok) return ok;
    const auto size = static_cast<std::int64_t>(batch_.size());
    if (auto ok = sender_.send(std::exchange(batch_, {})); !ok) {
      if (ok.error().code == Code::in_doubt || ok.error().code == Code::broken) doubtful_ = size;
      return std::unexpected(explained(ok.error()));
    }
    bytes_ = 0;
    progress_.show(sender_.sent(), file.part_read());
    return {};
  }

  // The ids of a named batch come from the moment at which the store first saw its name.
  Result<void> number_batch() {
    if (!batch_name_) return {};
    if (!first_seen_) {
      const Result<Session*> session = sender_.session();
      if (!session) return std::unexpected(session.error());
      const BatchRequest request{.ns = invocation_.ns, .name = *batch_name_};
      const Result<BatchReply> reply =
          (*session)->until_known(invocation_.stop, [&] { return (**session)->open_batch(request); });
      if (!reply && reply.error().code == Code::refused)
        return fail(Code::conflict, "batch '" + printable(*batch_name_, 60) +
                                        "' was first used more than 24h ago and cannot be repeated; use another name");
      if (!reply) return std::unexpected(reply.error());
      first_seen_ = reply->first_seen;
    }
    if (!batch_goes_on(*first_seen_, invocation_.runtime->wall_now())) {
      too_old_ = true;
      return fail(Code::conflict, "batch '" + printable(*batch_name_, 60) +
                                      "' was first used 24h ago and has expired; enqueue the rest under another name");
    }
    std::int64_t line = sender_.sent();
    for (NewJob& job : batch_) job.id = batch_id(*first_seen_, *batch_name_, ++line);
    return {};
  }

  bool repeatable() const { return batch_name_.has_value() && !too_old_; }

  Error explained(const Error& error) const {
    if (!batch_name_ || error.code != Code::conflict) return error;
    return {error.code, "batch '" + printable(*batch_name_, 60) + "' was used for other lines or another queue: " +
                            one_line(error.message) + "; use another name"};
  }

  Invocation& invocation_;
  const NewJob pattern_;
  const std::optional<std::string> batch_name_;
  std::optional<WallTime> first_seen_;
  Sender sender_;
  ProgressBar progress_;
  std::vector<NewJob> batch_;
  std::size_t bytes_ = 0;
  std::int64_t doubtful_ = 0;
  bool too_old_ = false;  // the batch cannot be repeated any more
};

}  // namespace

Result<int> enqueue_lines(Invocation& invocation, const NewJob& pattern, const std::string& path) {
  return Lines(invocation, pattern).enqueue(path);
}

}  // namespace fenceline::cli
