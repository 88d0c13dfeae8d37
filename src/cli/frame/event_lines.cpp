#include "cli/frame/event_lines.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "cli/frame/columns.hpp"
#include "cli/frame/job_ids.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

constexpr int kKilledBase = 128;
constexpr int kDetailLeast = 8;

struct ShowField {
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return std::to_string(number); }
  std::string operator()(bool flag) const { return flag ? "yes" : "no"; }
  std::string operator()(const std::string& text) const { return text; }
};

const LogValue* find_field(const LogEvent& event, std::string_view key) {
  for (const LogField& field : event.fields) {
    if (field.key == key) return &field.value;
  }
  return nullptr;
}

bool field_flag(const LogEvent& event, std::string_view key) {
  const LogValue* const value = find_field(event, key);
  const bool* const flag = value == nullptr ? nullptr : std::get_if<bool>(value);
  return flag != nullptr && *flag;
}

// "mail 0c6f9d10"; without a queue only the id.
std::string job_words(const LogEvent& event) {
  const std::string job = field_text(event, "job");
  const std::optional<JobId> id = parse_uuid(job);
  const std::string queue = field_text(event, "queue");
  return (queue.empty() ? "job" : queue) + " " + (id ? short_id(*id) : job);
}

std::string after(const LogEvent& event) {
  const auto took = field_number(event, "duration_us");
  return took ? " after " + about(Duration{*took}) : "";
}

// "exit 3", "signal 9", or what the handler said.
std::string why_it_failed(const LogEvent& event) {
  const std::string error = one_line(field_text(event, "error"));
  const auto status = field_number(event, "exit_status");
  if (error.starts_with("timed out after ")) return error.substr(0, error.find(':'));
  if (status && error.starts_with("exit status ")) return "exit " + std::to_string(*status);
  if (status && error.starts_with("killed by signal ")) return "signal " + std::to_string(*status - kKilledBase);
  if (!error.empty()) return error;
  return status ? "exit " + std::to_string(*status) : "no reason given";
}

// " in 400ms"
std::string retry_in(const LogEvent& event) {
  return " in " + about(Duration{field_number(event, "retry_in_us").value_or(0)});
}

EventLine settled_line(const LogEvent& event) {
  EventLine line{.subject = job_words(event)};
  const std::string outcome = field_text(event, "outcome");
  if (const std::string to = field_text(event, "moved_to"); !to.empty()) {
    const std::string waits = field_text(event, "waits_for");
    line.what = "moved to " + to;
    line.more = after(event) + (waits == "approval" ? "; waits for approval"
                                : waits == "check"  ? "; waits for its check"
                                                    : "");
    line.tone = Tone::good;
  } else if (outcome == "done") {
    line.what = "done";
    line.more = after(event);
    line.tone = Tone::good;
  } else if (outcome == "failed" && field_number(event, "attempts_left").value_or(1) > 0) {
    const std::int64_t attempt = field_number(event, "attempt").value_or(0);
    line.what = "failed";
    line.detail = why_it_failed(event);
    line.more = after(event) + "; retry " + std::to_string(attempt + 1) + " of " + field_text(event, "attempts_max") +
                retry_in(event);
    line.tone = Tone::warning;
  } else if (outcome == "later") {
    line.what = "postponed";
    line.more = after(event) + "; runs again" + retry_in(event) + ", not counted as a failure";
  } else if (outcome == "given_back") {
    line.what = "given back";
    line.more = after(event) + "; another worker runs it";
  } else {
    line.hidden = true;  // job_dead says it
  }
  return line;
}

EventLine dead_line(const LogEvent& event) {
  const bool by_handler = field_text(event, "why") == "by_its_handler";
  const std::string attempts = field_text(event, "attempts_max");
  return {.subject = job_words(event),
          .what = "dead",
          .detail = why_it_failed(event),
          .more = after(event) + (by_handler        ? "; not to be retried"
                                  : attempts == "1" ? "; its only attempt failed"
                                                    : "; all " + attempts + " attempts failed"),
          .tone = Tone::bad};
}

EventLine acquired_line(const LogEvent& event) {
  if (!field_flag(event, "forced")) return {.hidden = true};
  return {.subject = job_words(event),
          .what = "taken over",
          .more = ": the lease of its last worker expired; delivery " + field_text(event, "delivery"),
          .tone = Tone::warning};
}

std::string why_lost(const std::string& why) {
  static const std::map<std::string, std::string, std::less<>> words{
      {"trust_ended", "not renewed in time"},
      {"superseded", "another worker has the job"},
      {"expired", "it expired"},
      {"finished", "the job is finished"},
      {"settled", "the job was settled otherwise"},
      {"other_owner", "another worker has the job"},
      {"not_found", "the job is gone"},
      {"release_refused", "another holder has it"},
      {"window_over", "its window is over"},
  };
  const auto found = words.find(why);
  return found == words.end() ? why : found->second;
}

EventLine lost_line(const LogEvent& event) {
  const std::string why = field_text(event, "why");
  if (why == "revoked")
    return {.subject = job_words(event),
            .what = "stopped",
            .more = ": an operator cancelled or retried it",
            .tone = Tone::warning};
  return {.subject = job_words(event), .what = "lease lost", .more = ": " + why_lost(why), .tone = Tone::bad};
}

EventLine refused_line(const LogEvent& event) {
  return {.subject = job_words(event),
          .what = "late write refused",
          .more = " (" + field_text(event, "verb") + "): " + why_lost(field_text(event, "reason")),
          .tone = Tone::bad};
}

EventLine told_line(const LogEvent& event) {
  const std::string why = field_text(event, "why");
  return {.subject = job_words(event),
          .what = "told to stop",
          .more = why == "timed_out"           ? ": its time is over"
                  : why == "lease_not_renewed" ? ": its lease could not be renewed"
                                               : ": the worker ends",
          .tone = why == "worker_stops" ? Tone::plain : Tone::warning};
}

EventLine draining_line(const LogEvent& event) {
  const std::int64_t running = field_number(event, "running").value_or(0);
  return {.subject = "worker",
          .what = "stopping",
          .more = running == 0   ? ""
                  : running == 1 ? ": 1 running job finishes first"
                                 : ": " + std::to_string(running) + " running jobs finish first"};
}

EventLine started_line(const LogEvent& event) {
  const std::string stage = field_text(event, "stage");
  return {.subject = "worker",
          .what = "started",
          .more = ": " + field_text(event, "queues") + (stage.empty() ? "" : ", stage " + stage) + "; " +
                  field_text(event, "concurrency") + " at a time; " + field_text(event, "store"),
          .tone = Tone::good};
}

std::string by_whom(const LogEvent& event) {
  const std::string place = field_text(event, "place");
  return place.empty() ? "" : " by " + place;
}

EventLine lock_line(const LogEvent& event, std::string what, Tone tone) {
  const std::string why = field_text(event, "why");
  return {.subject = "lock " + field_text(event, "lock"),
          .what = std::move(what),
          .more = by_whom(event) + (why.empty() ? "" : ": " + why_lost(why)) + "; fence " + field_text(event, "fence"),
          .tone = tone};
}

EventLine term_line(const LogEvent& event, std::string what, Tone tone) {
  return {.subject = "election " + field_text(event, "name"),
          .what = std::move(what),
          .more = by_whom(event) + "; term " + field_text(event, "term"),
          .tone = tone};
}

EventLine item_line(const LogEvent& event, std::string what, Tone tone) {
  const std::string to = field_text(event, "to");
  return {.subject = "item " + field_text(event, "item"),
          .what = std::move(what),
          .more = " at stage " + field_text(event, "stage") + (to.empty() ? "" : "; now at " + to),
          .tone = tone};
}

EventLine item_settled_line(const LogEvent& event) {
  const std::string outcome = field_text(event, "outcome");
  return item_line(event,
                   outcome == "sent_back"    ? "sent back"
                   : outcome == "given_back" ? "given back"
                                             : outcome,
                   outcome == "done"     ? Tone::good
                   : outcome == "failed" ? Tone::warning
                   : outcome == "dead"   ? Tone::bad
                                         : Tone::plain);
}

using MakeLine = std::function<EventLine(const LogEvent&)>;

const std::map<std::string, MakeLine, std::less<>>& lines() {
  const auto hidden = [](const LogEvent&) { return EventLine{.hidden = true}; };
  static const std::map<std::string, MakeLine, std::less<>> all{
      {"worker_started", started_line},
      {"worker_draining", draining_line},
      {"worker_exit", hidden},  // the summary says it
      {"lease_acquired", acquired_line},
      {"worker_ordered",
       [](const LogEvent& e) {
         return EventLine{.subject = "worker", .what = "ordered", .detail = field_text(e, "order")};
       }},
      {"jobs_removed",
       [](const LogEvent& e) {
         return EventLine{.subject = "worker",
                          .what = "removed",
                          .more = " " + field_text(e, "jobs") + " finished jobs: their retention is over",
                          .tone = Tone::faint};
       }},
      {"claim_given_back", hidden},
      {"delivery_stopped", hidden},  // lease_lost told of it
      {"execution_started", hidden},
      {"execution_ended", hidden},
      {"job_settled", settled_line},
      {"job_dead", dead_line},
      {"jobs_buried",
       [](const LogEvent& e) {
         const std::string jobs = field_text(e, "jobs");
         return EventLine{.subject = jobs == "1" ? "1 job" : jobs + " jobs",
                          .what = "dead",
                          .detail = "five deliveries in a row were lost",
                          .tone = Tone::bad};
       }},
      {"lease_lost", lost_line},
      {"stale_write_refused", refused_line},
      {"handler_told_to_stop", told_line},
      {"store_unavailable",
       [](const LogEvent& e) {
         return EventLine{
             .subject = "store", .what = "away", .detail = one_line(field_text(e, "message")), .tone = Tone::bad};
       }},
      {"store_back",
       [](const LogEvent&) { return EventLine{.subject = "store", .what = "answers again", .tone = Tone::good}; }},
      {"lock_acquired", [](const LogEvent& e) { return lock_line(e, "taken", Tone::good); }},
      {"lock_released", [](const LogEvent& e) { return lock_line(e, "released", Tone::plain); }},
      {"lock_lost", [](const LogEvent& e) { return lock_line(e, "lost", Tone::bad); }},
      {"term_began", [](const LogEvent& e) { return term_line(e, "won", Tone::good); }},
      {"term_ended",
       [](const LogEvent& e) {
         return field_flag(e, "lost") ? term_line(e, "lost", Tone::bad) : term_line(e, "given up", Tone::plain);
       }},
      {"scheduler_leads",
       [](const LogEvent& e) {
         return EventLine{.subject = "scheduler", .what = "lead taken", .more = by_whom(e), .tone = Tone::good};
       }},
      {"scheduler_follows",
       [](const LogEvent& e) {
         return EventLine{.subject = "scheduler", .what = "lead lost", .more = by_whom(e), .tone = Tone::warning};
       }},
      {"tracker_claimed", [](const LogEvent& e) { return item_line(e, "claimed", Tone::plain); }},
      {"tracker_settled", item_settled_line},
      {"tracker_claim_lost", [](const LogEvent& e) { return item_line(e, "claim lost", Tone::bad); }},
      {"tick_fired",
       [](const LogEvent& e) {
         const std::optional<JobId> id = parse_uuid(field_text(e, "job"));
         return EventLine{.subject = "schedule " + field_text(e, "schedule"),
                          .what = "fired",
                          .more = ": tick " + field_text(e, "tick") + (id ? ", job " + short_id(*id) : "")};
       }},
  };
  return all;
}

std::string painted(const std::string& text, Tone tone, bool colour) {
  if (!colour || colour_of(tone).empty()) return text;
  return std::string(colour_of(tone)) + text + "\x1b[0m";
}

}  // namespace

std::string about(Duration duration) {
  using namespace std::chrono;
  const std::int64_t millis = std::max<std::int64_t>(0, round<milliseconds>(duration).count());
  if (millis < 1000) return std::to_string(millis) + "ms";
  if (millis < 10'000) {
    const std::int64_t tenths = (millis + 50) / 100;
    return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + "s";
  }
  const std::int64_t whole = (millis + 500) / 1000;
  const auto two = [](std::int64_t large, const char* unit, std::int64_t small, const char* small_unit) {
    return std::to_string(large) + unit + (small == 0 ? "" : std::to_string(small) + small_unit);
  };
  if (whole < 60) return std::to_string(whole) + "s";
  if (whole < 3600) return two(whole / 60, "m", whole % 60, "s");
  if (whole < 86'400) return two(whole / 3600, "h", whole % 3600 / 60, "m");
  return two(whole / 86'400, "d", whole % 86'400 / 3600, "h");
}

std::string field_text(const LogEvent& event, std::string_view key) {
  const LogValue* const value = find_field(event, key);
  return value == nullptr ? "" : std::visit(ShowField{}, *value);
}

std::optional<std::int64_t> field_number(const LogEvent& event, std::string_view key) {
  const LogValue* const value = find_field(event, key);
  const std::int64_t* const number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<EventLine> line_of(const LogEvent& event) {
  // A worker looks after entry conditions besides its jobs: of that, people see where an item went, and trouble that
  // the worker itself does not report.
  if (find_field(event, "entry_of") != nullptr && field_text(event, "moved_to").empty() &&
      (event.level < Level::warn || event.name == "store_unavailable"))
    return EventLine{.hidden = true};
  const auto found = lines().find(event.name);
  return found == lines().end() ? std::nullopt : std::optional(found->second(event));
}

std::string render_line(const EventLine& line, WallTime time, int width, bool colour) {
  const std::string before = local_clock(time) + " " + printable(line.subject) + " " + printable(line.what);
  const std::string more = printable(line.more);
  std::string detail = printable(line.detail);
  const int too_long = columns_of(before) + 2 + columns_of(detail) + columns_of(more) - width;
  if (!detail.empty() && too_long > 0)
    detail = cut_to_columns(detail, std::max(kDetailLeast, columns_of(detail) - too_long));
  const std::string text = painted(local_clock(time), Tone::faint, colour) + " " + printable(line.subject) + " " +
                           painted(printable(line.what), line.tone, colour) + (detail.empty() ? "" : ": " + detail) +
                           more;
  return cut_to_columns(text, width);
}

}  // namespace fenceline::cli
