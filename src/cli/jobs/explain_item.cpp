#include "cli/jobs/explain_item.hpp"

#include <algorithm>

#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

void forget(std::vector<Reason>& reasons, const std::vector<std::string>& names) {
  std::erase_if(reasons, [&](const Reason& reason) { return std::ranges::find(names, reason.name) != names.end(); });
}

// The attempts of its stage are not those that its job knows of.
void name_attempts(const PipelineSpec& spec, const ItemNow& item, const Job& job, std::vector<Reason>& reasons) {
  const std::optional<Position> at = position_of(spec, item.stage);
  if (!at || at->at_entry) return;
  const StageSpec& stage = spec.stages[at->stage];
  if (stage.attempts == 0 || job.failures < stage.attempts) return;
  for (Reason& reason : reasons) {
    if (reason.name != "dead_at_once") continue;
    reason = {"attempts_used_up",
              "it is dead: its " + std::to_string(stage.attempts) + (stage.attempts == 1 ? " attempt" : " attempts") +
                  " at stage " + stage.name + " are used up" +
                  (job.error.empty() ? "" : "; the last error: " + printable(one_line(job.error), 200))};
  }
}

}  // namespace

std::vector<Reason> explain_item(const PipelineSpec& spec, const ItemNow& item, const JobFacts& facts,
                                 std::vector<Reason> of_job) {
  const std::string id = to_string(facts.job.id);
  const std::optional<Position> at = position_of(spec, item.stage);
  std::vector<Reason> reasons;
  const auto add = [&](std::string name, std::string sentence) {
    reasons.push_back({std::move(name), std::move(sentence)});
  };
  const bool open = !is_finished(item.state);
  const bool waits_here = open && item.state != JobState::running;
  if (item.state == JobState::dead) name_attempts(spec, item, facts.job, of_job);
  if (open && item.record.hold) {
    const ItemWord& hold = *item.record.hold;
    add("on_hold", std::string(item.state == JobState::running ? "it will be on hold when its work ends"
                                                               : "it is on hold at " + stage_words(spec, item.stage)) +
                       " by " + printable(hold.by) + " since " + format_time(hold.at) +
                       (hold.reason.empty() ? "" : " (" + printable(hold.reason) + ")") +
                       "; release it with: fenceline stage release " + id);
    forget(of_job, {"waiting"});
  } else if (waits_here && !at) {
    add("no_stage", "it is at '" + printable(item.stage) + "', which is not a stage of pipeline " + spec.name +
                        "; move it with: fenceline stage move " + id + " --to STAGE");
    forget(of_job, {"waiting", "claimable", "no_worker"});
  } else if (waits_here && at->at_entry) {
    const StageSpec& stage = spec.stages[at->stage];
    if (stage.entry.kind == EntryKind::approval)
      add("approval", "it waits for " + waits_for(spec, item) + "; approve it with: fenceline stage approve " + id +
                          "; reject it with: fenceline stage reject " + id + " --reason TEXT");
    if (stage.entry.kind == EntryKind::check) {
      add("check", "it waits for the " + waits_for(spec, item) +
                       (facts.due_in ? ", which runs again at " + format_time(facts.job.run_at) : ""));
      if (facts.workers == 0)
        add("no_checker", "no worker runs the checks of this pipeline now; start one: fenceline work " + spec.name +
                              " --stage " + stage.name + " --run-checks -- CMD");
    }
    forget(of_job, {"waiting", "not_yet", "no_worker", "claimable"});
  }
  std::ranges::move(of_job, std::back_inserter(reasons));
  if (open && item.record.returned) {
    const ItemReturn& back = *item.record.returned;
    add("returned", "it was sent back from " + printable(back.from) + " to " + printable(back.to) + " by " +
                        printable(back.word.by) +
                        (back.word.reason.empty() ? "" : " (" + printable(back.word.reason) + ")") + "; return " +
                        std::to_string(item.record.returns) + " of the " + std::to_string(spec.loops) +
                        " times that are allowed");
  }
  return reasons;
}

}  // namespace fenceline::cli
