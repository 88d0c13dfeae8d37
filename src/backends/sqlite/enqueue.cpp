// Adding jobs. A first attempt without unique keys is three statements for the whole batch; only when some id is there
// already, or a key is asked for, are the jobs looked at one by one.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "backends/sqlite/extras.hpp"
#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/limit_keys.hpp"
#include "backends/sqlite/next_seq.hpp"
#include "backends/sqlite/ready_lanes.hpp"
#include "backends/sqlite/unique_keys.hpp"
#include "backends/sqlite/verbs.hpp"
#include "base/duration_text.hpp"

namespace fenceline::sqlite {
namespace {

// c0 id, c1 queue, c2 priority, c3 attempts, c4 run time, c5 payload, c6 flags, c7 group, c8 limit key, c9 extras
constexpr const char* kInsertJobs = R"sql(
  INSERT OR IGNORE INTO job (seq, ns_id, id, queue_id, priority, attempts_max, created_at, run_at, flags, group_id, limit_id, extras, payload)
  SELECT ?1 + n, ?2, c0, c1, c2, c3, ?3, nullif(c4, ?3), c6, c7, c8, c9, c5 FROM batch)sql";
// c0 queue, c1 lane, c2 rank, c3 run time, c4 number, c5 more, c6 limit key
constexpr const char* kInsertReady = R"sql(
  INSERT INTO ready (queue_id, lane, rank, run_at, seq, more, limit_id) SELECT c0, c1, c2, c3, c4, c5, c6 FROM batch)sql";

// The same for plain jobs of one queue that share all but id and payload, as most batches do: what they share is said once.
// ?4 queue, ?5 priority, ?6 attempts, ?7 run time
constexpr const char* kInsertJobsAlike = R"sql(
  INSERT OR IGNORE INTO job (seq, ns_id, id, queue_id, priority, attempts_max, created_at, run_at, flags, payload)
  SELECT ?1 + n, ?2, c0, ?4, ?5, ?6, ?3, nullif(?7, ?3), 0, c5 FROM batch)sql";

constexpr const char* kInsertMembers = "INSERT INTO member (group_id, place, seq) SELECT c7, ?1 + n, ?1 + n FROM batch WHERE c7 IS NOT NULL";
constexpr const char* kInsertTag = "INSERT INTO tag (ns_id, name, seq) VALUES (?1, ?2, ?3)";

constexpr const char* kFirstSeq = "UPDATE namespace SET first_seq = ?2 WHERE id = ?1 AND first_seq = 0";

constexpr const char* kSameId = "SELECT queue_id, payload FROM job WHERE ns_id = ?1 AND id = ?2";
constexpr const char* kHolder = "SELECT id, payload FROM job WHERE seq = ?1";
constexpr const char* kSomeAlias = "SELECT 1 FROM alias WHERE ns_id = ?1 LIMIT 1";
constexpr const char* kAlias = R"sql(
  SELECT a.holder, j.queue_id, j.payload FROM alias a LEFT JOIN job j ON j.ns_id = a.ns_id AND j.id = a.holder
  WHERE a.ns_id = ?1 AND a.id = ?2)sql";
constexpr const char* kAddAlias = "INSERT INTO alias (ns_id, id, holder, at) VALUES (?1, ?2, ?3, ?4)";

constexpr const char* kBatch = "SELECT first_seen FROM batch_name WHERE ns_id = ?1 AND name = ?2";
constexpr const char* kNameBatch = "INSERT OR REPLACE INTO batch_name (ns_id, name, first_seen) VALUES (?1, ?2, ?3)";

struct Added {
  const NewJob* job;
  std::int64_t queue_id;
  std::int64_t run_at = 0;
  std::int64_t flags = 0;
  std::optional<std::int64_t> group_id;
  std::optional<std::int64_t> limit_id;
  std::int64_t lane = kCommonLane;
  std::string extras;
};

// Whether nothing but id and payload tells the jobs apart.
bool are_alike(const std::vector<Added>& added) {
  const Added& first = added.front();
  return std::all_of(added.begin(), added.end(), [&](const Added& one) {
    return one.queue_id == first.queue_id && one.run_at == first.run_at && one.extras.empty() && one.job->priority == first.job->priority &&
           one.job->attempts_max == first.job->attempts_max;
  });
}

// What a set of jobs has to do with others.
struct Ties {
  std::set<std::pair<std::int64_t, std::int64_t>> limit_keys;  // home and key: who is let out is to be chosen
  bool groups = false;
  bool tags_or_keys = false;
};

// Sets what is not plain about the job: its flags, its gates, its lane.
void tie(Call& call, Added& added, std::set<std::int64_t>& groups_taken, Ties& ties) {
  const NewJob& job = *added.job;
  added.lane = kCommonLane;
  added.extras = pack_extras(job);
  if (added.extras.empty()) return;
  const std::int64_t home_id = call.names.home_of(added.queue_id);
  if (!job.key.empty()) added.flags |= kHasUniqueKey;
  if (!job.tags.empty()) added.flags |= kHasTags;
  ties.tags_or_keys = ties.tags_or_keys || (added.flags & (kHasUniqueKey | kHasTags)) != 0;
  if (!job.limit_key.empty()) {
    added.flags |= kHasLimitKey;
    added.limit_id = intern_limit_key(call, home_id, job.limit_key);
    if (per_key_most(call, home_id) > 0) added.lane = added.run_at <= call.wall_us() ? kFullLane : kEarlyLane;
  }
  if (!job.group.empty()) {
    added.flags |= kHasGroup;
    added.group_id = intern_group(call, home_id, job.group);
    ties.groups = true;
    const bool first = groups_taken.insert(*added.group_id).second && group_is_free(call, *added.group_id);
    if (!first) added.lane = kHeldLane;
  }
  if (added.lane == kFullLane || added.lane == kEarlyLane) ties.limit_keys.emplace(home_id, *added.limit_id);
}

void add_tags_and_keys(Call& call, std::int64_t ns_id, const std::vector<Added>& added, std::int64_t first) {
  for (std::size_t i = 0; i < added.size(); ++i) {
    const NewJob& job = *added[i].job;
    const std::int64_t seq = first + static_cast<std::int64_t>(i);
    if (!job.key.empty()) take_key(call, call.names.home_of(added[i].queue_id), job.key, seq);
    for (const std::string& tag : job.tags) call.db.execute(kInsertTag, ns_id, tag, seq);
  }
}

// One row for neighbours that nothing tells apart.
void insert_ready(Call& call, const std::vector<Added>& added, std::int64_t first) {
  struct Row {
    std::size_t at;
    std::int64_t more = 0;
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < added.size(); ++i) {
    const Added& one = added[i];
    const Added* before = rows.empty() ? nullptr : &added[rows.back().at];
    if (before && one.flags == 0 && before->flags == 0 && one.queue_id == before->queue_id && one.run_at == before->run_at &&
        one.job->priority == before->job->priority)
      rows.back().more += 1;
    else rows.push_back({i});
  }
  call.db.batch().show(rows.size(), [&](std::size_t row, int column) {
    const Added& one = added[rows[row].at];
    switch (column) {
      case 0: return Value::integer(one.queue_id);
      case 1: return Value::integer(one.lane);
      case 2: return Value::integer(-one.job->priority);
      case 3: return Value::integer(one.run_at);
      case 4: return Value::integer(first + static_cast<std::int64_t>(rows[row].at));
      case 5: return Value::integer(rows[row].more);
      default: return Value::maybe(one.limit_id);
    }
  });
  call.db.execute(kInsertReady);
}

// Returns how many went in: all, or fewer because some were there.
std::int64_t insert(Call& call, std::int64_t ns_id, std::vector<Added>& added) {
  Ties ties;
  std::set<std::int64_t> groups_taken;
  for (Added& one : added) {
    one.run_at = one.job->at ? one.job->at->time_since_epoch().count() : call.wall_us() + one.job->delay.count();
    tie(call, one, groups_taken, ties);
  }
  const std::int64_t first = next_seq(call);
  call.db.batch().show(added.size(), [&](std::size_t row, int column) {
    const Added& one = added[row];
    switch (column) {
      case 0: return Value::blob(as_bytes(one.job->id));
      case 1: return Value::integer(one.queue_id);
      case 2: return Value::integer(one.job->priority);
      case 3: return Value::integer(one.job->attempts_max);
      case 4: return Value::integer(one.run_at);
      case 5: return Value::text(one.job->payload);
      case 6: return Value::integer(one.flags);
      case 7: return Value::maybe(one.group_id);
      case 8: return Value::maybe(one.limit_id);
      default: return one.extras.empty() ? Value{} : Value::blob(one.extras);
    }
  });
  const bool alike = are_alike(added);
  const Added& like = added.front();
  if (alike)
    call.db.execute(kInsertJobsAlike, first, ns_id, call.wall_us(), like.queue_id, like.job->priority, like.job->attempts_max, like.run_at);
  else call.db.execute(kInsertJobs, first, ns_id, call.wall_us());
  const std::int64_t inserted = call.db.changes();
  if (inserted != static_cast<std::int64_t>(added.size())) return inserted;
  if (ties.groups) call.db.execute(kInsertMembers, first);
  insert_ready(call, added, first);
  call.db.execute(kFirstSeq, ns_id, first);
  for (std::size_t i = 0, next = 0; i < added.size(); i = next) {
    while (next < added.size() && added[next].queue_id == added[i].queue_id) ++next;
    call.awakened.insert(added[i].queue_id);
    call.came(added[i].queue_id, JobState::ready, static_cast<std::int64_t>(next - i));
  }
  if (ties.tags_or_keys) add_tags_and_keys(call, ns_id, added, first);
  for (const auto& [home_id, limit_id] : ties.limit_keys) choose_of_key(call, home_id, limit_id);
  return inserted;
}

std::unexpected<Error> key_conflict(const NewJob& wanted, const JobId& holder, JobState state) {
  return fail(Code::conflict, "key '" + wanted.key + "' of queue " + wanted.queue + " is taken by job " + to_string(holder) + " (" +
                                  std::string(to_string(state)) + ") with another payload");
}

// Who answers for each job of a request, looked at one by one.
class Lookup {
 public:
  Lookup(Call& call, std::int64_t ns_id) : call_(call), ns_id_(ns_id), some_alias_(call.db.number(kSomeAlias, ns_id).has_value()) {}

  // The id of the job that is there already and stands for this one; empty: it is to be added. Errors: conflict.
  Result<std::optional<JobId>> find(const Added& wanted) {
    const NewJob& job = *wanted.job;
    if (auto there = call_.db.query(kSameId, ns_id_, Bytes{as_bytes(job.id)}); there.next()) {
      if (there.integer(0) != wanted.queue_id || there.bytes(1) != job.payload)
        return fail(Code::conflict, "job " + to_string(job.id) + " is there already with another queue, stage or payload");
      return job.id;
    }
    if (some_alias_) {
      if (auto alias = call_.db.query(kAlias, ns_id_, Bytes{as_bytes(job.id)}); alias.next()) return aliased(wanted, alias);
    }
    if (job.key.empty()) return std::nullopt;
    return by_key(wanted);
  }
  // Ids that stand for another job from now on.
  const std::map<JobId, JobId>& new_aliases() const { return new_aliases_; }

 private:
  Result<std::optional<JobId>> aliased(const Added& wanted, const Rows& alias) {
    const JobId holder = as_id(alias.bytes(0));
    const bool there = !alias.is_null(1);
    if (there && (call_.names.home_of(alias.integer(1)) != call_.names.home_of(wanted.queue_id) || !same_json(alias.bytes(2), wanted.job->payload)))
      return fail(Code::conflict,
                  "job " + to_string(wanted.job->id) + " stands for job " + to_string(holder) + ", which has another queue or payload");
    return holder;
  }
  Result<std::optional<JobId>> by_key(const Added& wanted) {
    const NewJob& job = *wanted.job;
    const std::pair key{call_.names.home_of(wanted.queue_id), job.key};
    std::optional<std::pair<JobId, std::string>> holder;
    const auto seq = key_holder(call_, key.first, key.second);
    if (seq) {
      auto row = call_.db.query(kHolder, *seq);
      if (row.next()) holder = {as_id(row.bytes(0)), row.text(1)};
    }
    if (!holder) {
      const auto [earlier, is_new] = new_keys_.try_emplace(key, &job);
      if (is_new) return std::nullopt;
      holder = {earlier->second->id, earlier->second->payload};
    }
    if (!same_json(holder->second, job.payload))
      return key_conflict(job, holder->first, seq ? find_delivery(call_, *seq).state : JobState::ready);
    new_aliases_[job.id] = holder->first;
    return holder->first;
  }

  Call& call_;
  std::int64_t ns_id_;
  bool some_alias_;
  std::map<std::pair<std::int64_t, std::string>, const NewJob*> new_keys_;  // by home and key
  std::map<JobId, JobId> new_aliases_;
};

Result<EnqueueReply> enqueue_one_by_one(Call& call, std::int64_t ns_id, const std::vector<Added>& wanted) {
  EnqueueReply reply;
  std::vector<Added> fresh;
  Lookup lookup(call, ns_id);
  for (const Added& one : wanted) {
    const Result<std::optional<JobId>> there = lookup.find(one);
    if (!there) return std::unexpected(there.error());
    if (*there) reply.existing += 1;
    else fresh.push_back(one);
    reply.ids.push_back(there->value_or(one.job->id));
  }
  if (!fresh.empty()) insert(call, ns_id, fresh);
  for (const auto& [id, holder] : lookup.new_aliases())
    call.db.execute(kAddAlias, ns_id, Bytes{as_bytes(id)}, Bytes{as_bytes(holder)}, call.wall_us());
  return reply;
}

}  // namespace

Result<EnqueueReply> enqueue(Call& call, const EnqueueRequest& request) {
  EnqueueReply reply;
  if (request.jobs.empty()) return reply;
  const std::int64_t ns_id = call.names.intern_namespace(request.ns);
  std::vector<Added> wanted;
  wanted.reserve(request.jobs.size());
  bool keys = false;
  for (const NewJob& job : request.jobs) {
    Added& added = wanted.emplace_back();
    added.job = &job;
    const Added* last = wanted.size() > 1 ? &wanted[wanted.size() - 2] : nullptr;
    const bool same = last && last->job->queue == job.queue && last->job->stage == job.stage;
    added.queue_id = same ? last->queue_id : call.names.intern_queue(ns_id, job.queue, job.stage);
    keys = keys || !job.key.empty();
  }
  if (keys || call.db.number(kSomeAlias, ns_id)) return enqueue_one_by_one(call, ns_id, wanted);

  call.db.execute("SAVEPOINT attempt");
  const std::int64_t inserted = insert(call, ns_id, wanted);
  if (inserted != static_cast<std::int64_t>(wanted.size())) {
    call.db.execute("ROLLBACK TO attempt");
    call.db.execute("RELEASE attempt");
    return enqueue_one_by_one(call, ns_id, wanted);
  }
  call.db.execute("RELEASE attempt");
  reply.ids.reserve(request.jobs.size());
  for (const NewJob& job : request.jobs) reply.ids.push_back(job.id);
  return reply;
}

Result<BatchReply> open_batch(Call& call, const BatchRequest& request) {
  const std::int64_t ns_id = call.names.intern_namespace(request.ns);
  if (const auto seen = call.db.number(kBatch, ns_id, request.name)) {
    const Duration age{call.wall_us() - *seen};
    if (age < kBatchRememberedFor) {
      if (age <= kBatchRepeatableFor) return BatchReply{wall_time(*seen)};
      return fail(Code::refused, "batch '" + request.name + "' was first seen " + format_duration(age) +
                                     " ago and can be repeated for 24h; give this one another name");
    }
  }
  call.db.execute(kNameBatch, ns_id, request.name, call.wall_us());
  return BatchReply{call.wall};
}

}  // namespace fenceline::sqlite
