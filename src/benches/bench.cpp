#include "benches/bench.hpp"

#include <algorithm>
#include <fstream>

#include "benches/work.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "library/open_store.hpp"

namespace fenceline::cli {

BenchSizes BenchSizes::quick() {
  return {.rounds = 2,
          .jobs = 5'000,
          .one_by_one = 50,
          .per_thread = 5,
          .process_rounds = 1,
          .latency_for = std::chrono::seconds{1},
          .deep = 20'000,
          .shallow = 2'000,
          .kept = 20'000,
          .slice = 1'000,
          .slice_of_small = 100,
          .slices = 2,
          .lines = 20'000,
          .idle_for = std::chrono::seconds{1},
          .done_before = 2'000,
          .peer_rounds = 1,
          .peer_jobs = 500};
}

BenchSizes BenchSizes::large() { return {.deep = 10'000'000, .kept = 3'000'000, .held_for = std::chrono::seconds{65}}; }

bool accepts(const Invocation& invocation, const std::string& what) {
  const auto given = invocation.options.find("--accept");
  return given != invocation.options.end() && std::ranges::find(given->second, what) != given->second.end();
}

Result<void> Bench::go_on(const std::string& what) const {
  if (stopped()) return fail(Code::held, "interrupted");
  tell("bench: " + what);
  return {};
}

Result<std::unique_ptr<Store>> Bench::open(const std::string& place) const {
  return fenceline::open_store(runtime(), Log(*invocation.log_sink),
                               {.url = places.url_of(place),
                                .accept_shared_fs = accepts(invocation, "shared-fs"),
                                .accept_no_sync = !full(),
                                .accept_eviction = accepts(invocation, "eviction"),
                                .actor = "bench",
                                .stop = invocation.stop});
}

Result<std::unique_ptr<bench::RawQueue>> Bench::open_raw(const std::string& place, bench::RawStyle style) const {
  return bench::open_raw(runtime(), places.url_of(place), style, full());
}

Error Bench::failed(const std::string& what) const {
  std::ifstream words(words_path());
  std::string last;
  for (std::string line; std::getline(words, line);) last = line;
  return {Code::unavailable, what + (last.empty() ? "" : ": " + printable(last, 300)) + "; nothing of it is left"};
}

std::vector<std::string> Bench::with_store(std::vector<std::string> arguments, const std::string& place) const {
  arguments.insert(arguments.end(), {"--store", places.url_of(place), "--namespace", kBenchNamespace});
  for (const char* what : {"no-sync", "shared-fs", "eviction"}) {
    if (accepts(invocation, what)) arguments.insert(arguments.end(), {"--accept", what});
  }
  return arguments;
}

}  // namespace fenceline::cli
