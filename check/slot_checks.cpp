#include <algorithm>
#include <map>

#include "check/checks.hpp"

namespace fenceline::audit {
namespace {

// What a setting may have been: each call that set it, and the default before them.
class Setting {
 public:
  struct Set {
    CallNumber call = kNoCall;
    std::int32_t value = 0;
    Time asked = 0, answered = kNever, late = kNever;
  };

  void add(Set set) { sets_.push_back(set); }

  void sort() {
    std::sort(sets_.begin(), sets_.end(), [](const Set& a, const Set& b) { return a.answered < b.answered; });
    newest_.clear();
    Time newest = kAlways;
    for (const Set& set : sets_) newest_.push_back(newest = std::max(newest, set.asked));
  }

  // All that may have been in force at some moment from `since` to `until`; the default is told as kNoCall.
  template <class Take>
  void each_possible(Time since, Time until, Take take) const {
    const auto behind =
        std::partition_point(sets_.begin(), sets_.end(), [&](const Set& set) { return set.answered < since; });
    // Something was set for certain before `since`, by a call that was sent so late.
    const Time last = behind == sets_.begin() ? kAlways : newest_[static_cast<std::size_t>(behind - sets_.begin()) - 1];
    if (last == kAlways) take(Set{});
    for (const Set& set : sets_) {
      if (set.asked <= until && set.late >= last) take(set);
    }
  }

 private:
  std::vector<Set> sets_;
  std::vector<Time> newest_;  // of all up to each: the latest question
};

struct QueueSettings {
  Setting limit, limit_per_key, paused;
};

std::map<Name, QueueSettings> settings_of(const CallLog& log) {
  std::map<Name, QueueSettings> queues;
  for (CallNumber number = 0; number < log.calls.size(); ++number) {
    const Call& call = log.calls[number];
    if (!call.may_count() || (call.verb != Verb::set_queue && call.verb != Verb::pause)) continue;
    const Time late = call.answered == kNever ? kNever : std::max(call.answered, call.asked + log.about.repeats);
    const auto set = [&](std::int32_t value) { return Setting::Set{number, value, call.asked, call.answered, late}; };
    QueueSettings& queue = queues[call.queue];
    if (call.verb == Verb::pause) queue.paused.add(set(call.holds_others ? 1 : 0));
    if (call.verb == Verb::set_queue && call.limit >= 0) queue.limit.add(set(call.limit));
    if (call.verb == Verb::set_queue && call.limit_per_key >= 0) queue.limit_per_key.add(set(call.limit_per_key));
  }
  for (auto& [name, queue] : queues) {
    queue.limit.sort();
    queue.limit_per_key.sort();
    queue.paused.sort();
  }
  return queues;
}

bool is_forced(const Scene& scene, const Delivery& delivery) { return scene.log.items[delivery.item].forced; }

// Walks over grants by their question, with those held for certain during the whole of it.
template <class See>
void each_grant_with_holders(std::vector<const Delivery*> grants, See see) {
  std::vector<const Delivery*> by_start = grants;
  std::sort(by_start.begin(), by_start.end(),
            [](const Delivery* a, const Delivery* b) { return a->answered < b->answered; });
  std::sort(grants.begin(), grants.end(), [](const Delivery* a, const Delivery* b) { return a->asked < b->asked; });
  std::vector<const Delivery*> held;
  std::size_t next = 0;
  for (const Delivery* grant : grants) {
    for (; next < by_start.size() && by_start[next]->answered < grant->asked; ++next) held.push_back(by_start[next]);
    std::erase_if(held, [&](const Delivery* one) { return one->held_until < grant->asked; });
    std::vector<const Delivery*> holders;
    for (const Delivery* one : held) {
      if (one->held_until > grant->answered && one->job != grant->job) holders.push_back(one);
    }
    if (!see(*grant, holders)) return;
  }
}

// At most `setting` at a time, of those that one claim grants together too.
void check_limit(const Scene& scene, const std::vector<const Delivery*>& grants, const Setting& setting,
                 const std::string& whose) {
  std::map<CallNumber, std::vector<const Delivery*>> together;
  for (const Delivery* grant : grants) {
    if (!is_forced(scene, *grant)) together[grant->call].push_back(grant);
  }
  each_grant_with_holders(grants, [&](const Delivery& grant, const std::vector<const Delivery*>& others) {
    if (is_forced(scene, grant)) return true;  // it has its slot
    std::int32_t most = 0;
    bool unlimited = false;
    std::vector<CallNumber> calls;
    setting.each_possible(grant.asked, grant.answered, [&](const Setting::Set& set) {
      unlimited = unlimited || set.value == 0;
      most = std::max(most, set.value);
      if (set.call != kNoCall) calls.push_back(set.call);
    });
    const std::vector<const Delivery*>& batch = together[grant.call];
    const auto running = static_cast<std::int32_t>(others.size() + batch.size());
    if (unlimited || running <= most) return true;
    calls.push_back(grant.call);
    for (const Delivery* one : others) calls.push_back(one->call);
    scene.broken("J7",
                 "job " + scene.log.job_text(grant.job) + " was granted beyond the limit of " + whose + ": " +
                     std::to_string(running) + " at a time, at most " + std::to_string(most),
                 calls, grant.job, grant.answered);
    return false;
  });
}

void check_pause(const Scene& scene, const std::vector<const Delivery*>& grants, const Setting& paused) {
  for (const Delivery* grant : grants) {
    bool open = false;
    std::vector<CallNumber> calls{grant->call};
    paused.each_possible(grant->asked, grant->answered, [&](const Setting::Set& set) {
      open = open || set.value == 0;
      if (set.call != kNoCall) calls.push_back(set.call);
    });
    if (open) continue;
    scene.broken("pause", "job " + scene.log.job_text(grant->job) + " was granted though its queue was paused", calls,
                 grant->job, grant->answered);
    return;
  }
}

// One at a time, and first come, first served.
void check_group(const Scene& scene, const std::vector<const Delivery*>& grants, const std::vector<std::uint32_t>& jobs,
                 const std::string& group) {
  const Deliveries& deliveries = scene.deliveries;
  each_grant_with_holders(grants, [&](const Delivery& grant, const std::vector<const Delivery*>& others) {
    if (others.empty()) return true;
    scene.broken("J7",
                 "job " + scene.log.job_text(grant.job) + " was granted while job " +
                     scene.log.job_text(others.front()->job) + " of group " + group + " ran",
                 {others.front()->call, grant.call}, grant.job, grant.answered);
    return false;
  });
  // By when they were acknowledged: of those up to each, the one that stays unfinished for longest.
  std::vector<std::uint32_t> sooner = jobs;
  std::erase_if(sooner, [&](std::uint32_t job) { return deliveries.span(job).there_since == kNever; });
  std::sort(sooner.begin(), sooner.end(), [&](std::uint32_t a, std::uint32_t b) {
    return deliveries.span(a).there_since < deliveries.span(b).there_since;
  });
  std::vector<std::uint32_t> longest;
  for (const std::uint32_t job : sooner) {
    const bool longer =
        longest.empty() || deliveries.span(job).unfinished_until > deliveries.span(longest.back()).unfinished_until;
    longest.push_back(longer ? job : longest.back());
  }
  for (const Delivery* grant : grants) {
    const Time asked = deliveries.span(grant->job).first_asked;
    const auto behind = std::partition_point(
        sooner.begin(), sooner.end(), [&](std::uint32_t job) { return deliveries.span(job).there_since < asked; });
    if (asked == kNever || behind == sooner.begin()) continue;
    const std::uint32_t head = longest[static_cast<std::size_t>(behind - sooner.begin()) - 1];
    if (head == grant->job || deliveries.span(head).unfinished_until <= grant->answered) continue;
    scene.broken("J7",
                 "job " + scene.log.job_text(grant->job) + " was granted though job " + scene.log.job_text(head) +
                     " of group " + group + " came first and was not finished",
                 {deliveries.span(head).enqueue, deliveries.span(grant->job).enqueue, grant->call}, grant->job,
                 grant->answered);
    return;
  }
}

}  // namespace

void check_slots(const Scene& scene) {
  const CallLog& log = scene.log;
  const std::map<Name, QueueSettings> queues = settings_of(log);
  std::map<Name, std::vector<const Delivery*>> by_queue;
  std::map<std::pair<Name, Name>, std::vector<const Delivery*>> by_key;
  std::map<std::pair<Name, Name>, std::vector<const Delivery*>> by_group;
  std::map<std::pair<Name, Name>, std::vector<std::uint32_t>> group_jobs;
  for (std::uint32_t job = 1; job < log.jobs.size(); ++job) {
    if (log.jobs[job].group != 0) group_jobs[{log.jobs[job].queue, log.jobs[job].group}].push_back(job);
  }
  for (const Delivery& delivery : scene.deliveries.all()) {
    const JobEntry& job = log.jobs[delivery.job];
    if (queues.contains(job.queue)) {
      by_queue[job.queue].push_back(&delivery);
      if (job.limit_key != 0) by_key[{job.queue, job.limit_key}].push_back(&delivery);
    }
    if (job.group != 0) by_group[{job.queue, job.group}].push_back(&delivery);
  }
  for (const auto& [key, grants] : by_group)
    check_group(scene, grants, group_jobs[key], std::string(log.text(key.second)));
  if (!log.about.whole) return;  // someone else may have changed a setting
  for (const auto& [name, grants] : by_queue) {
    check_pause(scene, grants, queues.at(name).paused);
    check_limit(scene, grants, queues.at(name).limit, "queue " + std::string(log.text(name)));
  }
  for (const auto& [key, grants] : by_key)
    check_limit(scene, grants, queues.at(key.first).limit_per_key, "key " + std::string(log.text(key.second)));
}

}  // namespace fenceline::audit
