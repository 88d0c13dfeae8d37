#include "backends/sqlite/homes.hpp"

#include <algorithm>
#include <map>

#include "backends/sqlite/limit_keys.hpp"
#include "backends/sqlite/ready_lanes.hpp"
#include "base/check.hpp"
#include "base/duration_text.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kHome = R"sql(
  SELECT running_most, per_key_most, keep_done, keep_dead, paused_at, paused_by, pause_reason FROM home
    WHERE id = ?1)sql";
constexpr const char* kPerKeyMost = "SELECT per_key_most FROM home WHERE id = ?1";
constexpr const char* kIsLimited = "SELECT 1 FROM home WHERE id = ?1 AND (running_most > 0 OR per_key_most > 0)";
constexpr const char* kStages = "SELECT id FROM queue WHERE home_id = ?1 ORDER BY id";
constexpr const char* kCountRunning = R"sql(
  SELECT coalesce(sum(live), 0) FROM claim INDEXED BY claim_bound WHERE queue_id = ?1 AND live > 0)sql";
constexpr const char* kCountSlots = "SELECT count(*) FROM slot WHERE home_id = ?1 AND lease_end > ?2";
constexpr const char* kSet = R"sql(
  UPDATE home SET running_most = ?2, per_key_most = ?3, keep_done = ?4, keep_dead = ?5 WHERE id = ?1)sql";
constexpr const char* kPause = "UPDATE home SET paused_at = ?2, paused_by = ?3, pause_reason = ?4 WHERE id = ?1";
constexpr const char* kResume = "UPDATE home SET paused_at = NULL, paused_by = NULL, pause_reason = NULL WHERE id = ?1";
constexpr const char* kDepths = R"sql(
  UPDATE queue SET ready = ready + ?2, running = running + ?3, waiting = waiting + ?4, done = done + ?5,
    dead = dead + ?6,
    cancelled = cancelled + ?7
  WHERE id = ?1)sql";
constexpr const char* kHomes = R"sql(
  SELECT h.id, h.name, coalesce(sum(q.ready), 0), coalesce(sum(q.running), 0), coalesce(sum(q.waiting), 0),
    coalesce(sum(q.done), 0),
         coalesce(sum(q.dead), 0), coalesce(sum(q.cancelled), 0)
  FROM home h LEFT JOIN queue q ON q.home_id = h.id WHERE h.ns_id = ?1
  GROUP BY h.id ORDER BY h.name)sql";
constexpr const char* kOldestReady = R"sql(
  SELECT min(run_at) FROM ready WHERE queue_id = ?1 AND lane = ?2 AND rank = ?3 AND run_at <= ?4)sql";

// What was asked for, as a person would write it.
std::string described(const SetQueueRequest& request) {
  const QueueChange& change = request.change;
  std::string text = request.queue;
  if (change.limit) text += " limit=" + std::to_string(*change.limit);
  if (change.limit_per_key) text += " limit_per_key=" + std::to_string(*change.limit_per_key);
  if (change.keep_done) text += " keep_done=" + format_duration(*change.keep_done);
  if (change.keep_dead) text += " keep_dead=" + format_duration(*change.keep_dead);
  return text;
}

std::optional<WallTime> oldest_due(Call& call, std::int64_t home_id) {
  std::optional<std::int64_t> oldest;
  for (const std::int64_t queue_id : stages_of(call, home_id)) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      each_rank(call, queue_id, lane, [&](std::int64_t rank) {
        const auto run_at = call.db.number(kOldestReady, queue_id, lane, rank, call.wall_us());
        if (run_at && (!oldest || *run_at < *oldest)) oldest = run_at;
        return true;
      });
    }
  }
  return oldest ? std::optional(wall_time(*oldest)) : std::nullopt;
}

}  // namespace

Home read_home(Call& call, std::int64_t home_id) {
  Home home{.id = home_id};
  auto row = call.db.query(kHome, home_id);
  check(row.next(), "a queue has a home");
  home.settings.limit = static_cast<int>(row.integer(0));
  home.settings.limit_per_key = static_cast<int>(row.integer(1));
  if (!row.is_null(2)) home.settings.keep_done = Duration{row.integer(2)};
  if (!row.is_null(3)) home.settings.keep_dead = Duration{row.integer(3)};
  if (!row.is_null(4)) home.paused = QueuePause{wall_time(row.integer(4)), row.text(5), row.text(6)};
  return home;
}

int per_key_most(Call& call, std::int64_t home_id) {
  return static_cast<int>(call.db.number(kPerKeyMost, home_id).value_or(0));
}

bool is_limited(Call& call, std::int64_t home_id) { return call.db.number(kIsLimited, home_id).has_value(); }

std::vector<std::int64_t> stages_of(Call& call, std::int64_t home_id) {
  std::vector<std::int64_t> stages;
  auto rows = call.db.query(kStages, home_id);
  while (rows.next()) stages.push_back(rows.integer(0));
  return stages;
}

std::int64_t slots_taken(Call& call, std::int64_t home_id) {
  std::int64_t taken = call.db.number(kCountSlots, home_id, call.now_us()).value_or(0);
  for (const std::int64_t queue_id : stages_of(call, home_id))
    taken += call.db.number(kCountRunning, queue_id).value_or(0);
  return taken;
}

std::optional<std::int64_t> room_in(Call& call, const Home& home) {
  if (home.settings.limit == 0) return std::nullopt;
  return std::max<std::int64_t>(0, home.settings.limit - slots_taken(call, home.id));
}

void awaken_stages(Call& call, std::int64_t home_id) {
  for (const std::int64_t queue_id : stages_of(call, home_id)) call.awakened.insert(queue_id);
}

void write_depths(Call& call) {
  const auto of = [](const Call::Depths& depths, JobState state) { return depths[static_cast<std::size_t>(state)]; };
  for (const auto& [queue_id, depths] : call.depths) {
    call.db.execute(kDepths, queue_id, of(depths, JobState::ready), of(depths, JobState::running),
                    of(depths, JobState::waiting), of(depths, JobState::done), of(depths, JobState::dead),
                    of(depths, JobState::cancelled));
  }
  call.depths.clear();
}

Result<void> set_queue(Call& call, const SetQueueRequest& request) {
  const std::int64_t ns_id = call.names.intern_namespace(request.ns);
  const std::int64_t home_id = call.names.intern_home(ns_id, request.queue);
  const QueueSettings before = read_home(call, home_id).settings;
  QueueSettings after = before;
  const QueueChange& change = request.change;
  after.limit = change.limit.value_or(before.limit);
  after.limit_per_key = change.limit_per_key.value_or(before.limit_per_key);
  after.keep_done = change.keep_done.value_or(before.keep_done);
  after.keep_dead = change.keep_dead.value_or(before.keep_dead);
  call.db.execute(kSet, home_id, after.limit, after.limit_per_key, after.keep_done.count(), after.keep_dead.count());
  if (after == before) return {};
  if (after.limit_per_key != before.limit_per_key)
    change_per_key_most(call, home_id, before.limit_per_key, after.limit_per_key);
  awaken_stages(call, home_id);
  enter_in_trail(call, request.ns, request.act, "queue_set", described(request));
  return {};
}

Result<void> pause(Call& call, const PauseRequest& request) {
  const std::int64_t ns_id = call.names.intern_namespace(request.ns);
  if (request.paused) {
    const std::int64_t home_id = call.names.intern_home(ns_id, request.queue);
    if (read_home(call, home_id).paused) return {};
    call.db.execute(kPause, home_id, call.wall_us(), request.act.actor, request.act.reason);
    enter_in_trail(call, request.ns, request.act, "queue_paused", request.queue);
    return {};
  }
  const auto home_id = call.names.find_home(ns_id, request.queue);
  if (!home_id || !read_home(call, *home_id).paused) return {};
  call.db.execute(kResume, *home_id);
  awaken_stages(call, *home_id);
  enter_in_trail(call, request.ns, request.act, "queue_resumed", request.queue);
  return {};
}

Result<std::vector<QueueRow>> queues(Call& call, const std::string& ns) {
  std::vector<QueueRow> found;
  const auto ns_id = call.names.find_namespace(ns);
  if (!ns_id) return found;
  std::vector<std::pair<std::int64_t, QueueRow>> all;  // by the id of their home
  {
    auto rows = call.db.query(kHomes, *ns_id);
    while (rows.next()) {
      QueueRow& queue = all.emplace_back(rows.integer(0), QueueRow{}).second;
      queue.queue = rows.text(1);
      for (std::size_t state = 0; state < queue.depth.size(); ++state)
        queue.depth[state] = rows.integer(2 + static_cast<int>(state));
    }
  }
  const std::int64_t newest = call.db.number("SELECT seq + more FROM job ORDER BY seq DESC LIMIT 1").value_or(0);
  for (auto& [home_id, queue] : all) {
    const Home home = read_home(call, home_id);
    const bool has_jobs =
        std::any_of(queue.depth.begin(), queue.depth.end(), [](std::int64_t depth) { return depth > 0; });
    if (!has_jobs && !home.paused && home.settings == QueueSettings{}) continue;
    queue.newest = newest;
    queue.settings = home.settings;
    queue.paused = home.paused;
    queue.oldest_ready_at = oldest_due(call, home_id);
    queue.ahead = count_ahead(call, stages_of(call, home_id), kAheadCounted);
    found.push_back(std::move(queue));
  }
  return found;
}

}  // namespace fenceline::sqlite
