// fenceline enqueue: one job, or a file of payloads in batches. Ids are made here, before the store is asked, so
// that an answer that got lost is repeated and adds nothing (J1). Input is checked before a store is opened:
// what is wrong does not even create one.
#include <cstdio>
#include <utility>

#include "base/crash_point.hpp"
#include "base/duration_text.hpp"
#include "cli/command.hpp"
#include "cli/line_reader.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include "cli/sure_enqueue.hpp"
#include "cli/text.hpp"

namespace fenceline::cli {
namespace {

constexpr std::size_t kBatchLines = 1000;
constexpr std::size_t kBatchBytes = 8 << 20;  // long lines make shorter batches: memory stays constant
constexpr Duration kQuietFor = std::chrono::seconds{2};

Result<NewJob> job_from_options(const Invocation& invocation) {
  NewJob job{.queue = invocation.argument("QUEUE"), .stage = invocation.value("--stage").value_or("")};
  const Result<std::int64_t> priority = invocation.number("--priority", 0, -kPriorityMost, kPriorityMost);
  if (!priority) return std::unexpected(priority.error());
  const Result<Duration> delay = invocation.duration("--delay", Duration{0}, kDelayRange.least, kDelayRange.most);
  if (!delay) return std::unexpected(delay.error());
  const Result<std::int64_t> attempts = invocation.number("--max-attempts", kAttemptsMaxDefault, 1, 1000);
  if (!attempts) return std::unexpected(attempts.error());
  job.priority = static_cast<int>(*priority);
  job.delay = *delay;
  job.attempts_max = static_cast<int>(*attempts);
  if (auto ok = check_new_job(job); !ok) return std::unexpected(ok.error());
  return job;
}

// Some editors open a text with U+FEFF, some tools with two. It is no part of the JSON, and inside another text
// it would break it.
std::string without_byte_order_mark(std::string text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  while (text.starts_with(kMark)) text.erase(0, kMark.size());
  return text;
}

Result<std::string> payload_from_options(const Invocation& invocation) {
  if (const auto text = invocation.value("--payload")) return *text;
  const auto file = invocation.value("--payload-file");
  if (!file) return "null";
  Result<std::string> text = read_file(*file, kPayloadBytesMax + 2);  // a newline at its end is the editor's
  if (text && text->ends_with('\n')) text->pop_back();
  if (text && text->ends_with('\r')) text->pop_back();
  return text;
}

// Sends batches, repeats what is in doubt, prints ids as they are acknowledged.
class Sender {
 public:
  explicit Sender(Invocation& invocation) : invocation_(invocation) {}

  JobId new_id() { return make_uuid7(runtime().wall_now(), runtime().random(), runtime().random()); }

  Result<void> send(std::vector<NewJob> jobs) {
    if (!store_) {
      auto opened = invocation_.open_or_make_store();
      if (!opened) return std::unexpected(opened.error());
      store_ = std::move(*opened);
    }
    const EnqueueRequest request{.ns = invocation_.ns, .jobs = std::move(jobs)};
    FENCELINE_CRASH_POINT(enqueue_before);
    const Result<EnqueueReply> reply = sure_enqueue(runtime(), *store_, request, invocation_.stop);
    FENCELINE_CRASH_POINT(enqueue_after);
    if (!reply) return std::unexpected(reply.error());
    existing_ += reply->existing;
    sent_ += static_cast<std::int64_t>(request.jobs.size());
    if (invocation_.json) print_ids(request.jobs);
    return {};
  }

  // Closes the JSON object, if there is anything to say.
  void end() {
    if (invocation_.json && (opened_ || sent_ == 0))
      print_line((opened_ ? "" : "{\"ids\":[") + ("],\"existing\":" + std::to_string(existing_) + "}"));
  }
  void end_early() {
    if (opened_) end();
  }

  std::int64_t sent() const { return sent_; }

 private:
  Runtime& runtime() { return *invocation_.runtime; }

  void print_ids(const std::vector<NewJob>& jobs) {
    for (const NewJob& job : jobs) print((std::exchange(opened_, true) ? ",\"" : "{\"ids\":[\"") + to_string(job.id) + "\"");
  }

  Invocation& invocation_;
  std::unique_ptr<Store> store_;
  std::int64_t sent_ = 0;
  std::int64_t existing_ = 0;
  bool opened_ = false;
};

// One line that is redrawn, once it takes long and if somebody looks.
class Progress {
 public:
  explicit Progress(Runtime& runtime) : runtime_(runtime), began_(runtime.now()), wanted_(stderr_is_terminal()) {}

  void show(std::int64_t sent) {
    if (!wanted_ || runtime_.now() < began_ + kQuietFor) return;
    shown_ = true;
    std::fprintf(stderr, "\r%lld jobs enqueued", static_cast<long long>(sent));
  }
  void end() {
    if (std::exchange(shown_, false)) std::fputc('\n', stderr);
  }

 private:
  Runtime& runtime_;
  Instant began_;
  bool wanted_;
  bool shown_ = false;
};

// `doubtful` lines behind those that went in may have gone in too.
std::string went_in(std::int64_t sent, std::int64_t doubtful) {
  const auto lines = [](std::int64_t from, std::int64_t to) {
    return from == to ? "line " + std::to_string(from) : "lines " + std::to_string(from) + " to " + std::to_string(to);
  };
  const std::string known = sent == 0 ? "" : std::to_string(sent) + (sent == 1 ? " job" : " jobs") + " went in (" + lines(1, sent) + "), ";
  if (doubtful > 0) return known + lines(sent + 1, sent + doubtful) + " may have gone in: look before you go on";
  return sent == 0 ? "nothing was enqueued" : known + "go on from line " + std::to_string(sent + 1);
}

// A file of payloads, one a line. A batch goes in whole or not at all, so a bad line costs its batch.
class Lines {
 public:
  Lines(Invocation& invocation, NewJob pattern)
      : invocation_(invocation), pattern_(std::move(pattern)), sender_(invocation), progress_(*invocation.runtime) {}

  Result<int> enqueue(const std::string& path) {
    Result<InputFile> file = InputFile::open(path);
    if (!file) return std::unexpected(file.error());
    const Result<void> done = send_all(*file);
    progress_.end();
    if (!done) {
      sender_.end_early();
      if (stop_signal() == 0) return fail(done.error().code, done.error().message + "; " + went_in(sender_.sent(), doubtful_));
      tell("fenceline: interrupted; " + went_in(sender_.sent(), doubtful_));
      return interrupted_exit();
    }
    sender_.end();
    if (!invocation_.json) print_line(std::to_string(sender_.sent()));
    return kExitOk;
  }

 private:
  Result<void> send_all(InputFile& file) {
    LineReader reader(file, kPayloadBytesMax);
    for (std::int64_t number = 1;; ++number) {
      Result<std::optional<std::string>> line = reader.next();
      if (!line) return std::unexpected(line.error());
      if (!*line) return flush();
      **line = without_byte_order_mark(std::move(**line));
      if (auto ok = check_payload(**line); !ok) return fail(ok.error().code, "line " + std::to_string(number) + ": " + ok.error().message);
      bytes_ += (*line)->size();
      NewJob& job = batch_.emplace_back(pattern_);
      job.id = sender_.new_id();
      job.payload = std::move(**line);
      if (batch_.size() < kBatchLines && bytes_ < kBatchBytes) continue;
      if (auto ok = flush(); !ok) return ok;
    }
  }

  Result<void> flush() {
    if (batch_.empty()) return {};
    if (invocation_.stop.stop_requested()) return fail(Code::held, "interrupted");
    const auto size = static_cast<std::int64_t>(batch_.size());
    if (auto ok = sender_.send(std::exchange(batch_, {})); !ok) {
      if (ok.error().code == Code::in_doubt || ok.error().code == Code::broken) doubtful_ = size;
      return ok;
    }
    bytes_ = 0;
    progress_.show(sender_.sent());
    return {};
  }

  Invocation& invocation_;
  const NewJob pattern_;
  Sender sender_;
  Progress progress_;
  std::vector<NewJob> batch_;
  std::size_t bytes_ = 0;
  std::int64_t doubtful_ = 0;
};

Result<int> run(Invocation& invocation) {
  const int sources = int{invocation.has("--payload")} + int{invocation.has("--payload-file")} + int{invocation.has("--jsonl")};
  if (sources > 1) return std::unexpected(usage_error("more than one of --payload, --payload-file and --jsonl was given; give one"));
  Result<NewJob> job = job_from_options(invocation);
  if (!job) return std::unexpected(job.error());
  if (const auto file = invocation.value("--jsonl")) return Lines(invocation, std::move(*job)).enqueue(*file);

  Result<std::string> payload = payload_from_options(invocation);
  if (!payload) return std::unexpected(payload.error());
  job->payload = without_byte_order_mark(std::move(*payload));
  if (auto ok = check_payload(job->payload); !ok) return std::unexpected(ok.error());
  Sender sender(invocation);
  job->id = sender.new_id();
  const std::string id = to_string(job->id);
  if (auto ok = sender.send({std::move(*job)}); !ok) {
    if (ok.error().code == Code::in_doubt)
      return fail(Code::in_doubt, ok.error().message + "; job " + id + " may have gone in, look with 'fenceline job show'");
    return std::unexpected(ok.error());
  }
  sender.end();
  if (!invocation.json) print_line(id);
  return kExitOk;
}

}  // namespace

CommandSpec enqueue_command() {
  return {.name = "enqueue",
          .summary = "Adds a job to a queue, or one for each line of a file, and prints the ids.",
          .arguments = {{"QUEUE", "1 to 128 letters, digits, '.', '_', '-' or ':'"}},
          .options = {{"--payload", "JSON", "what the handler gets on stdin; default null"},
                      {"--payload-file", "FILE", "the same from a file, - for stdin"},
                      {"--jsonl", "FILE", "one job for each line, - for stdin; prints how many"},
                      {"--priority", "N", "-1000 to 1000, larger is sooner; default 0"},
                      {"--delay", "D", "not before: 10s, 5m, 2h, 1d"},
                      {"--max-attempts", "N", "failures until it is dead, 1 to 1000; default 10"},
                      {"--stage", "STAGE", "only workers with the same --stage take it; default none"}},
          .examples = {{"fenceline enqueue mail --payload '{\"to\":\"ada@example.org\"}'", "one job"},
                       {"fenceline enqueue thumbs --jsonl pictures.jsonl", "one for each line, in batches of 1000"},
                       {"fenceline enqueue report --delay 10m --priority 5", "in ten minutes, ahead of others"}},
          .run = run};
}

}  // namespace fenceline::cli
