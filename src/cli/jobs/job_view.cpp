#include "cli/jobs/job_view.hpp"

#include <algorithm>

#include "base/duration_text.hpp"
#include "base/utf8.hpp"
#include "cli/frame/job_ids.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

Json text_or_base64(const std::string& bytes) {
  if (is_valid_utf8(bytes)) return bytes;
  return Json{{"base64", base64(bytes)}};
}

Tone tone_of(JobState state) {
  switch (state) {
    case JobState::done: return Tone::good;
    case JobState::dead: return Tone::bad;
    case JobState::waiting: return Tone::warning;
    case JobState::cancelled: return Tone::faint;
    default: return Tone::plain;
  }
}

// On a terminal as short as can be, in a pipe exact.
Cell duration_cell(const std::optional<Duration>& duration) {
  if (!duration) return "";
  Cell cell(format_duration(std::chrono::round<std::chrono::milliseconds>(*duration)));
  cell.brief = brief_duration(*duration);
  return cell;
}

Cell progress_cell(const Job& job) {
  if (!job.progress) return "";
  const std::string percent = std::to_string(job.progress->percent) + "%";
  return percent + (job.progress->note.empty() ? "" : " " + job.progress->note);
}

Cell error_cell(const Job& job) {
  Cell cell(job.error, Tone::faint);
  cell.brief = (job.state == JobState::done && !job.error.empty() ? "earlier: " : "") + one_line(job.error);
  return cell;
}

struct JobColumn {
  Column column;
  Cell cell;
};

std::vector<JobColumn> job_fields(const Job& job) {
  return {{{.name = "id", .whole = true}, id_cell(job.id)},
          {{.name = "queue"}, job.queue},
          {{.name = "stage", .wide_only = true}, job.stage},
          {{.name = "state", .whole = true}, {std::string(to_string(job.state)), tone_of(job.state)}},
          {{.name = "priority", .wide_only = true, .right = true}, std::to_string(job.priority)},
          {{.name = "created_at", .wide_only = true}, format_time(job.created_at)},
          {{.name = "run_at", .wide_only = true}, format_time(job.run_at)},
          {{.name = "finished_at", .wide_only = true}, job.finished_at ? format_time(*job.finished_at) : ""},
          {{.name = "attempts_max", .wide_only = true, .right = true}, std::to_string(job.attempts_max)},
          {{.name = "fence", .wide_only = true, .right = true}, std::to_string(job.fence)},
          {{.name = "owner", .wide_only = true}, job.owner},
          {{.name = "lease_left_ms", .wide_only = true, .right = true},
           job.lease_left ? std::to_string(whole_milliseconds(*job.lease_left)) : ""},
          {{.name = "deliveries", .wide_only = true, .right = true}, std::to_string(job.deliveries)},
          {{.name = "failures", .right = true}, std::to_string(job.failures)},
          {{.name = "losses", .wide_only = true, .right = true}, std::to_string(job.losses)},
          {{.name = "losses_in_row", .wide_only = true, .right = true}, std::to_string(job.losses_in_row)},
          {{.name = "laters", .wide_only = true, .right = true}, std::to_string(job.laters)},
          {{.name = "progress", .spare = true}, progress_cell(job)},
          {{.name = "tags", .wide_only = true}, joined(job.tags)},
          {{.name = "key", .wide_only = true}, job.key},
          {{.name = "group", .wide_only = true}, job.group},
          {{.name = "limit_key", .wide_only = true}, job.limit_key},
          {{.name = "exit_status", .wide_only = true, .right = true},
           job.exit_status ? std::to_string(*job.exit_status) : ""},
          {{.name = "error"}, error_cell(job)}};
}

// The fields, and behind the state what only a list shows.
std::vector<JobColumn> listed_fields(const Job& job, WallTime now) {
  std::vector<JobColumn> fields = job_fields(job);
  const auto place = [&](std::string_view name) {
    return std::ranges::find_if(fields, [&](const JobColumn& one) { return one.column.name == name; });
  };
  const Cell holder = job.state == JobState::running ? Cell(job.owner) : Cell("");
  fields.insert(place("progress") + 1, {{.name = "holder", .spare = true}, holder});
  fields.insert(place("priority"),
                {{{.name = "age", .right = true, .whole = true}, duration_cell(now - job.created_at)},
                 {{.name = "duration", .right = true, .whole = true}, duration_cell(job.ran_for)}});
  return fields;
}

std::string outcome_of(const Attempt& attempt) {
  std::string text(to_string(attempt.end));
  if (attempt.ended_at)
    text += " after " +
            format_duration(std::chrono::round<std::chrono::milliseconds>(*attempt.ended_at - attempt.started_at));
  return text;
}

std::string why_it_failed(const Attempt& attempt) {
  if (!attempt.error.empty()) return ": " + attempt.error;
  const bool failed = attempt.exit_status && *attempt.exit_status != 0;
  return failed ? ": exit status " + std::to_string(*attempt.exit_status) : "";
}

std::string how_it_went(const Attempt& attempt) {
  std::string text = outcome_of(attempt);
  text += ", from " + format_time(attempt.started_at) + ", fence " + std::to_string(attempt.fence) + ", by " +
          attempt.owner;
  return text + why_it_failed(attempt);
}

// The same for a terminal: `--json` has the fence and the owner.
Cell attempt_cell(const Attempt& attempt) {
  Cell cell(how_it_went(attempt));
  const std::string at = format_time(std::chrono::floor<std::chrono::seconds>(attempt.started_at));
  cell.brief = outcome_of(attempt) + ", from " + at.substr(0, at.find('.')) + "Z" + one_line(why_it_failed(attempt));
  return cell;
}

// A job that succeeded has an error only from before: it must not look like the present one.
std::string earlier_error(const Job& job, const std::vector<Attempt>& attempts) {
  const auto last =
      std::find_if(attempts.rbegin(), attempts.rend(), [](const Attempt& one) { return !one.error.empty(); });
  const std::string which = last == attempts.rend() ? "" : "attempt " + std::to_string(last->delivery) + ", ";
  return "(" + which + "before it succeeded) " + job.error;
}

Json progress_json(const Job& job) {
  if (!job.progress) return nullptr;
  return Json{{"percent", job.progress->percent}, {"note", job.progress->note}};
}

}  // namespace

std::string job_json(const Job& job, JobShown shown) {
  const auto time_or_null = [](const std::optional<WallTime>& time) {
    return time ? Json(format_time(*time)) : Json(nullptr);
  };
  Json out{{"id", to_string(job.id)},
           {"queue", job.queue},
           {"stage", job.stage},
           {"state", to_string(job.state)},
           {"priority", job.priority},
           {"created_at", format_time(job.created_at)},
           {"run_at", format_time(job.run_at)},
           {"finished_at", time_or_null(job.finished_at)},
           {"attempts_max", job.attempts_max},
           {"fence", job.fence},
           {"owner", job.owner},
           {"lease_left_ms", job.lease_left ? Json(whole_milliseconds(*job.lease_left)) : Json(nullptr)},
           {"deliveries", job.deliveries},
           {"failures", job.failures},
           {"losses", job.losses},
           {"losses_in_row", job.losses_in_row},
           {"laters", job.laters},
           {"duration_ms", job.ran_for ? Json(whole_milliseconds(*job.ran_for)) : Json(nullptr)},
           {"progress", progress_json(job)},
           {"tags", job.tags},
           {"key", job.key},
           {"key_for_ms", whole_milliseconds(job.key_for)},
           {"group", job.group},
           {"limit_key", job.limit_key},
           {"timeout_ms", whole_milliseconds(job.timeout)},
           {"backoff_ms", whole_milliseconds(job.backoff.first)},
           {"backoff_max_ms", whole_milliseconds(job.backoff.most)},
           {"traceparent", job.traceparent},
           {"exit_status", job.exit_status ? Json(*job.exit_status) : Json(nullptr)},
           {"error", text_or_base64(job.error)}};
  if (shown.result) out["result"] = job.state == JobState::done ? text_or_base64(job.result) : Json(nullptr);
  std::string text = out.dump();
  // As it was sent, not through a parser, which would round its numbers.
  if (shown.payload) text.insert(text.size() - 1, ",\"payload\":" + compact_json(job.payload));
  return text;
}

Table job_table(const std::vector<Job>& jobs, WallTime now) {
  Table table;
  for (const JobColumn& field : listed_fields(Job{}, now)) table.columns.push_back(field.column);
  for (const Job& job : jobs) {
    std::vector<Cell>& row = table.rows.emplace_back();
    for (JobColumn& field : listed_fields(job, now)) row.push_back(std::move(field.cell));
  }
  return table;
}

Table job_card(const Job& job, const std::vector<Attempt>& attempts, JobShown shown) {
  Table table{{{.name = "field", .whole = true}, {.name = "value", .whole = true}}, {}};
  for (JobColumn& field : job_fields(job)) {
    field.cell.brief.clear();  // there is room for the whole id
    if (field.column.name == "error" && job.state == JobState::done) field.cell.text.clear();  // see last_error
    table.rows.push_back({field.column.name, std::move(field.cell)});
  }
  const auto add = [&](std::string name, std::string value) {
    table.rows.push_back({std::move(name), std::move(value)});
  };
  add("key_for", or_empty(job.key_for));
  add("timeout", or_empty(job.timeout));
  add("backoff", format_duration(job.backoff.first) + " to " + format_duration(job.backoff.most));
  add("traceparent", job.traceparent);
  for (const Attempt& attempt : attempts)
    table.rows.push_back({"attempt " + std::to_string(attempt.delivery), attempt_cell(attempt)});
  if (job.state == JobState::done && !job.error.empty()) add("last_error", earlier_error(job, attempts));
  if (shown.result && job.state == JobState::done)
    add("result", is_valid_utf8(job.result) ? job.result : "base64:" + base64(job.result));
  if (shown.payload) add("payload", compact_json(job.payload));
  return table;
}

std::string attempts_json(const std::vector<Attempt>& attempts) {
  Json out = Json::array();
  for (const Attempt& attempt : attempts) {
    out.push_back({{"delivery", attempt.delivery},
                   {"fence", attempt.fence},
                   {"owner", attempt.owner},
                   {"started_at", format_time(attempt.started_at)},
                   {"ended_at", attempt.ended_at ? Json(format_time(*attempt.ended_at)) : Json(nullptr)},
                   {"end", to_string(attempt.end)},
                   {"exit_status", attempt.exit_status ? Json(*attempt.exit_status) : Json(nullptr)},
                   {"error", text_or_base64(attempt.error)}});
  }
  return out.dump();
}

}  // namespace fenceline::cli
