// Ends processes with all that they started.
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <vector>

#include "runtime/child_process.hpp"

namespace fenceline {

// From now on the orphans of this process's descendants become its own children. False if it cannot be.
bool become_subreaper();

// All living descendants of `root`, children before their own children. Zombies are left out.
std::vector<pid_t> descendants_of(pid_t root);

// Sends a signal to every living descendant of this process, once. What is started meanwhile may be missed.
void signal_descendants(int signal);

// Kills every descendant of this process, whatever group or session it made for itself, stopped ones included, and
// reaps them; returns when none is left. This process must be a subreaper and the only one who reaps here. `reaped`
// is told of each end. One that may not be killed (another user's) is waited for.
void end_all_descendants(const std::function<void(pid_t, ExitStatus)>& reaped);

// The same for those children of this process, and what they started, that are not in `others`.
void end_strays(const std::set<pid_t>& others);

}  // namespace fenceline
