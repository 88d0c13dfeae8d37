// What a program may say of a job that it enqueues.
//
//   client->enqueue("mail", payload, {.delay = 5min, .key = "welcome:ana"});
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fenceline/job.hpp"
#include "fenceline/time.hpp"

namespace fenceline {

struct EnqueueOptions {
  std::string stage = {};                     // only workers with the same stage take it
  int priority = 0;                           // -1000 to 1000, larger is sooner
  Duration delay{0};                          // not before, from now on
  std::optional<WallTime> at = std::nullopt;  // not before; in place of the delay
  int attempts_max = kAttemptsMaxDefault;     // failures until it is dead
  Backoff backoff{};                          // between them: full jitter over `first` doubling to `most`
  Duration timeout{0};   // of one attempt, 1 s to 30 d: then its handler is told to stop, and the attempt has failed; a
                         // handler that does not return loses its lease; 0: none
  std::string key = {};  // one unfinished job for it in its queue: the same payload again is that job
  Duration key_for{0};   // the key stays taken that long after the finish
  std::string group = {};              // its jobs run one at a time, in the order of their enqueue
  std::string limit_key = {};          // counts for the queue's limit per key
  std::vector<std::string> tags = {};  // for people; at most 16, in any order
  std::string traceparent = {};        // W3C trace context, for the handler
};

// One of several jobs that are enqueued together, each with its own options: Client::enqueue_many.
struct NewJobSpec {
  std::string payload = "null";  // JSON text
  EnqueueOptions options = {};
};

}  // namespace fenceline
