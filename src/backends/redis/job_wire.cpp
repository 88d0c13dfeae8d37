#include "backends/redis/job_wire.hpp"

#include "backends/redis/msgpack.hpp"

namespace fenceline::redis {
namespace {

constexpr WallTime kWhenItCame{Duration{-1}};  // of a run time
constexpr std::size_t kFields = 34;            // of a state; one more: its stage
constexpr std::size_t kBeforeHead = 16;        // order and created_at, eight bytes each

void ensure(const MsgpackReader& reader, std::string_view what) {
  if (reader.has_failed()) throw WireFailure(std::string(what) + " of a job is not understood");
}

std::int64_t big_endian_at(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (const char c : bytes.substr(at, 8)) value = value << 8 | static_cast<std::uint8_t>(c);
  return static_cast<std::int64_t>(value);
}

void read_rest_of_head(MsgpackReader& reader, Job& job) {
  for (std::size_t pairs = reader.map(); pairs > 0 && !reader.has_failed(); --pairs) {
    const std::string_view name = reader.text();
    if (name == "key") job.key = reader.text();
    else if (name == "key_for") job.key_for = Duration{reader.number()};
    else if (name == "group") job.group = reader.text();
    else if (name == "limit_key") job.limit_key = reader.text();
    else if (name == "attempts_max") job.attempts_max = static_cast<int>(reader.number());
    else if (name == "backoff_first") job.backoff.first = Duration{reader.number()};
    else if (name == "backoff_most") job.backoff.most = Duration{reader.number()};
    else if (name == "timeout") job.timeout = Duration{reader.number()};
    else if (name == "traceparent") job.traceparent = reader.text();
    else if (name == "tags") {
      for (std::size_t tags = reader.list(); tags > 0 && !reader.has_failed(); --tags)
        job.tags.emplace_back(reader.text());
    } else {
      reader.skip();
    }
  }
}

std::optional<int> optional_int(std::int64_t value) {
  return value < 0 ? std::nullopt : std::optional(static_cast<int>(value));
}

struct State {
  Job job;                              // what changes, but its stage
  std::optional<std::string> moved_to;  // its stage, if that is no longer the one at which it came
};

// Of FIELDS of lua/10_jobs.lua, in their order; empty: never claimed.
State state_in(std::string_view state) {
  State out;
  Job& job = out.job;
  MsgpackReader reader(state);
  job.run_at = kWhenItCame;
  if (state.empty()) return out;
  const std::size_t fields = reader.list();
  if (fields < kFields) throw WireFailure("the state of a job is too short");
  const std::int64_t what = reader.number();
  if (what < 0 || what > static_cast<std::int64_t>(JobState::cancelled))
    throw WireFailure("a job has an unknown state");
  job.state = static_cast<JobState>(what);
  job.run_at = WallTime{Duration{reader.number()}};
  job.fence = reader.number();
  job.owner = reader.text();
  reader.skip();  // lease_end
  reader.skip();  // request
  job.deliveries = reader.number();
  job.failures = reader.number();
  job.losses = reader.number();
  job.losses_in_row = reader.number();
  job.laters = reader.number();
  if (const std::int64_t kind = reader.number(); kind >= 0) {
    if (kind > static_cast<std::int64_t>(OutcomeKind::given_back)) throw WireFailure("a job has an unknown outcome");
    job.last_outcome = static_cast<OutcomeKind>(kind);
  }
  job.exit_status = optional_int(reader.number());
  if (const std::int64_t at = reader.number(); at >= 0) job.finished_at = WallTime{Duration{at}};
  job.error = reader.text();
  for (int skipped = 0; skipped < 13; ++skipped) reader.skip();  // group_order to last_act
  const std::int64_t percent = reader.number();
  const std::string_view note = reader.text();
  if (percent >= 0) job.progress = Progress{static_cast<int>(percent), std::string(note)};
  if (fields > kFields) {
    for (int skipped = 0; skipped < 4; ++skipped) reader.skip();  // log_chunks to held_effects
    out.moved_to = reader.text();
  }
  ensure(reader, "the state");
  return out;
}

}  // namespace

void append_head_and_payload(std::string& out, const NewJob& job) {
  MsgpackWriter writer(out);
  writer.list(4).text(job.queue).text(job.stage).number(job.priority);
  const Backoff usual;
  const bool has_attempts = job.attempts_max != kAttemptsMaxDefault;
  const bool has_first = job.backoff.first != usual.first;
  const bool has_most = job.backoff.most != usual.most;
  const bool has_timeout = job.timeout != Duration{0};
  const std::size_t pairs = !job.key.empty() + (job.key_for != Duration{0}) + !job.group.empty() +
                            !job.limit_key.empty() + has_attempts + has_first + has_most + has_timeout +
                            !job.traceparent.empty() + !job.tags.empty();
  writer.map(pairs);
  const auto text = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) writer.text(name).text(value);
  };
  const auto number = [&](std::string_view name, bool has, std::int64_t value) {
    if (has) writer.text(name).number(value);
  };
  text("key", job.key);
  number("key_for", job.key_for != Duration{0}, job.key_for.count());
  text("group", job.group);
  text("limit_key", job.limit_key);
  number("attempts_max", has_attempts, job.attempts_max);
  number("backoff_first", has_first, job.backoff.first.count());
  number("backoff_most", has_most, job.backoff.most.count());
  number("timeout", has_timeout, job.timeout.count());
  text("traceparent", job.traceparent);
  if (!job.tags.empty()) {
    writer.text("tags").list(job.tags.size());
    for (const std::string& tag : job.tags) writer.text(tag);
  }
  out += job.payload;
}

std::string when_of(const NewJob& job) {
  if (job.at) return "=" + std::to_string(in_microseconds(*job.at));
  return job.delay == Duration{0} ? "" : "+" + std::to_string(job.delay.count());
}

void read_body(const JobId& id, std::string_view body, Job& job) {
  if (body.size() < kBeforeHead) throw WireFailure("the body of a job is too short");
  job.id = id;
  job.created_at = WallTime{Duration{big_endian_at(body, 8)}};
  MsgpackReader head(body.substr(kBeforeHead));
  if (head.list() != 4) throw WireFailure("the head of a job is not understood");
  job.queue = head.text();
  job.stage = head.text();
  job.priority = static_cast<int>(head.number());
  read_rest_of_head(head, job);
  ensure(head, "the head");
  job.payload = head.rest();
  if (job.run_at == kWhenItCame) job.run_at = job.created_at;
}

Job job_in(const Value& shown) {
  const std::vector<Value>& parts = list_in(shown, 5);
  State state = state_in(text_in(parts[2]));
  Job job = std::move(state.job);
  read_body(id_in(parts[0]), text_in(parts[1]), job);
  if (state.moved_to) job.stage = *state.moved_to;
  job.result = text_in(parts[3]);
  if (!text_in(parts[4]).empty()) job.lease_left = duration_in(parts[4]);
  return job;
}

}  // namespace fenceline::redis
