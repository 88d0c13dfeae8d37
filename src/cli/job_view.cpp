#include "cli/job_view.hpp"

#include <nlohmann/json.hpp>

#include "base/utf8.hpp"
#include "cli/text.hpp"

namespace fenceline::cli {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t milliseconds(Duration duration) { return std::chrono::floor<std::chrono::milliseconds>(duration).count(); }

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

std::vector<Cell> cells(const Job& job) {
  return {to_string(job.id),
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
          job.lease_left ? std::to_string(milliseconds(*job.lease_left)) : "",
          std::to_string(job.deliveries),
          std::to_string(job.failures),
          std::to_string(job.losses),
          std::to_string(job.losses_in_row),
          std::to_string(job.laters),
          {job.error, Tone::faint}};
}

std::vector<Column> columns() {
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
          {"error"}};
}

}  // namespace

std::string job_json(const Job& job, JobShown shown) {
  const auto time_or_null = [](const std::optional<WallTime>& time) { return time ? Json(format_time(*time)) : Json(nullptr); };
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
           {"lease_left_ms", job.lease_left ? Json(milliseconds(*job.lease_left)) : Json(nullptr)},
           {"deliveries", job.deliveries},
           {"failures", job.failures},
           {"losses", job.losses},
           {"losses_in_row", job.losses_in_row},
           {"laters", job.laters},
           {"error", text_or_base64(job.error)}};
  if (shown.result) out["result"] = job.state == JobState::done ? text_or_base64(job.result) : Json(nullptr);
  std::string text = out.dump();
  // As it was sent, not through a parser, which would round its numbers.
  if (shown.payload) text.insert(text.size() - 1, ",\"payload\":" + compact_json(job.payload));
  return text;
}

Table job_table(const std::vector<Job>& jobs) {
  Table table{columns(), {}};
  for (const Job& job : jobs) table.rows.push_back(cells(job));
  return table;
}

Table job_card(const Job& job, JobShown shown) {
  Table table{{{"field"}, {.name = "value", .whole = true}}, {}};
  const std::vector<Cell> values = cells(job);
  const std::vector<Column> names = columns();
  for (std::size_t i = 0; i < names.size(); ++i) table.rows.push_back({names[i].name, values[i]});
  if (shown.result && job.state == JobState::done)
    table.rows.push_back({"result", is_valid_utf8(job.result) ? job.result : "base64:" + base64(job.result)});
  if (shown.payload) table.rows.push_back({"payload", compact_json(job.payload)});
  return table;
}

}  // namespace fenceline::cli
