// The work that a bench times: jobs enqueued and drained through the Store seam, or by a Worker. The same code runs in
// the bench itself and in the processes it starts.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "bench/usage.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline::cli {

inline constexpr const char* kBenchNamespace = "bench";
inline constexpr const char* kBenchQueue = "bench";

// About 100 bytes of JSON each.
std::vector<std::string> bench_payloads(std::int64_t count);

// Batches of `batch` jobs, one call each. Ids are made inside the measured time, as every producer does. Errors: those
// of the store, held (stopped).
Result<bench::Cost> enqueue_in_batches(Runtime& runtime, Store& store, std::int64_t count, std::int64_t batch,
                                       std::stop_token stop);

// Claims of up to `batch` jobs, each settled as done with a small result in one call, until nothing is left or `most`
// are done. Errors: those of the store, held (stopped), lost (an outcome was refused).
Result<bench::Cost> drain_in_batches(Runtime& runtime, Store& store, std::int64_t most, std::int64_t batch,
                                     std::stop_token stop);

// The same, but a batch is settled while the next one is claimed, on another connection, as a worker does.
Result<bench::Cost> drain_beside(Runtime& runtime, Store& store, std::int64_t most, std::int64_t batch,
                                 std::stop_token stop);

// What the worker of a bench is given: the most it takes in stock.
inline constexpr int kBenchConcurrency = 4;
inline constexpr int kBenchPrefetch = 500;
// A whole JobWorker with a handler that does nothing, until the queue is drained.
Result<bench::Cost> drain_with_worker(Runtime& runtime, Log log, Store& store, std::stop_token stop);

}  // namespace fenceline::cli
