// Queues as people see and set them, and what is forgotten when its time is over.
#include <algorithm>

#include "backends/redis/looks.hpp"
#include "base/duration_text.hpp"

namespace fenceline {
namespace {

using namespace redis;

constexpr int kRemovedAtOnce = 1000;  // jobs in one script: some ten milliseconds of the server

// "NAME limit=3 keep_done=24h": what was asked for.
std::string asked_for(const SetQueueRequest& request) {
  const QueueChange& change = request.change;
  std::string text = request.queue;
  if (change.limit) text += " limit=" + std::to_string(*change.limit);
  if (change.limit_per_key) text += " limit_per_key=" + std::to_string(*change.limit_per_key);
  if (change.keep_done) text += " keep_done=" + format_duration(*change.keep_done);
  if (change.keep_dead) text += " keep_dead=" + format_duration(*change.keep_dead);
  return text;
}

std::string number_or_nothing(std::optional<int> value) { return value ? std::to_string(*value) : ""; }
std::string number_or_nothing(std::optional<Duration> value) { return value ? std::to_string(value->count()) : ""; }

QueueRow queue_row_in(const Value& value, std::int64_t newest) {
  const std::vector<Value>& parts = list_in(value, 16);
  QueueRow row;
  row.queue = text_in(parts[0]);
  row.settings.limit = static_cast<int>(number_in(parts[1]));
  row.settings.limit_per_key = static_cast<int>(number_in(parts[2]));
  row.settings.keep_done = duration_in(parts[3]);
  row.settings.keep_dead = duration_in(parts[4]);
  if (number_in(parts[5]) >= 0) row.paused = QueuePause{wall_in(parts[5]), text_in(parts[6]), text_in(parts[7])};
  for (std::size_t state = 0; state < row.depth.size(); ++state) row.depth[state] = number_in(parts[8 + state]);
  row.ahead = std::min(number_in(parts[14]), kAheadCounted);
  if (!text_in(parts[15]).empty()) row.oldest_ready_at = wall_in(parts[15]);
  row.newest = newest;
  return row;
}

}  // namespace

// There may be very many jobs that were parked because their limit key was full, so they are looked at in short
// scripts. If this caller is gone half-way, claims go on.
Result<void> RedisStore::set_queue(const SetQueueRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  static const Script& script = script_of("set_queue");
  static const Script& unpark = script_of("unpark");
  const QueueChange& change = request.change;
  Command call = parts_->call_of(script, request.ns);
  call.arg(request.queue).arg(request.act.actor).arg(request.act.reason).arg(asked_for(request));
  call.arg(number_or_nothing(change.limit))
      .arg(number_or_nothing(change.limit_per_key))
      .arg(number_or_nothing(change.keep_done))
      .arg(number_or_nothing(change.keep_dead));
  for (bool parked = true; parked;) {
    const Result<Value> answer = parts_->run(call, CallKind::change, request.timeout);
    if (!answer) return std::unexpected(answer.error());
    if (auto read = read_answer(parts_->url(), [&] { parked = number_in(*answer) == 1; }); !read) return read;
    call = parts_->call_of(unpark, request.ns);
    call.arg(request.queue);
  }
  return {};
}

Result<void> RedisStore::pause(const PauseRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  static const Script& script = script_of("pause");
  Command call = parts_->call_of(script, request.ns);
  call.arg(request.queue).arg(request.paused ? 1 : 0).arg(request.act.actor).arg(request.act.reason);
  const Result<Value> answer = parts_->run(call, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Result<std::vector<QueueRow>> RedisStore::queues(const std::string& ns) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("queues");
  const Result<Value> answer = parts_->run(parts_->call_of(script, ns), CallKind::look, kCallTimeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    const std::vector<Value>& parts = list_in(*answer, 2);
    const std::int64_t newest = number_in(parts[0]);
    std::vector<QueueRow> rows;
    for (const Value& row : list_in(parts[1])) rows.push_back(queue_row_in(row, newest));
    std::ranges::sort(rows, {}, &QueueRow::queue);
    return rows;
  });
}

// Jobs in short scripts, as many as were asked for; then locks, then ticks and what is left of schedules.
Result<TidyReply> RedisStore::tidy(const TidyRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("tidy");
  TidyReply reply;
  for (bool goes_on = true; goes_on;) {
    Command call = parts_->call_of(script, request.ns);
    call.arg(std::min<std::int64_t>(kRemovedAtOnce, request.limit - reply.removed));
    const Result<Value> answer = parts_->run(call, CallKind::change, request.timeout);
    if (!answer) return std::unexpected(answer.error());
    std::int64_t removed = 0;
    const auto read = read_answer(parts_->url(), [&] {
      const std::vector<Value>& parts = list_in(*answer, 2);
      removed = number_in(parts[0]);
      reply.more = number_in(parts[1]) == 1;
    });
    if (!read) return std::unexpected(read.error());
    reply.removed += removed;
    goes_on = reply.more && removed > 0 && reply.removed < request.limit;
  }
  for (const auto part : {&Parts::tidy_locks, &Parts::tidy_ticks}) {
    const Result<TidyReply> done = (*parts_.*part)(request.ns, request.limit, request.timeout);
    if (!done) return std::unexpected(done.error());
    reply.removed += done->removed;
    reply.more = reply.more || done->more;
  }
  return reply;
}

// The largest fence that was ever granted, of all namespaces, or one that is no smaller than `wanted`. In short
// scripts: what is granted or removed meanwhile is above the floor, or raises it.
Result<Fence> RedisStore::Parts::granted_up_to(Fence wanted, Duration timeout) {
  static const Script& script = script_of("largest_fence");
  Fence largest = 0;
  std::string spaces_from = "0";
  do {
    const Result<Value> page = client.call(
        std::move(Command("SSCAN").key(prefix + "spaces").arg(spaces_from).arg("COUNT").arg(walked_at_once)),
        CallKind::look, timeout);
    if (!page) return std::unexpected(page.error());
    std::vector<std::string> names;
    const Result<void> read = read_answer(url(), [&] {
      const std::vector<Value>& words = list_in(*page, 2);
      spaces_from = text_in(words[0]);
      for (const Value& space : list_in(words[1])) names.push_back(namespace_in(text_in(space)));
    });
    if (!read) return std::unexpected(read.error());
    for (const std::string& ns : names) {
      std::string after;
      do {
        Command call = call_of(script, ns);
        call.arg(after).arg(walked_at_once);
        const Result<Value> answer = run(call, CallKind::look, timeout);
        if (!answer) return std::unexpected(answer.error());
        const Result<void> looked = read_answer(url(), [&] {
          const std::vector<Value>& words = list_in(*answer, 2);
          largest = std::max(largest, Fence{number_in(words[0])});
          after = text_in(words[1]);
        });
        if (!looked) return std::unexpected(looked.error());
        if (largest >= wanted) return largest;
      } while (!after.empty());
    }
  } while (spaces_from != "0");
  return largest;
}

// One script raises it, and a grant reads it in its own: none that comes later is at or below it. Only for a floor far
// ahead of the clock the fences that were granted are looked for first.
Result<Fence> RedisStore::raise_floor(const RaiseFloorRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("raise_floor");
  const auto raised = [&](const std::string& granted) {
    Command call = parts_->call_of(script, request.ns);
    call.arg(request.floor).arg(kFloorAheadMost.count()).arg(granted).arg(request.act.actor).arg(request.act.reason);
    return parts_->run(call, CallKind::change, request.timeout);
  };
  Result<Value> answer = raised("");
  if (answer && answer->is_nil()) {
    const Result<Fence> granted = parts_->granted_up_to(request.floor, request.timeout);
    if (!granted) return std::unexpected(granted.error());
    answer = raised(std::to_string(*granted));
  }
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] { return number_in(*answer); });
}

}  // namespace fenceline
