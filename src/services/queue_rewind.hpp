// Jobs that wait for a moment that no longer lies where it did: they were enqueued, or failed, while the store's clock
// was ahead, and keep a run time of then. `fenceline queue rewind` starts them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.hpp"
#include "model/job.hpp"
#include "store/store.hpp"

namespace fenceline {

// Why a ready job is not due although nobody meant it to wait.
enum class RunTime {
  as_meant,  // it is due, or it was delayed while the clock was right
  enqueued,  // it was enqueued while the clock was ahead, to run at once
  delayed,   // the same, to run later: by how much, its producer said
  put_off,   // a delivery ended while the clock was ahead, and it was to be tried again later
};

// Of a ready job, by what the store's clock shows now. `last_end`: of its last delivery, if it had one.
RunTime run_time_of(const Job& job, std::optional<WallTime> last_end, WallTime now);

struct RewindOptions {
  std::string ns;
  std::string queue;
  bool dry_run = false;
  Act act;
};

struct Rewound {
  std::int64_t moved = 0;    // or would be, of a dry run
  std::int64_t delayed = 0;  // those that were delayed while the clock was ahead, and stay
};

// Looks at all ready jobs of the queue. `until_known` repeats a call that is in doubt; `fresh` makes the name of a
// request.
using ActUntilKnown = std::function<Result<ActReply>(const std::function<Result<ActReply>()>&)>;
Result<Rewound> rewind_queue(Store& store, const RewindOptions& options, const std::function<std::string()>& fresh,
                             const ActUntilKnown& until_known, std::stop_token stop);

}  // namespace fenceline
