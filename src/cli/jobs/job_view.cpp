#include "cli/jobs/job_view.hpp"

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

std::vector<Cell> job_cells(const Job& job) {
  return {id_cell(job.id),
          job.queue,
          job.stage,
          {std::string(to_string(job.state)), tone_of(job.state)},
          std::to_string(job.priority),
          format_time(job.created_at),
          format_time(job.run_at),
          job.finished_at ? format_time(*job.finished_at) : "",
          std::to_string(job.attempts_max),
          std::to_string(job.fence),
          job.owner,
          job.lease_left ? std::to_string(whole_milliseconds(*job.lease_left)) : "",
          std::to_string(job.deliveries),
          std::to_string(job.failures),
          std::to_string(job.losses),
          std::to_string(job.losses_in_row),
          std::to_string(job.laters),
          job.progress ? std::to_string(job.progress->percent) + "%" +
                             (job.progress->note.empty() ? "" : " " + job.progress->note)
                       : "",
          joined(job.tags),
          job.key,
          job.group,
          job.limit_key,
          job.exit_status ? std::to_string(*job.exit_status) : "",
          {job.error, Tone::faint}};
}

std::vector<Column> job_columns() {
  return {{.name = "id", .whole = true},
          {"queue"},
          {"stage", true},
          {"state"},
          {"priority", true, true},
          {"created_at", true},
          {"run_at", true},
          {"finished_at", true},
          {"attempts_max", true, true},
          {"fence", true, true},
          {"owner", true},
          {"lease_left_ms", true, true},
          {.name = "deliveries", .right = true, .spare = true},
          {"failures", false, true},
          {.name = "losses", .right = true, .spare = true},
          {"losses_in_row", true, true},
          {"laters", true, true},
          {"progress", true},
          {"tags", true},
          {"key", true},
          {"group", true},
          {"limit_key", true},
          {"exit_status", true, true},
          {"error"}};
}

std::string how_it_went(const Attempt& attempt) {
  std::string text(to_string(attempt.end));
  if (attempt.ended_at)
    text += " after " +
            format_duration(std::chrono::round<std::chrono::milliseconds>(*attempt.ended_at - attempt.started_at));
  text += ", from " + format_time(attempt.started_at) + ", fence " + std::to_string(attempt.fence) + ", by " +
          attempt.owner;
  if (!attempt.error.empty()) text += ": " + attempt.error;
  else if (attempt.exit_status && *attempt.exit_status != 0)
    text += ": exit status " + std::to_string(*attempt.exit_status);
  return text;
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

Table job_table(const std::vector<Job>& jobs) {
  Table table{job_columns(), {}};
  for (const Job& job : jobs) table.rows.push_back(job_cells(job));
  return table;
}

Table job_card(const Job& job, const std::vector<Attempt>& attempts, JobShown shown) {
  Table table{{{.name = "field", .whole = true}, {.name = "value", .whole = true}}, {}};
  std::vector<Cell> values = job_cells(job);
  values.front() = to_string(job.id);  // a card shows the whole id
  const std::vector<Column> names = job_columns();
  for (std::size_t i = 0; i < names.size(); ++i) table.rows.push_back({names[i].name, values[i]});
  const auto add = [&](std::string name, std::string value) {
    table.rows.push_back({std::move(name), std::move(value)});
  };
  add("key_for", or_empty(job.key_for));
  add("timeout", or_empty(job.timeout));
  add("backoff", format_duration(job.backoff.first) + " to " + format_duration(job.backoff.most));
  add("traceparent", job.traceparent);
  for (const Attempt& attempt : attempts) add("attempt " + std::to_string(attempt.delivery), how_it_went(attempt));
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
