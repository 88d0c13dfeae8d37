// Retention: finished jobs whose time is over go, and with them what nobody can ask for any more. Deleting never lowers
// a fence: the floor is raised in the same step.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/effect_rows.hpp"
#include "backends/sqlite/finished.hpp"
#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/job_rows.hpp"
#include "backends/sqlite/lock_rows.hpp"
#include "backends/sqlite/schedule_rows.hpp"
#include "backends/sqlite/seq_ranges.hpp"
#include "backends/sqlite/slots.hpp"
#include "backends/sqlite/unique_keys.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kHomesOf = "SELECT id FROM home WHERE ns_id = ?1 ORDER BY id";
constexpr const char* kEndedBefore =
    "SELECT at, n, seqs FROM ended WHERE queue_id = ?1 AND kind = ?2 AND at <= ?3 ORDER BY at, n";
constexpr const char* kForgetEnded = "DELETE FROM ended WHERE queue_id = ?1 AND kind = ?2 AND at = ?3 AND n = ?4";
constexpr const char* kAskAgain = R"sql(
  INSERT INTO ended (queue_id, kind, at, n, seqs)
  SELECT ?1, ?2, ?3, 1 + coalesce((SELECT max(n) FROM ended WHERE queue_id = ?1 AND kind = ?2 AND at = ?3), 0), ?4)sql";
constexpr const char* kCutEnded = "UPDATE ended SET seqs = ?5 WHERE queue_id = ?1 AND kind = ?2 AND at = ?3 AND n = ?4";
constexpr const char* kState = R"sql(
  SELECT d.state, d.fence, j.flags, j.group_id, j.limit_id, d.finished_at, j.queue_id FROM done d
    CROSS JOIN job j ON j.seq = (SELECT max(seq) FROM job WHERE seq <= ?1)
  WHERE d.seq = (SELECT max(seq) FROM done WHERE seq <= ?1) AND d.seq + d.more >= ?1)sql";
constexpr const char* kSlot = "SELECT 1 FROM slot WHERE seq = ?1 AND lease_end > ?2";

constexpr const char* kKeyUntil =
    "SELECT until FROM unique_key WHERE home_id = ?1 AND name = ?2 AND seq = ?3 AND until > ?4";

// Kinds of `ended`: done, and dead or cancelled, by when they finished; the same that had their unique key when their
// retention was over, by when to ask again.
constexpr int kEndedDone = 0;
constexpr int kEndedOther = 1;
constexpr int kAskedAgain = 2;  // added to one of the others

constexpr const char* kForgetKey = "DELETE FROM unique_key WHERE home_id = ?1 AND name = ?2 AND seq = ?3";
constexpr const char* kForgetTag = "DELETE FROM tag WHERE ns_id = ?1 AND name = ?2 AND seq = ?3";
// c0 number
constexpr const char* kForgetRows[] = {"DELETE FROM attempt WHERE seq IN (SELECT c0 FROM batch)",
                                       "DELETE FROM note WHERE seq IN (SELECT c0 FROM batch)",
                                       "DELETE FROM log WHERE seq IN (SELECT c0 FROM batch)",
                                       "DELETE FROM slot WHERE seq IN (SELECT c0 FROM batch)",
                                       "DELETE FROM effect WHERE seq IN (SELECT c0 FROM batch)",
                                       "DELETE FROM fenceline_item WHERE seq IN (SELECT c0 FROM batch)"};

constexpr const char* kRaiseSeqFloor =
    "UPDATE meta SET value = max(value, coalesce((SELECT seq + more FROM job ORDER BY seq DESC LIMIT 1), 0)) WHERE key "
    "= 'seq_floor'";
constexpr const char* kJobOfGroup = "SELECT 1 FROM job WHERE group_id = ?1 LIMIT 1";
constexpr const char* kForgetGroup = "DELETE FROM grp WHERE id = ?1";
constexpr const char* kJobOfLimitKey = "SELECT 1 FROM job WHERE limit_id = ?1 LIMIT 1";
constexpr const char* kForgetLimitKey = "DELETE FROM limit_key WHERE id = ?1";
constexpr const char* kForgetAliases = "DELETE FROM alias WHERE ns_id = ?1 AND at <= ?2";
constexpr const char* kForgetBatches = "DELETE FROM batch_name WHERE ns_id = ?1 AND first_seen <= ?2";

struct OverJob {
  std::int64_t finished_at;
  std::int64_t seq;
  std::int64_t queue_id;
  JobState state;
  Fence fence;
  std::int64_t flags;
  std::optional<std::int64_t> group_id;
  std::optional<std::int64_t> limit_id;

  bool operator<(const OverJob& other) const {
    return std::tie(finished_at, seq) < std::tie(other.finished_at, other.seq);
  }
};

// A row of `ended` with what is still to be said of it.
struct EndedRow {
  std::int64_t queue_id;
  int kind;
  std::int64_t at;
  std::int64_t n;
  std::size_t size;                // as it stands
  std::vector<std::int64_t> seqs;  // that are still so
};

using Place = std::tuple<std::int64_t, int, std::int64_t>;  // in `ended`: queue, kind and at

class Retention {
 public:
  Retention(Call& call, std::int64_t ns_id, std::size_t most)
      : call_(call),
        ns_id_(ns_id),
        most_(most),
        looks_left_(most * kLooksForEach),
        some_doubt_(some_intent_in(call, ns_id)) {}

  // Looks for the oldest that may go, as many as one step removes and one more.
  void look(std::int64_t queue_id, int kind, Duration keep) {
    const std::int64_t finished_until = call_.wall_us() - keep.count();
    look_at_rows(queue_id, kind, finished_until, finished_until);
    look_at_rows(queue_id, kind + kAskedAgain, call_.wall_us(), finished_until);
  }

  TidyReply remove() {
    TidyReply reply;
    std::sort(over_.begin(), over_.end());
    reply.more = cut_short_ || over_.size() > most_;
    if (over_.size() > most_) over_.resize(most_);
    reply.removed = static_cast<std::int64_t>(over_.size());
    forget_ended();
    for (const auto& [place, seqs] : ask_again_)
      call_.db.execute(kAskAgain, std::get<0>(place), std::get<1>(place), std::get<2>(place), Bytes{pack_ranges(seqs)});
    if (!over_.empty()) forget_jobs();
    return reply;
  }

 private:
  void look_at_rows(std::int64_t queue_id, int kind, std::int64_t at_most, std::int64_t finished_until) {
    std::size_t found = 0;
    auto rows = call_.db.query(kEndedBefore, queue_id, kind, at_most);
    while (found <= most_ && rows.next()) {
      if (looks_left_ == 0) {
        cut_short_ = true;
        return;
      }
      const std::vector<std::int64_t> seqs = unpack_ranges(rows.bytes(2));
      looks_left_ -= std::min(looks_left_, seqs.size());
      EndedRow row{queue_id, kind, rows.integer(0), rows.integer(1), seqs.size(), {}};
      for (const std::int64_t seq : seqs) {
        const auto over = still_so(row, seq);
        // One that was retried and ended at the same moment again stands in two rows.
        if (!over || !seen_.insert(seq).second) continue;
        if (const auto at = asked_again_at(*over, finished_until)) {
          ask_again_[*at].push_back(seq);
          continue;
        }
        // Whoever ends its last doubt brings it back: see look_again().
        if (some_doubt_ && has_intent(call_, seq)) continue;
        row.seqs.push_back(seq);
        if (call_.db.number(kSlot, seq, call_.now_us())) continue;
        over_.push_back(*over);
        found += 1;
      }
      rows_.push_back(std::move(row));
    }
  }

  std::optional<OverJob> still_so(const EndedRow& row, std::int64_t seq) {
    auto found = call_.db.query(kState, seq);
    if (!found.next()) return std::nullopt;
    const auto state = static_cast<JobState>(found.integer(0));
    const std::int64_t finished_at = found.integer(5);
    const int kind = state == JobState::done ? kEndedDone : kEndedOther;
    if (kind != row.kind % kAskedAgain || found.integer(6) != row.queue_id) return std::nullopt;
    if (row.kind < kAskedAgain && finished_at != row.at) return std::nullopt;
    return OverJob{
        finished_at,           seq, row.queue_id, state, found.integer(1), found.integer(2), found.maybe_integer(3),
        found.maybe_integer(4)};
  }

  // Where a job that has to stay is met next: it is not looked at in every step until then. One that was retried since,
  // or whose queue keeps jobs longer now, is back among those that wait for the end of their retention.
  std::optional<Place> asked_again_at(const OverJob& over, std::int64_t finished_until) {
    const int kind = over.state == JobState::done ? kEndedDone : kEndedOther;
    if (over.finished_at > finished_until) return Place{over.queue_id, kind, over.finished_at};
    if ((over.flags & kHasUniqueKey) == 0) return std::nullopt;
    const auto until = call_.db.number(kKeyUntil, call_.names.home_of(over.queue_id), extras_of(call_, over.seq).key,
                                       over.seq, call_.wall_us());
    if (!until) return std::nullopt;
    return Place{over.queue_id, kind + kAskedAgain, *until};
  }

  void forget_ended() {
    std::set<std::int64_t> gone;
    for (const OverJob& over : over_) gone.insert(over.seq);
    for (EndedRow& row : rows_) {
      std::erase_if(row.seqs, [&](std::int64_t seq) { return gone.contains(seq); });
      if (row.seqs.size() == row.size) continue;
      if (row.seqs.empty()) call_.db.execute(kForgetEnded, row.queue_id, row.kind, row.at, row.n);
      else call_.db.execute(kCutEnded, row.queue_id, row.kind, row.at, row.n, Bytes{pack_ranges(row.seqs)});
    }
  }

  void forget_jobs() {
    Fence floor = 0;
    std::set<std::int64_t> groups;
    std::set<std::int64_t> limit_keys;
    for (const OverJob& over : over_) {
      floor = std::max(floor, over.fence);
      call_.left(over.queue_id, over.state);
      if (over.group_id) groups.insert(*over.group_id);
      if (over.limit_id) limit_keys.insert(*over.limit_id);
      if ((over.flags & (kHasUniqueKey | kHasTags)) == 0) continue;
      const Job extras = extras_of(call_, over.seq);
      if (!extras.key.empty()) call_.db.execute(kForgetKey, call_.names.home_of(over.queue_id), extras.key, over.seq);
      for (const std::string& tag : extras.tags) call_.db.execute(kForgetTag, ns_id_, tag, over.seq);
    }
    call_.db.execute(kRaiseSeqFloor);
    std::vector<std::int64_t> seqs;
    for (const OverJob& over : over_) seqs.push_back(over.seq);
    drop_finished(call_, seqs);
    drop_jobs(call_, std::move(seqs));
    call_.db.batch().show(over_.size(), [&](std::size_t row, int) { return Value::integer(over_[row].seq); });
    for (const char* sql : kForgetRows) call_.db.execute(sql);
    for (const std::int64_t group_id : groups) {
      if (call_.db.number(kJobOfGroup, group_id)) continue;
      floor = std::max(floor, fence_of_group(call_, group_id));
      call_.db.execute(kForgetGroup, group_id);
    }
    for (const std::int64_t limit_id : limit_keys) {
      if (!call_.db.number(kJobOfLimitKey, limit_id)) call_.db.execute(kForgetLimitKey, limit_id);
    }
    raise_floor_to(call_, floor);
  }

  Call& call_;
  std::int64_t ns_id_;
  std::size_t most_;
  std::size_t looks_left_;
  bool some_doubt_;         // some effect of the namespace is an intent
  bool cut_short_ = false;  // there was more to look at
  std::map<Place, std::vector<std::int64_t>> ask_again_;
  std::vector<OverJob> over_;
  std::vector<EndedRow> rows_;
  std::set<std::int64_t> seen_;
};

// All that a namespace has, in an order in which nothing is looked for that has gone.
constexpr const char* kRemoveAll[] = {
    "DELETE FROM ready WHERE queue_id IN (SELECT id FROM queue WHERE ns_id = ?1)",
    "DELETE FROM ended WHERE queue_id IN (SELECT id FROM queue WHERE ns_id = ?1)",
    "DELETE FROM member WHERE group_id IN (SELECT g.id FROM grp g JOIN home h ON h.id = g.home_id WHERE h.ns_id = ?1)",
    "DELETE FROM grp WHERE home_id IN (SELECT id FROM home WHERE ns_id = ?1)",
    "DELETE FROM limit_key WHERE home_id IN (SELECT id FROM home WHERE ns_id = ?1)",
    "DELETE FROM unique_key WHERE home_id IN (SELECT id FROM home WHERE ns_id = ?1)",
    "DELETE FROM slot WHERE ns_id = ?1",
    "DELETE FROM alias WHERE ns_id = ?1",
    "DELETE FROM batch_name WHERE ns_id = ?1",
    "DELETE FROM tag WHERE ns_id = ?1",
    "DELETE FROM claim WHERE ns_id = ?1",
    "DELETE FROM worker WHERE ns_id = ?1",
    "DELETE FROM job WHERE ns_id = ?1",
    "DELETE FROM fenceline_lock WHERE ns_id = ?1",
    "DELETE FROM fenceline_lock_holder WHERE ns_id = ?1",
    "DELETE FROM fenceline_lock_waiter WHERE ns_id = ?1",
    "DELETE FROM fenceline_lock_withdrawn WHERE ns_id = ?1",
    "DELETE FROM fenceline_schedule_count WHERE ns_id = ?1",
    "DELETE FROM fenceline_schedule WHERE ns_id = ?1",
    "DELETE FROM fenceline_schedule_spec WHERE ns_id = ?1",
    "DELETE FROM fenceline_tick WHERE ns_id = ?1",
    "DELETE FROM fenceline_tick_range WHERE ns_id = ?1",
    "DELETE FROM fenceline_pipeline WHERE ns_id = ?1",
    // Names stay, as numbers that others have remembered: as if they had never been used.
    "UPDATE queue SET ready = 0, running = 0, waiting = 0, done = 0, dead = 0, cancelled = 0, looked_at = 0 WHERE "
    "ns_id = ?1",
    "UPDATE home SET running_most = 0, per_key_most = 0, keep_done = NULL, keep_dead = NULL, paused_at = NULL, "
    "paused_by = NULL, pause_reason = NULL WHERE ns_id = ?1",
    "UPDATE namespace SET first_seq = 0 WHERE id = ?1",
};

// Of each of its jobs, by ranges of their numbers: no row holds jobs of two namespaces.
constexpr const char* kNumbers = "SELECT seq, more FROM job WHERE ns_id = ?1";
constexpr const char* kRemoveNumbers[] = {
    "DELETE FROM run WHERE seq BETWEEN ?1 AND ?2",     "DELETE FROM done WHERE seq BETWEEN ?1 AND ?2",
    "DELETE FROM attempt WHERE seq BETWEEN ?1 AND ?2", "DELETE FROM note WHERE seq BETWEEN ?1 AND ?2",
    "DELETE FROM log WHERE seq BETWEEN ?1 AND ?2",     "DELETE FROM waiting WHERE seq BETWEEN ?1 AND ?2",
    "DELETE FROM effect WHERE seq BETWEEN ?1 AND ?2",  "DELETE FROM fenceline_item WHERE seq BETWEEN ?1 AND ?2",
};
constexpr const char* kLargestOfNumbers = R"sql(
  SELECT max(coalesce((SELECT max(fence) FROM run WHERE seq BETWEEN ?1 AND ?2), 0),
    coalesce((SELECT max(fence) FROM done WHERE seq BETWEEN ?1 AND ?2), 0),
             coalesce((SELECT max(fence) FROM waiting WHERE seq BETWEEN ?1 AND ?2), 0)))sql";

constexpr const char* kLargestFence = R"sql(
  SELECT max(coalesce((SELECT max(fence) FROM ready WHERE queue_id IN (SELECT id FROM queue WHERE ns_id = ?1)), 0),
             coalesce((SELECT max(fence) FROM grp WHERE home_id IN (SELECT id FROM home WHERE ns_id = ?1)), 0),
             coalesce((SELECT max(fence) FROM fenceline_lock WHERE ns_id = ?1), 0)))sql";

}  // namespace

Result<TidyReply> tidy(Call& call, const TidyRequest& request) {
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return TidyReply{};
  std::vector<std::int64_t> homes;
  {
    auto rows = call.db.query(kHomesOf, *ns_id);
    while (rows.next()) homes.push_back(rows.integer(0));
  }
  Retention retention(call, *ns_id, static_cast<std::size_t>(request.limit));
  for (const std::int64_t home_id : homes) {
    free_ended_slots(call, home_id);
    const QueueSettings settings = read_home(call, home_id).settings;
    for (const std::int64_t queue_id : stages_of(call, home_id)) {
      retention.look(queue_id, kEndedDone, settings.keep_done);
      retention.look(queue_id, kEndedOther, settings.keep_dead);
    }
  }
  TidyReply reply = retention.remove();
  call.db.execute(kForgetAliases, *ns_id, call.wall_us() - kAliasKeptFor.count());
  call.db.execute(kForgetBatches, *ns_id, call.wall_us() - Duration{kBatchRememberedFor}.count());
  const TidyReply locks = tidy_locks(call, request.ns, *ns_id, request.limit);
  reply.removed += locks.removed;
  reply.more = reply.more || locks.more;
  const TidyReply ticks = tidy_ticks(call, *ns_id, request.limit);
  reply.removed += ticks.removed;
  reply.more = reply.more || ticks.more;
  return reply;
}

Result<void> remove_namespace(Call& call, const std::string& ns, const Act& act) {
  if (const auto ns_id = call.names.find_namespace(ns)) {
    std::vector<SeqRange> numbers;
    {
      auto rows = call.db.query(kNumbers, *ns_id);
      while (rows.next()) numbers.push_back({rows.integer(0), rows.integer(0) + rows.integer(1)});
    }
    Fence largest = call.db.number(kLargestFence, *ns_id).value_or(0);
    for (const SeqRange& range : numbers) {
      largest = std::max(largest, call.db.number(kLargestOfNumbers, range.first, range.last).value_or(0));
      for (const char* sql : kRemoveNumbers) call.db.execute(sql, range.first, range.last);
    }
    raise_floor_to(call, largest);
    call.db.execute(kRaiseSeqFloor);
    tell_gates(call, ns, *ns_id);
    wake_all_locks(call, ns, *ns_id);
    call.ordered.insert(ns);
    for (const char* sql : kRemoveAll) call.db.execute(sql, *ns_id);
  }
  enter_in_trail(call, ns, act, "namespace_removed", ns);
  return {};
}

}  // namespace fenceline::sqlite
