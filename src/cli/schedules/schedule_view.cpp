#include "cli/schedules/schedule_view.hpp"

#include <algorithm>

#include "base/duration_text.hpp"
#include "base/nearest.hpp"
#include "cli/frame/job_ids.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/text.hpp"
#include "model/time_zone.hpp"
#include "services/schedule_acts.hpp"

namespace fenceline::cli {
namespace {

std::string utc(WallTime at) { return local_text(at, "UTC"); }
Json maybe(const std::optional<WallTime>& at) { return at ? Json(utc(*at)) : Json(nullptr); }
std::optional<WallTime> last_fired(const ScheduleRow& row) {
  return row.fired_to == WallTime{} ? std::nullopt : std::optional(row.fired_to);
}

std::string rule_words(const ScheduleSpec& spec) {
  return spec.cron.empty() ? "every " + format_duration(spec.every) : spec.cron;
}

std::string pause_words(const ScheduleRow& row) {
  if (!row.paused) return "";
  return "by " + row.paused->by + " since " + format_time(row.paused->at) +
         (row.paused->reason.empty() ? "" : ": " + row.paused->reason);
}

struct Place {
  std::string host, pid;
};
Place place_of(const TickRow& row) {
  const std::size_t colon = row.place.rfind(':');
  if (colon == std::string::npos) return {row.place, ""};
  return {row.place.substr(0, colon), row.place.substr(colon + 1)};
}

Json number_or_null(const std::string& digits) {
  const Json parsed = Json::parse(digits, nullptr, false);
  return parsed.is_number_integer() ? parsed : Json(nullptr);
}

}  // namespace

std::string tick_words(WallTime tick, const std::string& zone) {
  return utc(tick) + (zone == "UTC" ? "" : " (" + local_text(tick, zone) + " " + zone + ")");
}

std::string schedule_json(const ScheduleRow& row, bool with_payload) {
  Json out{{"name", row.name}};
  const Result<KnownSchedule> schedule = known(row);
  if (!schedule) {
    out["error"] = schedule.error().message;
  } else {
    const ScheduleSpec& spec = schedule->spec;
    const std::optional<WallTime> next = due_at(*schedule);
    out["cron"] = spec.cron.empty() ? Json(nullptr) : Json(spec.cron);
    out["every_ms"] = spec.cron.empty() ? Json(whole_milliseconds(spec.every)) : Json(nullptr);
    out["anchor"] = spec.cron.empty() ? Json(utc(spec.anchor)) : Json(nullptr);
    out["tz"] = spec.zone;
    out["next"] = maybe(next);
    out["next_local"] = next ? Json(local_text(*next, spec.zone)) : Json(nullptr);
    out["starts"] = maybe(spec.starts);
    out["ends"] = maybe(spec.ends);
    out["catch_up"] = to_string(spec.catch_up);
    out["window_ms"] = whole_milliseconds(spec.window);
    out["cap"] = spec.cap;
    out["overlap"] = to_string(spec.overlap);
    out["jitter_ms"] = whole_milliseconds(spec.jitter);
    out["queue"] = spec.queue;
    out["stage"] = spec.stage;
    out["priority"] = spec.priority;
    out["max_attempts"] = spec.attempts_max;
    out["timeout_ms"] = whole_milliseconds(spec.timeout);
    out["group"] = spec.group;
    out["limit_key"] = spec.limit_key;
    out["tags"] = spec.tags;
  }
  out["paused"] =
      row.paused ? Json{{"by", row.paused->by}, {"at", format_time(row.paused->at)}, {"reason", row.paused->reason}}
                 : Json(nullptr);
  out["last_fired"] = maybe(last_fired(row));
  out["resolved_to"] = format_time(row.resolved_to);
  out["counts_from"] = format_time(row.counts_from);
  out["revision"] = row.revision;
  out["created_at"] = format_time(row.created_at);
  out["changed_at"] = format_time(row.changed_at);
  std::string text = out.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (with_payload && schedule) text.insert(text.size() - 1, ",\"payload\":" + compact_json(schedule->spec.payload));
  return text;
}

Table schedule_table(const std::vector<ScheduleRow>& rows, std::optional<WallTime> now) {
  Table table{{{.name = "name", .whole = true},
               {.name = "rule"},
               {.name = "tz", .spare = true},
               {.name = "queue"},
               {.name = "next", .whole = true},
               {.name = "last_fired"},
               {.name = "catch_up", .wide_only = true},
               {.name = "overlap", .wide_only = true},
               {.name = "paused"}},
              {}};
  const auto shown = [&](const std::optional<WallTime>& at) {
    return !at ? "" : now ? short_time(*at, *now) : utc(*at);
  };
  for (const ScheduleRow& row : rows) {
    const Result<KnownSchedule> schedule = known(row);
    const Cell paused{pause_words(row), Tone::warning};
    if (!schedule) {
      table.rows.push_back(
          {row.name, {schedule.error().message, Tone::bad}, "", "", "", shown(last_fired(row)), "", "", paused});
      continue;
    }
    const ScheduleSpec& spec = schedule->spec;
    table.rows.push_back({row.name, rule_words(spec), spec.zone, spec.queue, shown(due_at(*schedule)),
                          shown(last_fired(row)), std::string(to_string(spec.catch_up)),
                          std::string(to_string(spec.overlap)), paused});
  }
  return table;
}

Table schedule_card(const ScheduleRow& row) {
  Table table{{{.name = "field", .whole = true}, {.name = "value", .whole = true}}, {}};
  const auto add = [&](const char* name, std::string value, Tone tone = Tone::plain) {
    table.rows.push_back({name, {std::move(value), tone}});
  };
  const auto at = [](const std::optional<WallTime>& moment) { return moment ? utc(*moment) : ""; };
  add("name", row.name);
  if (const Result<KnownSchedule> schedule = known(row); !schedule) {
    add("error", schedule.error().message, Tone::bad);
  } else {
    const ScheduleSpec& spec = schedule->spec;
    const std::optional<WallTime> next = due_at(*schedule);
    std::string tags;
    for (const std::string& tag : spec.tags) tags += (tags.empty() ? "" : ", ") + tag;
    add("rule", rule_words(spec));
    add("tz", spec.zone);
    add("anchor", spec.anchor == WallTime{} ? "" : utc(spec.anchor));
    add("next", next ? tick_words(*next, spec.zone) : "");
    add("starts", at(spec.starts));
    add("ends", at(spec.ends));
    add("catch_up", std::string(to_string(spec.catch_up)) + ", window " + format_duration(spec.window) + ", cap " +
                        std::to_string(spec.cap));
    add("overlap", std::string(to_string(spec.overlap)));
    add("jitter", format_duration(spec.jitter));
    add("queue", spec.queue);
    add("stage", spec.stage);
    add("priority", std::to_string(spec.priority));
    add("max_attempts", std::to_string(spec.attempts_max));
    add("timeout", spec.timeout == Duration{0} ? "" : format_duration(spec.timeout));
    add("group", spec.group);
    add("limit_key", spec.limit_key);
    add("tags", tags);
    add("payload", compact_json(spec.payload));
  }
  add("paused", pause_words(row), Tone::warning);
  add("last_fired", at(last_fired(row)));
  add("resolved_to", format_time(row.resolved_to));
  add("counts_from", format_time(row.counts_from));
  add("revision", std::to_string(row.revision));
  add("created_at", format_time(row.created_at));
  add("changed_at", format_time(row.changed_at));
  return table;
}

std::string tick_json(const TickRow& row) {
  const Place place = place_of(row);
  return Json{{"tick", utc(row.tick)},
              {"last", utc(row.last)},
              {"count", row.count},
              {"state", row.fired() ? "fired" : "skipped"},
              {"reason", row.fired() ? Json(nullptr) : Json(row.reason)},
              {"job", row.job ? Json(to_string(*row.job)) : Json(nullptr)},
              {"at", format_time(row.at)},
              {"owner", row.owner},
              {"host", place.host},
              {"pid", number_or_null(place.pid)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Table tick_table(const std::vector<TickRow>& rows) {
  Table table{{{.name = "tick", .whole = true},
               {.name = "last"},
               {.name = "count", .right = true},
               {.name = "state", .whole = true},
               {.name = "reason"},
               {.name = "job"},
               {.name = "at", .wide_only = true},
               {.name = "owner", .wide_only = true},
               {.name = "host"},
               {.name = "pid", .right = true}},
              {}};
  for (const TickRow& row : rows) {
    const Place place = place_of(row);
    table.rows.push_back({utc(row.tick), row.count > 1 ? utc(row.last) : "", std::to_string(row.count),
                          row.fired() ? Cell("fired") : Cell("skipped", Tone::warning), row.reason,
                          row.job ? id_cell(*row.job) : Cell(""), format_time(row.at), row.owner, place.host,
                          place.pid});
  }
  return table;
}

Result<std::vector<ScheduleRow>> all_schedules(const Invocation& invocation, Store& store) {
  std::vector<ScheduleRow> rows;
  SchedulesRequest request{.ns = invocation.ns, .names = {}, .changed_after = {}, .after = {}};
  while (true) {
    Result<SchedulesReply> page = store.schedules(request);
    if (!page) return std::unexpected(page.error());
    std::ranges::move(page->schedules, std::back_inserter(rows));
    if (!page->more || rows.empty()) return rows;
    request.after = rows.back().name;
  }
}

Error with_nearest_schedule(const Invocation& invocation, Store& store, const std::string& name, const Error& error) {
  const Result<std::vector<ScheduleRow>> rows =
      error.code == Code::not_found ? all_schedules(invocation, store) : std::vector<ScheduleRow>{};
  if (!rows) return error;
  std::vector<std::string> names;
  for (const ScheduleRow& row : *rows) names.push_back(row.name);
  const std::optional<std::string> near = nearest(name, names);
  if (!near) return error;
  return {Code::not_found,
          "no schedule " + name + " in namespace " + invocation.ns + "; did you mean '" + *near + "'?"};
}

Result<FoundSchedule> find_schedule(const Invocation& invocation, Store& store, const std::string& name) {
  if (auto ok = check_schedule_name(name); !ok) return std::unexpected(ok.error());
  Result<SchedulesReply> reply =
      store.schedules({.ns = invocation.ns, .names = {name}, .changed_after = {}, .after = {}});
  if (!reply) return std::unexpected(reply.error());
  if (!reply->schedules.empty()) return FoundSchedule{std::move(reply->schedules.front()), reply->now};
  return std::unexpected(with_nearest_schedule(invocation, store, name, no_such_schedule(name, invocation.ns)));
}

}  // namespace fenceline::cli
