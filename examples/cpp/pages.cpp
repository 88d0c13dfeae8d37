// Jobs with more to them: one for each key, in order within a group, with a time limit, progress and a log; and a
// handler that ends when it is told to.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "fenceline/fenceline.hpp"

namespace {

using namespace std::chrono_literals;

fenceline::RunResult read_pages(const fenceline::Run& run) {
  for (int page = 1; page <= 4; ++page) {
    // Cancelled, out of time, or the worker stops: whoever comes next starts over.
    if (run.stop.stop_requested()) return fenceline::RunResult::failed("told to stop");
    run.log("page " + std::to_string(page) + " of " + run.job.payload + "\n");
    run.progress(page * 25, "page " + std::to_string(page));
  }
  return fenceline::RunResult::done("4 pages");
}

int failed(const fenceline::Error& error) {
  std::fprintf(stderr, "pages: %s\n", error.message.c_str());
  return 1;
}

int read_books(fenceline::Client& client) {
  const fenceline::EnqueueOptions options{.timeout = 5min, .key = "atlas", .group = "shelf-1", .tags = {"books"}};
  const auto atlas = client.enqueue("books", "\"atlas\"", options);
  const auto again = client.enqueue("books", "\"atlas\"", options);  // the key is taken: the same job
  const auto novel = client.enqueue("books", "\"novel\"", {.group = "shelf-1"});
  for (const auto* enqueued : {&atlas, &again, &novel}) {
    if (!*enqueued) return failed(enqueued->error());
  }
  std::printf("enqueued again: %s\n", *atlas == *again ? "the same job" : "another one");
  if (const auto cancelled = client.cancel(*novel, "already read"); !cancelled) return failed(cancelled.error());

  const auto report = client.work({.queues = {"books"}, .drain = true}, read_pages);
  if (!report) return failed(report.error());
  const auto job = client.wait(*atlas, 10s);
  if (!job) return failed(job.error());
  if (!job->progress) return 1;
  std::printf("%lld done: %s, %d %%\n", static_cast<long long>(report->done), job->result.c_str(),
              job->progress->percent);
  return *atlas == *again && report->done == 1 ? 0 : 1;
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "fenceline-pages-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 74;
  int status = 1;
  {
    auto client = fenceline::Client::open({.store = "sqlite:" + folder + "/pages.db"});
    if (client) status = read_books(*client);
    else std::fprintf(stderr, "pages: %s\n", client.error().message.c_str());
  }
  std::filesystem::remove_all(folder);
  return status;
}
