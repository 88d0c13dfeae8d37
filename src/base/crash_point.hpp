// Named places at which a drill may kill this process with SIGKILL: FENCELINE_CRASH_POINT(settle_before).
// The list is here, so that a name that is not listed does not compile and `drill kill --list` is whole.
// In production nothing is armed and a point costs one load of a zero.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// One X(name, what is true at that moment) a point, in the order in which a job meets them.
#define FENCELINE_CRASH_POINTS(X)                                                \
  X(enqueue_before, "nothing was sent")                                          \
  X(enqueue_after, "the jobs are in, their ids were not printed")                \
  X(report_worker_before, "the worker is not yet in the registry")               \
  X(report_worker_after, "the worker is in the registry and holds nothing")      \
  X(claim_before, "nothing is claimed")                                          \
  X(claim_after, "jobs are claimed, nobody works on them")                       \
  X(handler_start_before, "a job is held, its handler has not begun")            \
  X(handler_start_after, "a handler has begun")                                  \
  X(guardian_spawn_before, "a job is held, no process was started for it")       \
  X(guardian_spawn_after, "the guardian lives, its command may not")             \
  X(guardian_ready, "in the guardian: it is a subreaper, no command yet")        \
  X(command_spawn_before, "in the guardian: the command is about to start")      \
  X(command_spawn_after, "in the guardian: the command runs")                    \
  X(command_exit, "in the guardian: the command ended, the worker was not told") \
  X(guardian_exit, "in the guardian: the worker was told, the guardian ends")    \
  X(effect_begin_before, "an effect is asked for, nothing of it is recorded")    \
  X(effect_begin_after, "its intent is recorded, nothing was done")              \
  X(effect_finish_before, "it was done, that is not recorded")                   \
  X(effect_finish_after, "how it ended is recorded, its caller does not know")   \
  X(handler_exit, "the handler returned, its outcome is only in memory")         \
  X(extend_before, "leases are held, their renewal was not sent")                \
  X(extend_after, "leases were renewed, the worker does not know")               \
  X(settle_before, "outcomes are known, none was sent")                          \
  X(settle_after, "outcomes are in, the worker does not know")                   \
  X(stopped_before, "an ended delivery has stopped, the store was not told")     \
  X(stopped_after, "its slot is free, the worker does not know")                 \
  X(give_back_before, "a claim is in doubt, its return was not sent")            \
  X(give_back_after, "a claim was given back, the worker does not know")         \
  X(backlog_before, "a draining worker is about to ask whether it is done")      \
  X(backlog_after, "a draining worker has its answer")                           \
  X(remove_worker_before, "all is settled, the worker is still registered")      \
  X(remove_worker_after, "the worker has left the registry")                     \
  X(worker_exit, "the worker is about to return")                                \
  X(lock_acquire_after, "a lock is granted, whoever asked does not know")        \
  X(lock_command_before, "a lock is held, its command has not begun")            \
  X(lock_release_before, "the work is done, its lock is still held")             \
  X(lock_release_after, "the lock is free, whoever held it does not know")       \
  X(sqlite_locked, "the turnstile is held, no transaction has begun")            \
  X(sqlite_begun, "a write transaction has begun, nothing is written")           \
  X(sqlite_commit_before, "all is written, nothing is committed")                \
  X(sqlite_commit_after, "committed, no caller was answered")                    \
  X(sqlite_checkpoint_before, "a checkpoint is about to run")                    \
  X(sqlite_checkpoint_after, "a checkpoint has run, the turnstile is held")      \
  X(sqlite_migrate_before, "the schema is about to be made")                     \
  X(sqlite_migrate_after, "the schema is committed")                             \
  X(gate_made, "a new gate is on the disk, not yet under its name")              \
  X(gate_locked, "a gate is held, nothing is changed")                           \
  X(gate_content_begun, "half of a new content is beside the old one")           \
  X(gate_content_written, "a new content is beside the old one, on the disk")    \
  X(gate_memory_written, "a new memory is beside the old one, on the disk")      \
  X(gate_memory_renamed, "a gate has its new memory, the old content stands")    \
  X(gate_raised, "so it is on the disk: older fences are refused")               \
  X(gate_content_renamed, "the new content stands")                              \
  X(gate_content_placed, "so it is on the disk, the writer does not know")       \
  X(gate_command_started, "a command runs and holds its gate too")               \
  X(gate_command_ended, "the command ended, its gate is still held")

namespace fenceline {

enum class CrashPoint {
#define FENCELINE_CRASH_POINT_NAME(name, meaning) name,
  FENCELINE_CRASH_POINTS(FENCELINE_CRASH_POINT_NAME)
#undef FENCELINE_CRASH_POINT_NAME
};

struct CrashPointInfo {
  CrashPoint point;
  std::string_view name;
  std::string_view meaning;
};

const std::vector<CrashPointInfo>& crash_points();
std::optional<CrashPoint> find_crash_point(std::string_view name);

// Kills this process when `point` is met for the `nth` time (from 1). With a `mark`, the process that dies
// makes that file first, and none dies once it is there: so a drill knows that the point was met, and kills one
// process of several that inherited the order. For drills; main() reads FENCELINE_CRASH_AT=name or name:nth, and
// FENCELINE_CRASH_MARK.
void arm_crash_point(CrashPoint point, int nth, std::string mark = "");

namespace detail {
extern std::atomic<int> crash_point_armed;  // 1 + the point's number; 0: none
void crash_point_met(CrashPoint point);
}  // namespace detail

}  // namespace fenceline

#define FENCELINE_CRASH_POINT(name)                                                  \
  do {                                                                               \
    if (::fenceline::detail::crash_point_armed.load(std::memory_order_relaxed) != 0) \
      ::fenceline::detail::crash_point_met(::fenceline::CrashPoint::name);           \
  } while (false)
