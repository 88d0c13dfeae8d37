// How jobs come in: repeats by id, repeats by unique key, and batches by name.
#include <algorithm>

#include "backends/memory/memory_store.hpp"
#include "base/duration_text.hpp"

namespace fenceline {
namespace {

Job made_from(const NewJob& wanted, WallTime now) {
  Job job;
  job.id = wanted.id;
  job.queue = wanted.queue;
  job.stage = wanted.stage;
  job.payload = wanted.payload;
  job.priority = wanted.priority;
  job.attempts_max = wanted.attempts_max;
  job.backoff = wanted.backoff;
  job.timeout = wanted.timeout;
  job.key = wanted.key;
  job.key_for = wanted.key_for;
  job.group = wanted.group;
  job.limit_key = wanted.limit_key;
  job.tags = wanted.tags;
  job.traceparent = wanted.traceparent;
  job.created_at = now;
  job.run_at = std::max(now, wanted.at.value_or(now + wanted.delay));
  return job;
}

}  // namespace

const MemoryStore::Entry* MemoryStore::key_holder(const Space& space, const std::string& queue, const std::string& key,
                                                  const Now& now) {
  const auto taken = space.keys.find({queue, key});
  if (taken == space.keys.end()) return nullptr;
  const Entry& entry = space.jobs.at(taken->second);
  const bool kept = entry.job.finished_at && *entry.job.finished_at + entry.job.key_for > now.wall;
  return !is_finished(entry.job.state) || kept ? &entry : nullptr;
}

void MemoryStore::add_job(Space& space, const NewJob& wanted, const Now& now, Changes& changes) {
  Entry& entry = space.jobs[wanted.id];
  entry.job = made_from(wanted, now.wall);
  entry.first_stage = wanted.stage;
  entry.job.deliveries = counters_.deliveries;
  entry.order = entry.group_order = ++last_order_;
  space.queues.try_emplace(wanted.queue);
  if (!wanted.key.empty()) space.keys[{wanted.queue, wanted.key}] = wanted.id;
  if (!wanted.group.empty()) space.groups.try_emplace({wanted.queue, wanted.group}, 0);
  changes.claimable.emplace(wanted.queue, wanted.stage);
}

// First everything is looked at, then everything is added: all or none.
Result<EnqueueReply> MemoryStore::enqueue(const EnqueueRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  EnqueueReply reply;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    std::vector<const NewJob*> fresh;
    std::map<InQueue, const NewJob*> fresh_keys;
    std::map<JobId, Alias> fresh_aliases;
    const auto answer = [&](const JobId& id) {
      reply.existing += 1;
      reply.ids.push_back(id);
    };
    const auto key_conflict = [](const NewJob& wanted, const JobId& holder, JobState state) {
      return fail(Code::conflict, "key '" + wanted.key + "' of queue " + wanted.queue + " is taken by job " +
                                      to_string(holder) + " (" + std::string(to_string(state)) +
                                      ") with another payload");
    };

    for (const NewJob& wanted : request.jobs) {
      if (const Entry* there = find_job(space, wanted.id)) {
        const Job& job = there->job;
        if (job.queue != wanted.queue || there->first_stage != wanted.stage || job.payload != wanted.payload)
          return fail(Code::conflict,
                      "job " + to_string(wanted.id) + " already exists with another queue, stage or payload");
        answer(wanted.id);
        continue;
      }
      if (const auto alias = space.aliases.find(wanted.id); alias != space.aliases.end()) {
        const Entry* holder = find_job(space, alias->second.holder);
        if (holder && (holder->job.queue != wanted.queue || !same_json(holder->job.payload, wanted.payload)))
          return fail(Code::conflict, "job " + to_string(wanted.id) + " is an alias of job " +
                                          to_string(holder->job.id) + ", which has another queue or payload");
        answer(alias->second.holder);
        continue;
      }
      if (!wanted.key.empty()) {
        const InQueue key{wanted.queue, wanted.key};
        const Entry* holder = key_holder(space, wanted.queue, wanted.key, now);
        const auto earlier = fresh_keys.find(key);
        if (holder || earlier != fresh_keys.end()) {
          const JobId& id = holder ? holder->job.id : earlier->second->id;
          if (!same_json(holder ? holder->job.payload : earlier->second->payload, wanted.payload))
            return key_conflict(wanted, id, holder ? holder->job.state : JobState::ready);
          fresh_aliases[wanted.id] = {id, now.wall};
          answer(id);
          continue;
        }
        fresh_keys[key] = &wanted;
      }
      fresh.push_back(&wanted);
      reply.ids.push_back(wanted.id);
    }

    for (const NewJob* wanted : fresh) add_job(space, *wanted, now, changes);
    space.aliases.merge(fresh_aliases);
  }
  tell(request.ns, changes);
  return reply;
}

Result<BatchReply> MemoryStore::open_batch(const BatchRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const WallTime wall = clock_.wall_now();
  const auto [place, is_new] = spaces_[request.ns].batches.try_emplace(request.name, wall);
  const Duration age = wall - place->second;
  if (age >= kBatchRememberedFor) place->second = wall;
  else if (age > kBatchRepeatableFor)
    return fail(Code::refused, "batch '" + request.name + "' was first seen " +
                                   format_duration(std::chrono::floor<std::chrono::hours>(age)) +
                                   " ago and can be repeated for 24h only; use another name");
  return BatchReply{place->second};
}

}  // namespace fenceline
