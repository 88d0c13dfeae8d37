#include "cli/locks/lock_view.hpp"

#include <algorithm>

#include "base/duration_text.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/text.hpp"
#include "services/lock_options.hpp"

namespace fenceline::cli {
namespace {

// Two units are enough for people: "450ms", "59s", "4m59s", "23h59m".
std::string rough(Duration duration) {
  using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  const Duration least = std::max(Duration{0}, duration);
  if (least < seconds{1}) return format_duration(std::chrono::floor<std::chrono::milliseconds>(least));
  if (least < minutes{1}) return format_duration(std::chrono::floor<seconds>(least));
  const auto two = [least](Duration unit, Duration smaller) {
    const Duration rest = least % unit / smaller * smaller;
    return format_duration(least / unit * unit) + (rest == Duration{0} ? "" : format_duration(rest));
  };
  return least < hours{1} ? two(minutes{1}, seconds{1}) : two(hours{1}, minutes{1});
}

// Who people can find: the place if it was told, else the owner.
std::string who(const std::string& owner, const std::string& place) { return place.empty() ? owner : place; }

std::string holder_words(const LockRow& row) {
  if (row.holders.empty()) return "";
  const std::string first = who(row.holders.front().owner, row.holders.front().place);
  return row.holders_count > 1 ? first + " and " + std::to_string(row.holders_count - 1) + " more" : first;
}

std::string age(const LockRow& row, WallTime now) {
  return row.holders.empty() ? "" : rough(now - row.holders.front().granted_at);
}

Tone tone_of(const std::string& state) {
  return state == "expired" ? Tone::warning : state == "free" ? Tone::faint : Tone::plain;
}

bool is_window(const LockRow& row) { return row.pattern == to_string(LockPattern::loop); }

std::vector<Column> columns() {
  return {{.name = "resource", .wraps = true},
          {.name = "state", .whole = true},
          {.name = "pattern", .spare = true},
          {.name = "mode", .spare = true},
          {.name = "holder"},
          {.name = "fence", .right = true, .whole = true},
          {.name = "age", .right = true, .whole = true},
          {.name = "free_in", .right = true, .whole = true},
          {.name = "waiters", .right = true, .whole = true},
          {.name = "at_gate", .spare = true}};
}

std::vector<Cell> cells(const ShownLock& lock, WallTime now) {
  const LockRow& row = lock.row;
  const std::string state = lock_state(row);
  const std::string at_gate = seen_at_gate(lock);
  return {row.resource,
          {state, tone_of(state)},
          row.pattern,
          std::string(to_string(row.mode)),
          state == "free" ? "" : holder_words(row),
          std::to_string(row.fence),
          state == "free" ? "" : age(row, now),
          row.free_in ? rough(*row.free_in) : "",
          std::to_string(row.waiters_count),
          {at_gate, at_gate == "never" || at_gate == "ahead" ? Tone::warning : Tone::plain}};
}

}  // namespace

std::string lock_state(const LockRow& row) {
  if (std::ranges::any_of(row.holders, [](const LockHolder& holder) { return holder.left > Duration{0}; }))
    return "held";
  if (row.free_in) return "resting";
  // A window ends by itself: nothing went wrong.
  return row.holders.empty() || is_window(row) ? "free" : "expired";
}

std::string seen_at_gate(const ShownLock& lock) {
  const Fence seen = std::max(lock.row.seen_at_gate.value_or(0), lock.outside ? lock.outside->fence : 0);
  if (seen == 0) return "never";
  if (seen > lock.row.fence) return "ahead";
  return seen == lock.row.fence ? "newest" : "older";
}

std::string lock_json(const ShownLock& lock) {
  const LockRow& row = lock.row;
  Json holders = Json::array();
  for (const LockHolder& holder : row.holders)
    holders.push_back({{"owner", holder.owner},
                       {"place", holder.place},
                       {"granted_at", format_time(holder.granted_at)},
                       {"left_ms", whole_milliseconds(holder.left)}});
  Json waiters = Json::array();
  for (const LockWaiter& waiter : row.waiters)
    waiters.push_back({{"owner", waiter.owner},
                       {"place", waiter.place},
                       {"since", format_time(waiter.since)},
                       {"mode", to_string(waiter.mode)}});
  const auto fence_or_null = [](const std::optional<Fence>& fence) { return fence ? Json(*fence) : Json(nullptr); };
  const Json out{{"resource", row.resource},
                 {"state", lock_state(row)},
                 {"pattern", row.pattern},
                 {"mode", to_string(row.mode)},
                 {"fence", row.fence},
                 {"holders", holders},
                 {"holders_count", row.holders_count},
                 {"free_in_ms", row.free_in ? Json(whole_milliseconds(*row.free_in)) : Json(nullptr)},
                 {"waiters", waiters},
                 {"waiters_count", row.waiters_count},
                 {"at_gate", seen_at_gate(lock)},
                 {"seen_in_store", fence_or_null(row.seen_at_gate)},
                 {"seen_in_folder", lock.outside ? Json(lock.outside->fence) : Json(nullptr)},
                 {"gate_path", lock.outside ? Json(lock.outside->path) : Json(nullptr)}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Table lock_table(const std::vector<ShownLock>& locks, WallTime now) {
  Table table{columns(), {}};
  for (const ShownLock& lock : locks) table.rows.push_back(cells(lock, now));
  return table;
}

Table lock_card(const ShownLock& lock, WallTime now) {
  Table card{{{.name = "field", .whole = true}, {.name = "value", .whole = true}}, {}};
  const std::vector<Column> names = columns();
  const std::vector<Cell> values = cells(lock, now);
  for (std::size_t i = 0; i < names.size(); ++i) card.rows.push_back({names[i].name, values[i]});
  if (lock.outside) {
    card.rows.push_back({"gate", lock.outside->path + ", fence " + std::to_string(lock.outside->fence)});
    if (lock.outside->fence > lock.row.fence) card.rows.push_back({"fix", lock.outside->rebase(lock.row.resource)});
  }
  for (const LockHolder& holder : lock.row.holders) {
    const std::string left = holder.left > Duration{0}
                                 ? rough(holder.left) + " left"
                                 : (is_window(lock.row) ? "over " : "expired ") + rough(-holder.left) + " ago";
    const std::string words =
        who(holder.owner, holder.place) + " since " + format_time(holder.granted_at) + ", " + left;
    Cell cell(words + ", owner " + holder.owner);
    cell.brief = words;
    card.rows.push_back({"held_by", cell});
  }
  for (const LockWaiter& waiter : lock.row.waiters)
    card.rows.push_back({"waits", who(waiter.owner, waiter.place) + " since " + format_time(waiter.since) +
                                      (waiter.mode == LockMode::shared ? ", shared" : "")});
  return card;
}

}  // namespace fenceline::cli
