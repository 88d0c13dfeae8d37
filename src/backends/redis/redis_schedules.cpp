// Schedules: accounts of ticks. What is kept of them stands in lua/16_schedule_rows.lua, how an account is moved on in
// lua/19_steps.lua.
#include <algorithm>

#include "backends/redis/job_wire.hpp"
#include "backends/redis/looks.hpp"
#include "backends/redis/schedule_wire.hpp"
#include "base/utc_text.hpp"

namespace fenceline {
namespace {

using namespace redis;

constexpr std::int64_t kSpecBytesAtOnce = 4 << 20;  // in one script: some milliseconds of the server

std::string_view word_of(ScheduleChange change) {
  switch (change) {
    case ScheduleChange::put: return "put";
    case ScheduleChange::pause: return "pause";
    case ScheduleChange::resume: return "resume";
    case ScheduleChange::remove: return "remove";
    case ScheduleChange::rewind: return "rewind";
    case ScheduleChange::run: return "run";
  }
  return "";
}

// What the trail says behind the name.
std::string subject_of(const ChangeScheduleRequest& request) {
  if (request.change == ScheduleChange::rewind) return " " + utc_text(request.to);
  return request.job ? " " + to_string(request.job->id) : "";
}

// {'known', the id of a job}.
std::optional<Error> known_job_in(const std::vector<Value>& words) {
  if (!words[0].is_text() || words[0].text != "known") return std::nullopt;
  return Error{Code::conflict, "job " + to_string(id_in(words[1])) + " already exists"};
}

}  // namespace

// In as many short scripts as large specs take, each from where the one before it ended. The answer's version and clock
// are those of the first: what changed behind it will be found by the next question.
Result<SchedulesReply> RedisStore::schedules(const SchedulesRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("schedules");
  const Instant deadline = parts_->runtime.now() + request.timeout;
  std::vector<std::string> names = request.names;
  std::ranges::sort(names);
  std::string after =
      request.changed_after ? std::to_string(std::min(*request.changed_after, kCursorMost)) : request.after;
  const auto limit = request.names.empty() ? static_cast<std::size_t>(request.limit) : names.size();
  SchedulesReply reply;
  for (bool is_first = true, goes_on = true; goes_on; is_first = false) {
    Command call = parts_->call_of(script, request.ns);
    call.arg(request.unfinished ? 1 : 0)
        .arg(kSpecBytesAtOnce)
        .arg(!request.names.empty()  ? "names"
             : request.changed_after ? "changed"
                                     : "all");
    if (request.names.empty()) call.arg(after).arg(limit - reply.schedules.size());
    for (const std::string& name : names) call.arg(name);
    const Result<Value> answer = parts_->run(call, CallKind::look, deadline - parts_->runtime.now());
    if (!answer) return std::unexpected(answer.error());
    const Result<void> read = read_answer(parts_->url(), [&] {
      const std::vector<Value>& words = list_in(*answer, 4);
      if (is_first) {
        reply.now = wall_in(words[0]);
        reply.version = number_in(words[1]);
      }
      reply.more = number_in(words[2]) == 1;
      const std::vector<Value>& rows = list_in(words[3]);
      if (reply.more && rows.empty()) throw WireFailure("a page of schedules is empty");
      for (const Value& row : rows) {
        const std::vector<Value>& one = list_in(row, 4);
        ScheduleRow schedule = schedule_in(text_in(one[0]), text_in(one[1]), text_in(one[2]));
        for (const Value& run : list_in(one[3])) schedule.unfinished.push_back(unfinished_in(run));
        after = request.changed_after ? std::to_string(schedule.version) : schedule.name;
        if (!schedule.removed || request.changed_after) reply.schedules.push_back(std::move(schedule));
      }
    });
    if (!read) return std::unexpected(read.error());
    if (!request.names.empty()) names.erase(names.begin(), std::ranges::upper_bound(names, after));
    goes_on = reply.more && reply.schedules.size() < limit;
  }
  if (!request.names.empty()) reply.more = false;
  return reply;
}

Result<StepReply> RedisStore::step_ticks(const StepRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("step_ticks");
  Command call = parts_->call_of(script, request.ns);
  call.arg(request.request).arg(request.owner).arg(request.place);
  for (const TickStep& step : request.steps) call.arg(packed(step));
  const Result<Value> answer = parts_->run(call, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  Result<Result<StepReply>> read = decoded(parts_->url(), [&]() -> Result<StepReply> {
    const std::vector<Value>& words = list_in(*answer, 2);
    if (const std::optional<Error> known = known_job_in(words)) return std::unexpected(*known);
    StepReply reply;
    reply.now = wall_in(words[0]);
    if (list_in(words[1]).size() != request.steps.size()) throw WireFailure("not every step was answered");
    for (const Value& one : words[1].items) {
      const std::vector<Value>& parts = list_in(one, 5);
      reply.answers.push_back({reason_from(text_in(parts[0])), walls_in(parts[1]), number_in(parts[2]),
                               wall_in(parts[3]), wall_in(parts[4])});
    }
    return reply;
  });
  if (!read) return std::unexpected(read.error());
  return std::move(*read);
}

Result<ChangeScheduleReply> RedisStore::change_schedule(const ChangeScheduleRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& changes = script_of("change_schedule");
  static const Script& stops = script_of("stop_schedule");
  const bool stops_it = (request.change == ScheduleChange::pause || request.change == ScheduleChange::remove) &&
                        (!request.step || request.step->fired.empty());
  Command call = parts_->call_of(stops_it ? stops : changes, request.ns);
  call.arg(request.name)
      .arg(word_of(request.change))
      .arg(request.revision)
      .arg(request.request)
      .arg(request.owner)
      .arg(request.place);
  call.arg(request.act.actor).arg(request.act.reason).arg(request.step ? packed(*request.step) : "").arg(request.spec);
  if (request.change == ScheduleChange::rewind)
    call.arg(in_microseconds(request.from))
        .arg(in_microseconds(request.to))
        .arg(request.kept ? packed(*request.kept) : "");
  else call.arg("").arg("").arg("");
  std::string body;
  if (request.job) append_head_and_payload(body, *request.job);
  if (request.job) call.arg(bytes_of(request.job->id)).arg(body).arg(when_of(*request.job));
  else call.arg("").arg("").arg("");
  call.arg(subject_of(request));
  const Result<Value> answer = parts_->run(call, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  Result<Result<ChangeScheduleReply>> read = decoded(parts_->url(), [&]() -> Result<ChangeScheduleReply> {
    const std::vector<Value>& words = list_in(*answer, 2);
    if (const std::optional<Error> known = known_job_in(words)) return std::unexpected(*known);
    list_in(*answer, 4);
    return ChangeScheduleReply{schedule_in(request.name, text_in(words[1]), text_in(words[2])), walls_in(words[3]),
                               wall_in(words[0])};
  });
  if (!read) return std::unexpected(read.error());
  return std::move(*read);
}

Result<TicksReply> RedisStore::ticks(const TicksRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("ticks");
  const auto edge = [](const std::optional<WallTime>& at) { return at ? std::to_string(in_microseconds(*at)) : ""; };
  Command call = parts_->call_of(script, request.ns);
  call.arg(request.schedule)
      .arg(request.fired_only ? 1 : 0)
      .arg(edge(request.after))
      .arg(edge(request.before))
      .arg(request.limit);
  const Result<Value> answer = parts_->run(call, CallKind::look, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    TicksReply reply;
    for (const Value& row : list_in(*answer)) {
      if (reply.ticks.size() == static_cast<std::size_t>(request.limit)) reply.next = reply.ticks.back().tick;
      else reply.ticks.push_back(tick_in(text_in(row)));
    }
    return reply;
  });
}

// As many as were asked for of rows, and of schedules, in short scripts.
Result<TidyReply> RedisStore::Parts::tidy_ticks(const std::string& ns, int limit, Duration timeout) {
  constexpr std::int64_t kRemovedAtOnce = 1000;
  static const Script& script = script_of("tidy_ticks");
  TidyReply reply;
  std::int64_t rows = 0, schedules = 0;
  for (bool goes_on = true; goes_on;) {
    Command call = call_of(script, ns);
    call.arg(std::min(kRemovedAtOnce, limit - rows)).arg(std::min(kRemovedAtOnce, limit - schedules));
    const Result<Value> answer = run(call, CallKind::change, timeout);
    if (!answer) return std::unexpected(answer.error());
    const std::int64_t before = rows + schedules;
    const Result<void> read = read_answer(url(), [&] {
      const std::vector<Value>& words = list_in(*answer, 3);
      rows += number_in(words[0]);
      schedules += number_in(words[1]);
      reply.more = number_in(words[2]) == 1;
    });
    if (!read) return std::unexpected(read.error());
    goes_on = reply.more && rows + schedules > before;
  }
  reply.removed = rows + schedules;
  return reply;
}

}  // namespace fenceline
