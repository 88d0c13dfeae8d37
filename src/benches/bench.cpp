#include "benches/bench.hpp"

#include <algorithm>
#include <fstream>

#include "benches/work.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "session/open_store.hpp"

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

Result<void> Bench::go_on(const std::string& what) const {
  if (stopped()) return fail(Code::held, "interrupted");
  tell("bench: " + what);
  return {};
}

Result<std::unique_ptr<Store>> Bench::open(const std::string& place) const {
  return fenceline::open_store(runtime(), Log(*invocation.log_sink),
                               {.url = places.url_of(place),
                                .accept_shared_fs = invocation.accepts("shared-fs"),
                                .accept_no_sync = !full(),
                                .accept_eviction = invocation.accepts("eviction"),
                                .actor = "bench",
                                .stop = invocation.stop});
}

Result<std::unique_ptr<bench::RawQueue>> Bench::open_raw(const std::string& place, bench::RawStyle style) const {
  return bench::open_raw(runtime(), places.url_of(place), style, full());
}

Result<std::string> Bench::filled_place() const {
  const std::string place = places.fresh("ours");
  const auto store = open(place);
  if (!store) return std::unexpected(store.error());
  const Result<bench::Cost> filled = enqueue_in_batches(runtime(), **store, sizes.jobs, sizes.batch, invocation.stop);
  if (!filled) return std::unexpected(filled.error());
  return place;
}

Result<bench::Cost> Bench::drained(const std::function<Result<bench::Cost>(Store&)>& drain) const {
  const std::string place = places.fresh("ours");
  Result<bench::Cost> cost = bench::Cost{};
  {
    const auto store = open(place);
    if (!store) return std::unexpected(store.error());
    cost = enqueue_in_batches(runtime(), **store, sizes.jobs, sizes.batch, invocation.stop);
    if (cost) cost = drain(**store);
  }
  places.drop(place);
  return cost;
}

Result<void> Bench::in_parts(const std::string& name, std::int64_t count, const std::string& what,
                             const std::function<Result<void>(std::int64_t)>& part) const {
  constexpr std::int64_t kPart = 20'000;
  constexpr Duration kBetweenWords = std::chrono::seconds{5};
  const Instant began = runtime().now();
  Instant told = began;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t next = std::min(kPart, count - done);
    if (auto ok = part(next); !ok) return ok;
    done += next;
    const Instant now = runtime().now();
    if (now - told < kBetweenWords) continue;
    told = now;
    const std::int64_t rate = done * 1'000'000 / (now - began).count();
    if (auto ok = go_on(name + ", " + std::to_string(done) + " of " + std::to_string(count) + " " + what + ", " +
                        std::to_string(rate) + " a second");
        !ok)
      return ok;
  }
  return {};
}

Error Bench::failed(const std::string& what) const {
  std::ifstream words(words_path());
  std::string last;
  for (std::string line; std::getline(words, line);) last = line;
  return {Code::unavailable, what + (last.empty() ? "" : ": " + printable(last, 300)) + "; nothing of it remains"};
}

std::vector<std::string> Bench::with_store(std::vector<std::string> arguments, const std::string& place) const {
  arguments.insert(arguments.end(), {"--store", places.url_of(place), "--namespace", kBenchNamespace});
  for (const char* what : {"no-sync", "shared-fs", "eviction"}) {
    if (invocation.accepts(what)) arguments.insert(arguments.end(), {"--accept", what});
  }
  return arguments;
}

}  // namespace fenceline::cli
