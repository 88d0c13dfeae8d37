#include "cli/enqueue_lines.hpp"

#include <utility>

#include "cli/acts.hpp"
#include "cli/batch_id.hpp"
#include "cli/line_reader.hpp"
#include "cli/output.hpp"
#include "cli/progress_bar.hpp"
#include "cli/sender.hpp"
#include "cli/signals.hpp"
#include "cli/text.hpp"

namespace fenceline::cli {
namespace {

constexpr std::size_t kBatchLines = 1000;
constexpr std::size_t kBatchBytes = 8 << 20;  // long lines make shorter batches: memory stays constant

// `doubtful` lines behind those that went in may have gone in too.
std::string went_in(std::int64_t sent, std::int64_t doubtful, bool repeatable) {
  const auto lines = [](std::int64_t from, std::int64_t to) {
    return from == to ? "line " + std::to_string(from) : "lines " + std::to_string(from) + " to " + std::to_string(to);
  };
  const std::string known = sent == 0 ? "" : std::to_string(sent) + (sent == 1 ? " job" : " jobs") + " went in (" + lines(1, sent) + "), ";
  if (repeatable && (sent > 0 || doubtful > 0)) return known + "run it again with the same --batch: what is there is not added twice";
  if (doubtful > 0) return known + lines(sent + 1, sent + doubtful) + " may have gone in: look before you go on";
  return sent == 0 ? "nothing was enqueued" : known + "go on from line " + std::to_string(sent + 1);
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
    if (!done) {
      sender_.end_early();
      if (stop_signal() == 0)
        return fail(done.error().code, done.error().message + "; " + went_in(sender_.sent(), doubtful_, repeatable()));
      tell("fenceline: interrupted; " + went_in(sender_.sent(), doubtful_, repeatable()));
      return interrupted_exit();
    }
    sender_.end();
    if (!invocation_.json) print_line(std::to_string(sender_.sent()));
    if (sender_.existing() > 0 && !invocation_.json)
      tell("fenceline: " + std::to_string(sender_.existing()) + " of " + counted(sender_.sent(), "job") + " were there already");
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
      if (auto ok = check_payload(**line); !ok) return fail(ok.error().code, "line " + std::to_string(number) + ": " + ok.error().message);
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
      const Result<Store*> store = sender_.store();
      if (!store) return std::unexpected(store.error());
      const BatchRequest request{.ns = invocation_.ns, .name = *batch_name_};
      const Result<BatchReply> reply = sure(invocation_, [&] { return (*store)->open_batch(request); });
      if (!reply && reply.error().code == Code::refused)
        return fail(Code::conflict, "batch '" + printable(*batch_name_, 60) + "' was first used more than 24h ago and cannot be repeated; choose another name");
      if (!reply) return std::unexpected(reply.error());
      first_seen_ = reply->first_seen;
    }
    if (!batch_goes_on(*first_seen_, invocation_.runtime->wall_now())) {
      too_old_ = true;
      return fail(Code::conflict,
                  "batch '" + printable(*batch_name_, 60) + "' was first used 24h ago and ends here; give the rest another name");
    }
    std::int64_t line = sender_.sent();
    for (NewJob& job : batch_) job.id = batch_id(*first_seen_, *batch_name_, ++line);
    return {};
  }

  bool repeatable() const { return batch_name_.has_value() && !too_old_; }

  Error explained(const Error& error) const {
    if (!batch_name_ || error.code != Code::conflict) return error;
    return {error.code, "batch '" + printable(*batch_name_, 60) + "' has other lines, or is of another queue: " + one_line(error.message) + "; choose another name"};
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
