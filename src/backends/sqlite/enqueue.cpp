// Adding jobs. A first attempt without unique keys is a few statements for the whole batch; only when some id may be
// there already, or a key is asked for, are the jobs looked at one by one.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "backends/sqlite/extras.hpp"
#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/item_rows.hpp"
#include "backends/sqlite/job_rows.hpp"
#include "backends/sqlite/limit_keys.hpp"
#include "backends/sqlite/next_seq.hpp"
#include "backends/sqlite/ready_lanes.hpp"
#include "backends/sqlite/unique_keys.hpp"
#include "backends/sqlite/verbs.hpp"
#include "base/duration_text.hpp"

namespace fenceline::sqlite {
namespace {

// c0 number, c1 more, c2 id, c3 last id, c4 queue, c5 priority, c6 attempts, c7 run time, c8 flags, c9 group, c10 limit
// key, c11 extras, c12 other ids, c13 payload
constexpr const char* kInsertJobs = R"sql(
  INSERT INTO job (seq, more, ns_id, id, last_id, queue_id, priority, attempts_max, created_at, run_at, flags,
    group_id, limit_id, extras, ids, payload)
  SELECT c0, c1, ?1, c2, c3, c4, c5, c6, ?2, nullif(c7, ?2), c8, c9, c10, c11, c12, c13 FROM batch)sql";
// c0 queue, c1 lane, c2 rank, c3 run time, c4 number, c5 more, c6 limit key
constexpr const char* kInsertReady = R"sql(
  INSERT INTO ready (queue_id, lane, rank, run_at, seq, more, limit_id) SELECT c0, c1, c2, c3, c4, c5, c6
    FROM batch)sql";

constexpr const char* kInsertMembers = "INSERT INTO member (group_id, place, seq) SELECT c0, c1, c1 FROM batch";
constexpr const char* kInsertTag = "INSERT INTO tag (ns_id, name, seq) VALUES (?1, ?2, ?3)";

constexpr const char* kSetFirstSeq = "UPDATE namespace SET first_seq = ?2 WHERE id = ?1 AND first_seq = 0";

// Who has a unique key has a row of its own.
constexpr const char* kHolderOfKey = "SELECT id, payload FROM job WHERE seq = ?1";
constexpr const char* kSomeAlias = "SELECT 1 FROM alias WHERE ns_id = ?1 LIMIT 1";
constexpr const char* kAlias = R"sql(
  SELECT a.holder, j.queue_id, j.payload FROM alias a LEFT JOIN job j ON j.ns_id = a.ns_id AND j.id = a.holder
  WHERE a.ns_id = ?1 AND a.id = ?2)sql";
constexpr const char* kAddAlias = "INSERT INTO alias (ns_id, id, holder, at) VALUES (?1, ?2, ?3, ?4)";

constexpr const char* kFindBatch = "SELECT first_seen FROM batch_name WHERE ns_id = ?1 AND name = ?2";
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

// Whether nothing but id and payload tells the two apart, and neither has ties.
bool are_alike(const Added& a, const Added& b) {
  return a.flags == 0 && b.flags == 0 && a.extras.empty() && b.extras.empty() && a.queue_id == b.queue_id &&
         a.run_at == b.run_at && a.job->priority == b.job->priority && a.job->attempts_max == b.job->attempts_max;
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

void insert_jobs(Call& call, std::int64_t ns_id, const std::vector<Added>& added, std::int64_t first, bool alone) {
  std::vector<JobRow> rows;
  const JobId* largest = nullptr;
  for (std::size_t i = 0; i < added.size(); ++i) {
    const JobId& id = added[i].job->id;
    const bool ascends = !largest || *largest < id;  // otherwise the ranges of two rows might overlap
    const Added* before = rows.empty() ? nullptr : &added[rows.back().at];
    if (!before || !ascends || !are_alike(*before, added[i]) ||
        !add_to_row(rows.back(), *before->job, *added[i - 1].job, *added[i].job))
      rows.push_back({.at = i, .alone = alone || !ascends});
    if (ascends) largest = &id;
  }
  call.db.batch().show(rows.size(), [&](std::size_t n, int column) {
    const JobRow& row = rows[n];
    const Added& one = added[row.at];
    switch (column) {
      case 0: return Value::integer(first + static_cast<std::int64_t>(row.at));
      case 1: return Value::integer(row.more);
      case 2: return Value::blob(as_bytes(one.job->id));
      case 3:
        return row.more > 0 ? Value::blob(as_bytes(added[row.at + static_cast<std::size_t>(row.more)].job->id))
                            : Value{};
      case 4: return Value::integer(one.queue_id);
      case 5: return Value::integer(one.job->priority);
      case 6: return Value::integer(one.job->attempts_max);
      case 7: return Value::integer(one.run_at);
      case 8: return Value::integer(one.flags);
      case 9: return Value::maybe(one.group_id);
      case 10: return Value::maybe(one.limit_id);
      case 11: return one.extras.empty() ? Value{} : Value::blob(one.extras);
      case 12: return row.more > 0 ? Value::blob(row.ids) : Value{};
      default: return row.more > 0 ? Value::blob(row.payloads) : Value::text(one.job->payload);
    }
  });
  call.db.execute(kInsertJobs, ns_id, call.wall_us());
}

void insert_members(Call& call, const std::vector<Added>& added, std::int64_t first) {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (added[i].group_id) members.push_back(i);
  }
  call.db.batch().show(members.size(), [&](std::size_t row, int column) {
    return Value::integer(column == 0 ? *added[members[row]].group_id
                                      : first + static_cast<std::int64_t>(members[row]));
  });
  call.db.execute(kInsertMembers);
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
    if (before && are_alike(*before, one)) rows.back().more += 1;
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

// None of them is there. `alone`: their ids may lie among those of rows that hold several jobs, so each gets a row of
// its own.
void insert(Call& call, std::int64_t ns_id, std::vector<Added>& added, bool alone) {
  Ties ties;
  std::set<std::int64_t> groups_taken;
  for (Added& one : added) {
    one.run_at = std::max(call.wall_us(), one.job->at ? one.job->at->time_since_epoch().count()
                                                      : call.wall_us() + one.job->delay.count());
    tie(call, one, groups_taken, ties);
  }
  const std::int64_t first = next_seq(call);
  insert_jobs(call, ns_id, added, first, alone);
  insert_ready(call, added, first);
  if (ties.groups) insert_members(call, added, first);
  call.db.execute(kSetFirstSeq, ns_id, first);
  for (std::size_t i = 0, next = 0; i < added.size(); i = next) {
    while (next < added.size() && added[next].queue_id == added[i].queue_id) ++next;
    call.awakened.insert(added[i].queue_id);
    call.came(added[i].queue_id, JobState::ready, static_cast<std::int64_t>(next - i));
  }
  if (ties.tags_or_keys) add_tags_and_keys(call, ns_id, added, first);
  for (const auto& [home_id, limit_id] : ties.limit_keys) choose_of_key(call, home_id, limit_id);
}

// Whether some of the ids may be there already, or lie among those of others: asked for all of them at once, then, as
// another producer may be at work, for stretches that ascend.
bool may_be_there(Call& call, std::int64_t ns_id, const std::vector<Added>& wanted) {
  const auto [least, most] = std::minmax_element(wanted.begin(), wanted.end(),
                                                 [](const Added& a, const Added& b) { return a.job->id < b.job->id; });
  if (!may_be_there(call, ns_id, least->job->id, most->job->id)) return false;
  constexpr std::size_t kStretchMost = 64;  // short ones seldom lie across those of another producer
  for (std::size_t i = 0, next = 0; i < wanted.size(); i = next) {
    // From the one before, if both may stand in one row: nothing of others may lie between them.
    const bool goes_on = i > 0 && wanted[i - 1].job->id < wanted[i].job->id &&
                         of_one_millisecond(wanted[i - 1].job->id, wanted[i].job->id);
    const JobId& first = wanted[goes_on ? i - 1 : i].job->id;
    for (next = i + 1; next < wanted.size() && next - i < kStretchMost; ++next) {
      if (!(wanted[next - 1].job->id < wanted[next].job->id) || !of_one_millisecond(first, wanted[next].job->id)) break;
    }
    if (may_be_there(call, ns_id, first, wanted[next - 1].job->id)) return true;
  }
  return false;
}

std::unexpected<Error> key_conflict(const NewJob& wanted, const JobId& holder, JobState state) {
  return fail(Code::conflict, "key '" + wanted.key + "' of queue " + wanted.queue + " is taken by job " +
                                  to_string(holder) + " (" + std::string(to_string(state)) + ") with another payload");
}

// Who answers for each job of a request, looked at one by one.
class Lookup {
 public:
  Lookup(Call& call, std::int64_t ns_id)
      : call_(call), ns_id_(ns_id), ids_(call, ns_id), some_alias_(call.db.number(kSomeAlias, ns_id).has_value()) {}

  // The id of the job that is there already and stands for this one; empty: it is to be added. Errors: conflict.
  Result<std::optional<JobId>> find(const Added& wanted) {
    const NewJob& job = *wanted.job;
    if (const auto seq = ids_.find(job.id)) {
      JobWalk there(call_);
      const bool same =
          there.find(*seq) && first_queue(*seq, there.queue_id()) == wanted.queue_id && there.payload() == job.payload;
      if (!same)
        return fail(Code::conflict,
                    "job " + to_string(job.id) + " already exists with another queue, stage or payload");
      return job.id;
    }
    if (some_alias_) {
      if (auto alias = call_.db.query(kAlias, ns_id_, Bytes{as_bytes(job.id)}); alias.next())
        return aliased(wanted, alias);
    }
    if (job.key.empty()) return std::nullopt;
    return by_key(wanted);
  }
  // Ids that stand for another job from now on.
  const std::map<JobId, JobId>& new_aliases() const { return new_aliases_; }

 private:
  // Where it was enqueued, wherever it was put since.
  std::int64_t first_queue(std::int64_t seq, std::int64_t queue_id) {
    const ItemRow item = find_item(call_, seq);
    return item.revision > 0 ? item.first_queue_id : queue_id;
  }
  Result<std::optional<JobId>> aliased(const Added& wanted, const Rows& alias) {
    const JobId holder = as_id(alias.bytes(0));
    const bool there = !alias.is_null(1);
    if (there && (call_.names.home_of(alias.integer(1)) != call_.names.home_of(wanted.queue_id) ||
                  !same_json(alias.bytes(2), wanted.job->payload)))
      return fail(Code::conflict, "job " + to_string(wanted.job->id) + " is an alias of job " + to_string(holder) +
                                      ", which has another queue or payload");
    return holder;
  }
  Result<std::optional<JobId>> by_key(const Added& wanted) {
    const NewJob& job = *wanted.job;
    const std::pair key{call_.names.home_of(wanted.queue_id), job.key};
    std::optional<std::pair<JobId, std::string>> holder;
    const auto seq = key_holder(call_, key.first, key.second);
    if (seq) {
      auto row = call_.db.query(kHolderOfKey, *seq);
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
  IdWalk ids_;
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
  if (!fresh.empty()) insert(call, ns_id, fresh, true);
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
  if (keys || call.db.number(kSomeAlias, ns_id) || may_be_there(call, ns_id, wanted))
    return enqueue_one_by_one(call, ns_id, wanted);
  insert(call, ns_id, wanted, false);
  reply.ids.reserve(request.jobs.size());
  for (const NewJob& job : request.jobs) reply.ids.push_back(job.id);
  return reply;
}

Result<BatchReply> open_batch(Call& call, const BatchRequest& request) {
  const std::int64_t ns_id = call.names.intern_namespace(request.ns);
  if (const auto seen = call.db.number(kFindBatch, ns_id, request.name)) {
    const Duration age{call.wall_us() - *seen};
    if (age < kBatchRememberedFor) {
      if (age <= kBatchRepeatableFor) return BatchReply{wall_time(*seen)};
      return fail(Code::refused, "batch '" + request.name + "' was first seen " + format_duration(age) +
                                     " ago and can be repeated for 24h only; use another name");
    }
  }
  call.db.execute(kNameBatch, ns_id, request.name, call.wall_us());
  return BatchReply{call.wall};
}

}  // namespace fenceline::sqlite
