#include <algorithm>
#include <map>
#include <set>

#include "check/checks.hpp"

namespace fenceline::audit {
namespace {

constexpr Time kBatchRemembered = Time{30} * 24 * 3600 * 1'000'000;

using Key = std::pair<Name, Name>;  // a queue and a unique key in it

// How many of its jobs an enqueue may have found there.
void check_existing(const Scene& scene, CallNumber number, const std::vector<std::pair<Time, Time>>& asked_of,
                    bool removals) {
  const CallLog& log = scene.log;
  const Call& call = log.calls[number];
  std::int64_t least = 0;
  std::int64_t most = 0;
  for (std::uint32_t i = 0; i < call.item_count; ++i) {
    const Item& item = log.items[call.items + i];
    const bool stands_for_another = item.answer != item.job;
    const bool was_there = !removals && scene.deliveries.span(item.job).there_since < call.asked;
    least += stands_for_another || was_there ? 1 : 0;
    // By another call: the first two questions for it are known.
    const auto [first, second] = asked_of[item.job];
    const Time other = first == call.asked ? second : first;
    most += stands_for_another || other <= call.answered ? 1 : 0;
  }
  if (call.left >= least && call.left <= most) return;
  scene.broken("J1",
               "an enqueue of " + std::to_string(call.item_count) + " jobs found " + std::to_string(call.left) +
                   " there already, it must be " +
                   (least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most)),
               {number}, call.item_count > 0 ? log.items[call.items].job : 0, call.answered);
}

// Who stands for a job has its key and its payload.
void check_aliases(const Scene& scene, CallNumber number) {
  const CallLog& log = scene.log;
  const Call& call = log.calls[number];
  for (std::uint32_t i = 0; i < call.item_count; ++i) {
    const Item& item = log.items[call.items + i];
    const JobEntry& other = log.jobs[item.answer];
    if (item.answer == 0 || item.answer == item.job || other.digest == 0) continue;
    const bool same_key =
        other.key != 0 && other.key == log.jobs[item.job].key && other.queue == log.jobs[item.job].queue;
    if (same_key && other.digest == item.other) continue;
    scene.broken("J6",
                 "job " + log.job_text(item.job) + " was taken for job " + log.job_text(item.answer) + ", which has " +
                     (same_key ? "another payload" : "not its key"),
                 {number}, item.job, call.answered);
    return;
  }
}

// Two jobs of one key were unfinished at one time, for certain.
void check_key(const Scene& scene, const std::vector<std::uint32_t>& jobs, const std::string& key) {
  const Deliveries& deliveries = scene.deliveries;
  std::vector<std::uint32_t> sooner = jobs;
  std::sort(sooner.begin(), sooner.end(), [&](std::uint32_t a, std::uint32_t b) {
    return deliveries.span(a).there_since < deliveries.span(b).there_since;
  });
  std::uint32_t longest = 0;
  std::size_t next = 0;
  std::vector<std::uint32_t> by_question = sooner;
  std::sort(by_question.begin(), by_question.end(), [&](std::uint32_t a, std::uint32_t b) {
    return deliveries.span(a).first_asked < deliveries.span(b).first_asked;
  });
  for (const std::uint32_t job : by_question) {
    const JobSpan& span = deliveries.span(job);
    if (span.there_since == kNever) continue;
    for (; next < sooner.size() && deliveries.span(sooner[next]).there_since < span.first_asked; ++next) {
      if (longest == 0 || deliveries.span(sooner[next]).unfinished_until > deliveries.span(longest).unfinished_until)
        longest = sooner[next];
    }
    if (longest == 0 || longest == job || deliveries.span(longest).unfinished_until <= span.there_since) continue;
    scene.broken("J6",
                 "job " + scene.log.job_text(job) + " was let in under key " + key + " though job " +
                     scene.log.job_text(longest) + " had it and was not finished",
                 {deliveries.span(longest).enqueue, span.enqueue}, job, span.there_since);
    return;
  }
}

// A retry makes a job unfinished: its key must be its own then.
void check_retries(const Scene& scene, const std::map<Key, std::vector<std::uint32_t>>& keys) {
  const CallLog& log = scene.log;
  std::set<std::pair<std::uint32_t, Name>> before;
  for (CallNumber number = 0; number < log.calls.size(); ++number) {
    const Call& call = log.calls[number];
    if (call.verb != Verb::retry || !call.may_count()) continue;
    for (std::uint32_t i = 0; i < call.item_count; ++i) {
      const Item& item = log.items[call.items + i];
      const JobEntry& job = log.jobs[item.job];
      const bool is_repeat = !before.insert({item.job, call.request}).second;
      if (job.key == 0 || is_repeat || call.status != Status::ok || item.reason != Reason::none) continue;
      const auto same = keys.find({job.queue, job.key});
      if (same == keys.end()) continue;
      for (const std::uint32_t other : same->second) {
        const JobSpan& span = scene.deliveries.span(other);
        if (other == item.job || span.there_since >= call.asked || span.unfinished_until <= call.answered) continue;
        scene.broken(
            "J6", "job " + log.job_text(item.job) + " was retried though job " + log.job_text(other) + " had its key",
            {span.enqueue, number}, item.job, call.answered);
        return;
      }
    }
  }
}

// Refused as a conflict, and nobody has another payload under its key or id.
void check_conflict(const Scene& scene, CallNumber number, const std::map<Key, std::vector<std::uint32_t>>& keys) {
  const CallLog& log = scene.log;
  const Call& call = log.calls[number];
  for (std::uint32_t i = 0; i < call.item_count; ++i) {
    const Item& item = log.items[call.items + i];
    const JobEntry& job = log.jobs[item.job];
    if (job.digest != item.other) return;
    const auto same = keys.find({job.queue, job.key});
    if (job.key == 0 || same == keys.end()) continue;
    for (const std::uint32_t other : same->second) {
      if (log.jobs[other].digest != item.other) return;
    }
  }
  scene.broken("J6", "an enqueue was refused as a conflict and there is none", {number},
               call.item_count > 0 ? log.items[call.items].job : 0, call.answered);
}

void check_batches(const Scene& scene) {
  const CallLog& log = scene.log;
  std::map<Name, CallNumber> first;
  for (CallNumber number = 0; number < log.calls.size(); ++number) {
    const Call& call = log.calls[number];
    if (call.verb != Verb::open_batch || call.status != Status::ok) continue;
    const auto [known, is_new] = first.emplace(call.request, number);
    if (is_new || log.calls[known->second].left == call.left) continue;
    const Time apart = call.left - log.calls[known->second].left;
    if (apart >= kBatchRemembered || apart <= -kBatchRemembered) {  // it was forgotten in between
      known->second = number;
      continue;
    }
    scene.broken("J1", "the batch " + std::string(log.text(call.request)) + " has two first moments",
                 {known->second, number}, 0, call.answered);
    return;
  }
}

}  // namespace

void check_enqueues(const Scene& scene) {
  const CallLog& log = scene.log;
  std::map<Key, std::vector<std::uint32_t>> keys;
  for (std::uint32_t job = 1; job < log.jobs.size(); ++job) {
    if (log.jobs[job].key != 0) keys[{log.jobs[job].queue, log.jobs[job].key}].push_back(job);
  }
  std::vector<std::pair<Time, Time>> asked_of(log.jobs.size(), {kNever, kNever});
  bool removals = false;
  for (const Call& call : log.calls) {
    removals = removals || ((call.verb == Verb::tidy || call.verb == Verb::remove_namespace) && call.may_count());
    if (call.verb != Verb::enqueue || !call.may_count()) continue;
    for (std::uint32_t i = 0; i < call.item_count; ++i) {
      auto& [first, second] = asked_of[log.items[call.items + i].job];
      if (call.asked < first) second = std::exchange(first, call.asked);
      else second = std::min(second, call.asked);
    }
  }
  for (CallNumber number = 0; number < log.calls.size(); ++number) {
    const Call& call = log.calls[number];
    if (call.verb != Verb::enqueue) continue;
    if (call.status == Status::ok) {
      if (log.about.whole) check_existing(scene, number, asked_of, removals);
      check_aliases(scene, number);
    } else if (call.conflict && log.about.whole) {
      check_conflict(scene, number, keys);
    }
  }
  for (const auto& [key, jobs] : keys) check_key(scene, jobs, std::string(log.text(key.second)));
  check_retries(scene, keys);
  check_batches(scene);
}

}  // namespace fenceline::audit
