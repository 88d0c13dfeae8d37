#include "check/job_ops.hpp"

#include <algorithm>

namespace fenceline::audit {
namespace {

std::uint64_t claim_key(const Call& call) { return std::uint64_t{call.owner} << 32 | call.request; }

}  // namespace

template <class Take>
void JobOps::each_op(Take take) const {
  for (CallNumber number = 0; number < log_.calls.size(); ++number) {
    const Call& call = log_.calls[number];
    // A copy of an enqueue that was refused as a conflict may arrive when nobody has its key any more.
    const bool comes_again = call.verb == Verb::enqueue && call.conflict && log_.about.repeats > 0;
    if (!call.may_count() && !comes_again) continue;
    const bool optional = call.status == Status::unknown;
    JobOp op{.call = number, .asked = call.asked, .answered = call.answered, .optional = optional};
    if (call.verb == Verb::give_back) {
      const auto jobs = given_back_.find(claim_key(call));
      if (jobs == given_back_.end()) continue;
      for (const std::uint32_t job : jobs->second) take(job, op);
      continue;
    }
    if (optional && (call.verb == Verb::claim || call.verb == Verb::look || call.verb == Verb::record)) continue;
    // A begin without an answer concerns the job only if it may have made it wait.
    if (optional && call.verb == Verb::begin_effect && log_.effect_of(call).policy != Doubt::hold) continue;
    for (std::uint32_t i = 0; i < call.item_count; ++i) {
      const Item& item = log_.items[call.items + i];
      op.item = call.items + i;
      // An id that stands for another job is no job of its own, unless the request arrives again when nobody has its
      // key.
      const bool stands_for_another = call.verb == Verb::enqueue && !optional && item.answer != item.job;
      if (stands_for_another && log_.about.repeats == 0) continue;
      JobOp own = op;
      own.optional = optional || stands_for_another;
      if (stands_for_another) own.answered = call.asked + log_.about.repeats;
      take(item.job, own);
    }
  }
}

JobOps::JobOps(const CallLog& log) : log_(log) {
  for (CallNumber number = 0; number < log.calls.size(); ++number) {
    const Call& call = log.calls[number];
    if (call.verb == Verb::purge && call.may_count()) purges_[call.queue].push_back(number);
    if (call.verb == Verb::give_back && call.may_count()) given_back_[claim_key(call)];
  }
  for (const Call& call : log.calls) {
    if (call.verb != Verb::claim || call.status != Status::ok) continue;
    const auto jobs = given_back_.find(claim_key(call));
    if (jobs == given_back_.end()) continue;
    for (std::uint32_t i = 0; i < call.item_count; ++i) jobs->second.push_back(log.items[call.items + i].job);
  }
  for (auto& [key, jobs] : given_back_) {
    std::sort(jobs.begin(), jobs.end());
    jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  }
  first_.assign(log.jobs.size() + 1, 0);
  each_op([&](std::uint32_t job, const JobOp&) { first_[job + 1] += 1; });
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  ops_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  each_op([&](std::uint32_t job, const JobOp& op) { ops_[next[job]++] = op; });
  for (std::uint32_t job = 1; job < log.jobs.size(); ++job) {
    std::stable_sort(ops_.begin() + first_[job], ops_.begin() + first_[job + 1],
                     [](const JobOp& a, const JobOp& b) { return a.asked < b.asked; });
  }
}

void JobOps::of(std::uint32_t job, std::vector<JobOp>& ops, std::vector<JobOp>& stretches) const {
  ops.clear();
  stretches.clear();
  const Time repeats = log_.about.repeats;
  for (const JobOp* op = begin(job); op != end(job); ++op) {
    const Verb verb = log_.calls[op->call].verb;
    if (op->optional && verb == Verb::extend) {
      stretches.push_back(*op);
      continue;
    }
    ops.push_back(*op);
    // A person's change that was refused may come again when the job is in another state; one that was made, or that a
    // holder sent, never counts again.
    const bool was_refused =
        verb == Verb::change_items && log_.items[op->item].reason != Reason::none && log_.items[op->item].fence == 0;
    const bool counts_again = verb == Verb::cancel || verb == Verb::retry || verb == Verb::enqueue || was_refused;
    if (repeats > 0 && counts_again && !op->optional)
      ops.push_back(
          {.call = op->call, .item = op->item, .asked = op->asked, .answered = op->asked + repeats, .optional = true});
  }
  if (const auto purges = purges_.find(log_.jobs[job].queue); purges != purges_.end()) {
    for (const CallNumber number : purges->second) {
      const Call& call = log_.calls[number];
      const Time until =
          repeats > 0 && call.answered != kNever ? std::max(call.answered, call.asked + repeats) : call.answered;
      ops.push_back({.call = number, .asked = call.asked, .answered = until, .optional = true});
    }
  }
  if (log_.rest_at != kNever) ops.push_back({.asked = log_.rest_at, .answered = log_.rest_at});
  std::stable_sort(ops.begin(), ops.end(), [](const JobOp& a, const JobOp& b) { return a.asked < b.asked; });
}

}  // namespace fenceline::audit
