#include "cli/jobs/explain.hpp"

#include <algorithm>

#include "base/duration_text.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

// People do not read microseconds.
std::string roughly(Duration duration) {
  const Duration positive = std::max(duration, Duration{0});
  if (positive < std::chrono::seconds{10}) return format_duration(positive);
  if (positive < std::chrono::minutes{10}) return format_duration(std::chrono::ceil<std::chrono::seconds>(positive));
  return format_duration(std::chrono::ceil<std::chrono::minutes>(positive));
}

std::string list(const std::vector<JobId>& ids) {
  std::string out;
  for (const JobId& id : ids) out += (out.empty() ? "" : ", ") + to_string(id);
  return out;
}

std::string stage_of(const Job& job) { return job.stage.empty() ? "" : " at stage " + job.stage; }

std::string by(const Act& act) {
  return " by " + printable(act.actor) + (act.reason.empty() ? "" : " (" + printable(act.reason) + ")");
}

std::string times(std::int64_t number) { return number == 1 ? "once" : std::to_string(number) + " times"; }

// Collects reasons in the order in which they are added.
class Explainer {
 public:
  Explainer(const JobFacts& facts, WallTime now, const KnownActs& acts)
      : facts_(facts), job_(facts.job), now_(now), acts_(acts) {}

  std::vector<Reason> reasons() {
    switch (job_.state) {
      case JobState::ready: ready(); break;
      case JobState::running: running(); break;
      case JobState::waiting: waiting(); break;
      case JobState::done:
        add("done", "it is done" + since() + ", by " + job_.owner + " under fence " + std::to_string(job_.fence));
        break;
      case JobState::dead: dead(); break;
      case JobState::cancelled: cancelled(); break;
    }
    if (is_finished(job_.state)) finished();
    return std::move(reasons_);
  }

 private:
  void add(std::string name, std::string sentence) { reasons_.push_back({std::move(name), std::move(sentence)}); }
  std::string id() const { return to_string(job_.id); }
  std::string since() const { return job_.finished_at ? " since " + format_time(*job_.finished_at) : ""; }

  void paused() {
    if (!facts_.paused) return;
    const QueuePause& pause = *facts_.paused;
    add("paused", "queue " + job_.queue + " is paused by " + printable(pause.by) + " since " + format_time(pause.at) +
                      (pause.reason.empty() ? "" : " (" + printable(pause.reason) + ")") +
                      "; resume it with: fenceline queue resume " + job_.queue);
  }

  void alone() {
    if (!facts_.must_run_alone) return;
    add("alone", "its worker was lost " + times(job_.losses_in_row) +
                     " in a row, so only a worker with no other job may take it");
  }

  void no_worker() {
    if (facts_.workers > 0) return;
    if (!facts_.quiet_workers.empty()) return quiet_workers();
    add("no_worker", "no worker serves queue " + job_.queue + stage_of(job_) + " now; start one: fenceline work " +
                         job_.queue + (job_.stage.empty() ? "" : " --stage " + job_.stage) + " -- CMD");
  }

  // During an upgrade, starting another worker would be the wrong advice.
  void quiet_workers() {
    std::string owners;
    std::string names;
    for (const std::string& owner : facts_.quiet_workers) {
      owners += " " + owner;
      const auto act = acts_.quieted.find(owner);
      names += (names.empty() ? "" : ", ") + owner + (act == acts_.quieted.end() ? "" : by(act->second));
    }
    const std::string all = facts_.quiet_workers.size() == 1 ? "the worker that serves" : "all workers that serve";
    add("quiet_workers", all + " queue " + job_.queue + stage_of(job_) +
                             (facts_.quiet_workers.size() == 1 ? " is" : " are") + " quiet: " + names +
                             "; resume them with: fenceline workers resume" + owners);
  }

  void slot() {
    if (!facts_.slot_left) return;
    add("slot", "its last delivery was revoked and keeps its slot until the worker reports that it stopped, at most " +
                    roughly(*facts_.slot_left) + " more");
  }

  void ready() {
    paused();
    if (facts_.due_in) {
      const std::string what =
          job_.last_outcome == OutcomeKind::failed  ? "it failed " + times(job_.failures) + " and will be retried"
          : job_.last_outcome == OutcomeKind::later ? "its handler asked to be retried later: it will run again"
                                                    : "it is scheduled to run";
      add("not_yet", what + " in " + roughly(*facts_.due_in) + ", at " + format_time(job_.run_at));
    }
    if (facts_.group_head) {
      const std::string head = to_string(*facts_.group_head);
      add("group", facts_.group_head_revoked
                       ? "the slot of its group '" + printable(job_.group) + "' is still taken by job " + head +
                             ", whose delivery was revoked and whose worker has not reported that it stopped"
                       : "it is behind job " + head + " of its group '" + printable(job_.group) +
                             "'; see: fenceline job explain " + head);
    }
    if (facts_.limit > 0) {
      add("limit", "queue " + job_.queue + " runs at most " + std::to_string(facts_.limit) +
                       " jobs at a time, and these are running: " + list(facts_.limit_holders));
    }
    if (facts_.limit_per_key > 0) {
      add("limit_key", "for limit key '" + printable(job_.limit_key) + "' at most " +
                           std::to_string(facts_.limit_per_key) +
                           " may run at a time, and these are running: " + list(facts_.limit_key_holders));
    }
    slot();
    alone();
    no_worker();
    if (reasons_.empty())
      add("claimable", "it is ready and waits for one of " + std::to_string(facts_.workers) +
                           (facts_.workers == 1 ? " worker" : " workers") + "; jobs with a higher priority go first");
  }

  void waiting() {
    if (facts_.effects_in_doubt.empty())
      add("waiting", "it waits for a person or for the entry condition of its stage" +
                         (job_.stage.empty() ? "" : " " + job_.stage));
    for (const std::string& effect : facts_.effects_in_doubt) {
      const std::string resolve = "fenceline effects resolve " + id() + " " + effect;
      add("effect_in_doubt", "its effect " + effect +
                                 " is in doubt and must not happen twice: find out whether it happened, then run: " +
                                 resolve + " --done, or " + resolve + " --none");
    }
    slot();  // until then the effect cannot be resolved
  }

  void running() {
    const Duration left = job_.lease_left.value_or(Duration{0});
    const std::string holder = job_.owner + " under fence " + std::to_string(job_.fence);
    if (left > Duration{0}) {
      add("leased", "it is leased by " + holder + " until " + format_time(now_ + left) + ", " + roughly(left) +
                        " from now (delivery " + std::to_string(job_.deliveries) + ")");
      return;
    }
    add("lease_expired",
        "the lease of " + holder + " expired " + roughly(-left) + " ago, and no worker has taken the job over yet");
    paused();
    alone();
    no_worker();
  }

  void cancelled() {
    const std::string who = acts_.ended ? by(*acts_.ended) : "";
    const std::string when = job_.finished_at ? " at " + format_time(*job_.finished_at) : "";
    add("cancelled", "it was cancelled" + who + when + "; to run it anyway: fenceline job retry " + id());
  }

  void dead() {
    const std::string error = job_.error.empty() ? "" : "; the last error: " + printable(one_line(job_.error), 200);
    if (job_.losses_in_row >= kLossesInRowMax)
      add("lost_too_often",
          "it is dead" + since() + ": its worker was lost " + times(job_.losses_in_row) + " in a row" + error);
    else if (job_.last_outcome == OutcomeKind::dead)
      add("dead_at_once", "it is dead" + since() + ": its handler said that a retry cannot help" + error);
    else if (job_.failures >= job_.attempts_max)
      add("attempts_used_up",
          "it is dead" + since() + ": " +
              (job_.attempts_max == 1 ? "its one attempt is"
                                      : "all " + std::to_string(job_.attempts_max) + " attempts are") +
              " used up" + error);
    else add("dead", "it is dead" + since() + error);
  }

  void finished() {
    slot();
    if (!facts_.key_holder) return;
    const bool own = *facts_.key_holder == job_.id;
    const std::string until = job_.finished_at ? " until " + format_time(*job_.finished_at + job_.key_for) : "";
    add("key_taken",
        own ? "it still has its unique key '" + printable(job_.key) + "'" + until + ", because of --key-for"
            : "its unique key '" + printable(job_.key) + "' is taken by job " + to_string(*facts_.key_holder) +
                  ": it cannot be retried until that job finishes");
  }

  const JobFacts& facts_;
  const Job& job_;
  const WallTime now_;
  const KnownActs& acts_;
  std::vector<Reason> reasons_;
};

}  // namespace

std::vector<Reason> explain(const JobFacts& facts, WallTime now, const KnownActs& acts) {
  return Explainer(facts, now, acts).reasons();
}

std::string reason_lines(const std::string& sentence, std::size_t width) {
  constexpr std::size_t kIndent = 2;
  constexpr std::string_view kCommand = ": fenceline ";
  std::string out;
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t end = std::min(sentence.find("; ", at), sentence.size());
    const std::string part = sentence.substr(at, end - at);
    at = std::min(end + 2, sentence.size());
    out += out.empty() ? "- " : std::string(kIndent, ' ');
    const std::size_t command = part.find(kCommand);
    if (kIndent + part.size() <= width || command == std::string::npos) {
      out += folded(part, kIndent, width);
    } else {
      out += folded(part.substr(0, command + 1), kIndent, width);
      out += std::string(kIndent, ' ') + part.substr(command + 2) + "\n";
    }
  }
  return out;
}

}  // namespace fenceline::cli
