#include "cli/jobs/dead_groups.hpp"

#include <algorithm>
#include <cctype>

#include "base/duration_text.hpp"
#include "cli/frame/job_ids.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

constexpr std::size_t kKindMost = 300;

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }

// A word that is mostly digits, or hexadecimal and long, names one thing and not a kind of things.
bool is_particular(std::string_view word) {
  const auto digits = std::ranges::count_if(word, [](char c) { return c >= '0' && c <= '9'; });
  if (digits == 0) return false;
  if (digits > 3) return true;
  const bool hexadecimal = std::ranges::all_of(
      word, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == '-' || c == 'x'; });
  return hexadecimal && word.size() >= 8;
}

std::string cause_of(const Job& job) {
  if (!job.error.empty()) return one_line(job.error);
  if (job.exit_status && *job.exit_status != 0) return "exit status " + std::to_string(*job.exit_status);
  if (job.losses_in_row >= kLossesInRowMax)
    return "its worker was lost " + std::to_string(job.losses_in_row) + " times in a row";
  return "no error text";
}

}  // namespace

std::string error_kind(const Job& job) {
  const std::string text = printable(cause_of(job), kKindMost);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_of_word(text[end])) ++end;
    if (end == at) {
      out += text[at++];
      continue;
    }
    const std::string word = text.substr(at, end - at);
    out += is_particular(word) ? "*" : word;
    at = end;
  }
  return out;
}

void DeadGroups::add(const Job& job) {
  total_ += 1;
  const std::pair key{job.queue, error_kind(job)};
  auto found = groups_.find(key);
  const WallTime at = job.finished_at.value_or(job.created_at);
  if (found == groups_.end()) {
    if (groups_.size() == kGroupsMost) {
      others_ += 1;
      return;
    }
    found = groups_.emplace(key, DeadGroup{key.first, key.second, 0, job.id, at, at}).first;
  }
  DeadGroup& group = found->second;
  group.count += 1;
  if (at > group.newest_at) {
    group.newest_at = at;
    group.example = job.id;
  }
  group.oldest_at = std::min(group.oldest_at, at);
}

std::vector<DeadGroup> DeadGroups::groups() const {
  std::vector<DeadGroup> out;
  for (const auto& [key, group] : groups_) out.push_back(group);
  std::ranges::stable_sort(out, std::ranges::greater{}, &DeadGroup::count);
  return out;
}

Table dead_groups_table(const std::vector<DeadGroup>& groups, WallTime now) {
  Table table{{{.name = "jobs", .right = true, .whole = true},
               {.name = "queue"},
               {.name = "newest", .right = true, .whole = true},
               {.name = "oldest", .right = true, .whole = true, .spare = true},
               {.name = "example", .whole = true},
               {.name = "error", .wraps = true}},
              {}};
  const auto moment = [&](WallTime at) {
    Cell cell(format_time(at));
    cell.brief = brief_duration(now - at);
    return cell;
  };
  for (const DeadGroup& group : groups)
    table.rows.push_back({{std::to_string(group.count), Tone::bad},
                          group.queue,
                          moment(group.newest_at),
                          moment(group.oldest_at),
                          id_cell(group.example),
                          group.error});
  return table;
}

std::string dead_groups_json(const DeadGroups& groups, bool complete) {
  Json list = Json::array();
  for (const DeadGroup& group : groups.groups())
    list.push_back({{"queue", group.queue},
                    {"error", group.error},
                    {"jobs", group.count},
                    {"newest_at", format_time(group.newest_at)},
                    {"oldest_at", format_time(group.oldest_at)},
                    {"example", to_string(group.example)}});
  return Json{{"groups", list}, {"jobs", groups.total()}, {"other", groups.others()}, {"complete", complete}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace fenceline::cli
