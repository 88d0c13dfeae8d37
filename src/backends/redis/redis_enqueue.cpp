// How jobs come in. Unique keys compare payloads as JSON values, which the server cannot: what it cannot tell it asks,
// and is told the answer with the next try.
#include <algorithm>
#include <map>

#include "backends/redis/job_wire.hpp"
#include "backends/redis/store_parts.hpp"
#include "base/duration_text.hpp"

namespace fenceline {
namespace {

using namespace redis;

constexpr int kTriesMost = 20;  // each finds that somebody else took a key in between

// See lua/28_enqueue_plain.lua.
bool is_plain(const NewJob& job) {
  return job.priority == 0 && job.key.empty() && job.group.empty() && job.limit_key.empty() &&
         job.delay == Duration{0} && !job.at;
}
bool are_plain(const std::vector<NewJob>& jobs) {
  if (jobs.empty()) return false;
  return std::ranges::all_of(jobs, [&](const NewJob& job) {
    return is_plain(job) && job.queue == jobs[0].queue && job.stage == jobs[0].stage;
  });
}

Command plain_command_of(Command command, const std::vector<NewJob>& jobs) {
  std::size_t bytes = 0;
  for (const NewJob& job : jobs) bytes += job.payload.size() + job.queue.size() + job.stage.size() + 64;
  command.reserve(bytes).arg(jobs[0].queue).arg(jobs[0].stage);
  std::string body;
  for (const NewJob& job : jobs) {
    body.clear();
    append_head_and_payload(body, job);
    command.arg(bytes_of(job.id)).arg(body);
  }
  return command;
}

Command command_of(Command command, const std::vector<NewJob>& jobs, const std::map<std::size_t, JobId>& verified) {
  std::size_t bytes = 0;
  for (const NewJob& job : jobs) bytes += job.payload.size() + job.queue.size() + job.stage.size() + 128;
  command.reserve(bytes);
  std::string body;
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    const NewJob& job = jobs[number];
    body.clear();
    append_head_and_payload(body, job);
    const auto same = verified.find(number);
    command.arg(bytes_of(job.id))
        .arg(body)
        .arg(when_of(job))
        .arg(same == verified.end() ? std::string_view{} : bytes_of(same->second));
  }
  return command;
}

const NewJob& job_numbered(const std::vector<NewJob>& jobs, std::int64_t number) {
  if (number < 1 || static_cast<std::size_t>(number) > jobs.size())
    throw WireFailure("an answer speaks of a job that was not sent");
  return jobs[static_cast<std::size_t>(number - 1)];
}

Error conflict_of(const NewJob& wanted, const std::string& why, const JobId& holder, std::int64_t state) {
  if (why == "id")
    return {Code::conflict, "job " + to_string(wanted.id) + " already exists with another queue, stage or payload"};
  if (why == "alias")
    return {Code::conflict, "job " + to_string(wanted.id) + " is an alias of job " + to_string(holder) +
                                ", which has another queue or payload"};
  if (state < 0 || state > static_cast<std::int64_t>(JobState::cancelled))
    throw WireFailure("a job has an unknown state");
  return {Code::conflict, "key '" + wanted.key + "' of queue " + wanted.queue + " is taken by job " +
                              to_string(holder) + " (" + std::string(to_string(static_cast<JobState>(state))) +
                              ") with another payload"};
}

// What the server could not compare. The first that is not the same is the answer.
std::optional<Error> compare(const std::vector<Value>& parts, const std::vector<NewJob>& jobs,
                             std::map<std::size_t, JobId>& verified) {
  for (std::size_t at = 1; at + 4 < parts.size(); at += 5) {
    const std::int64_t number = number_in(parts[at]);
    const NewJob& wanted = job_numbered(jobs, number);
    const JobId holder = id_in(parts[at + 2]);
    if (!same_json(text_in(parts[at + 4]), wanted.payload))
      return conflict_of(wanted, text_in(parts[at + 1]), holder, number_in(parts[at + 3]));
    verified[static_cast<std::size_t>(number - 1)] = holder;
  }
  return std::nullopt;
}

}  // namespace

Result<EnqueueReply> RedisStore::enqueue(const EnqueueRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("enqueue");
  if (are_plain(request.jobs)) {
    static const Script& plain = script_of("enqueue_plain");
    const Result<Value> answer = parts_->run(plain_command_of(parts_->call_of(plain, request.ns), request.jobs),
                                             CallKind::change, request.timeout);
    if (!answer) return std::unexpected(answer.error());
    if (answer->is_text() && answer->text == "ok") {
      EnqueueReply reply;
      reply.ids.reserve(request.jobs.size());
      for (const NewJob& job : request.jobs) reply.ids.push_back(job.id);
      return reply;
    }
  }
  std::map<std::size_t, JobId> verified;  // by the number of the job from 0: whose payload is the same value
  for (int tries = 0; tries < kTriesMost; ++tries) {
    const Result<Value> answer = parts_->run(command_of(parts_->call_of(script, request.ns), request.jobs, verified),
                                             CallKind::change, request.timeout);
    if (!answer) return std::unexpected(answer.error());
    Result<Result<std::optional<EnqueueReply>>> read =
        decoded(parts_->url(), [&]() -> Result<std::optional<EnqueueReply>> {
          const std::vector<Value>& parts = list_in(*answer, 1);
          if (text_in(parts[0]) == "conflict") {
            list_in(*answer, 5);
            return std::unexpected(conflict_of(job_numbered(request.jobs, number_in(parts[1])), text_in(parts[2]),
                                               id_in(parts[3]), number_in(parts[4])));
          }
          if (text_in(parts[0]) == "same") {
            if (std::optional<Error> different = compare(parts, request.jobs, verified))
              return std::unexpected(*different);
            return std::optional<EnqueueReply>();
          }
          list_in(*answer, request.jobs.size() + 2);
          EnqueueReply reply{.existing = number_in(parts[1]), .ids = {}};
          reply.ids.reserve(request.jobs.size());
          for (std::size_t at = 2; at < parts.size(); ++at) reply.ids.push_back(id_in(parts[at]));
          return reply;
        });
    if (!read) return std::unexpected(read.error());
    if (!*read) return std::unexpected(read->error());
    if (**read) return std::move(***read);
  }
  return fail(Code::unavailable, "too many concurrent changes to a unique key of these jobs; try again");
}

Result<BatchReply> RedisStore::open_batch(const BatchRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("open_batch");
  Command command = parts_->call_of(script, request.ns);
  command.arg(request.name).arg(kBatchRepeatableFor.count()).arg(kBatchRememberedFor.count());
  const Result<Value> answer = parts_->run(command, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  Result<Result<BatchReply>> read = decoded(parts_->url(), [&]() -> Result<BatchReply> {
    if (!answer->is_list()) return BatchReply{wall_in(*answer)};
    const Duration age = duration_in(list_in(*answer, 2)[1]);
    return fail(Code::refused, "batch '" + request.name + "' was first seen " +
                                   format_duration(std::chrono::floor<std::chrono::hours>(age)) +
                                   " ago and can be repeated for 24h only; use another name");
  });
  if (!read) return std::unexpected(read.error());
  return std::move(*read);
}

}  // namespace fenceline
