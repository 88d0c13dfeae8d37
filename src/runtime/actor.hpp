// Which process acts, as text by which another process of this machine can see whether it still lives.
#pragma once

#include <sys/types.h>

#include <optional>
#include <stop_token>
#include <string>

#include "base/time.hpp"
#include "runtime/clock.hpp"

namespace fenceline {

// "BOOT/PID/START/HOST/PIDS": the boot of the machine, the process and its start in ticks, so that its number is not
// taken for another's; the host and the space of process numbers, because a container has its own.
std::string this_actor(const Clock& clock);

// Since when a process of this machine runs; empty: there is none, or nobody can tell.
std::optional<Duration> process_age(pid_t pid);

enum class ActorLife {
  lives,
  gone,
  unknown,  // of another machine or container, or not such a text
};

// Waits until that process has ended, at most until `until` or a stop.
ActorLife wait_for_actor(const Clock& clock, const std::string& actor, Instant until, std::stop_token stop);

}  // namespace fenceline
