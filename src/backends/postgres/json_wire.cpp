#include "backends/postgres/json_wire.hpp"

namespace fenceline::postgres {
namespace {

const json& member(const json& object, const char* name) {
  static const json none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

int int_in(const json& object, const char* name, int otherwise = 0) {
  return static_cast<int>(integer_in(object, name, otherwise));
}

}  // namespace

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    throw WireFailure("bytes are not hexadecimal");
  };
  if (hex.size() % 2 != 0) throw WireFailure("bytes are not hexadecimal");
  std::string out;
  out.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) out += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  return out;
}

json act_json(const Act& act) { return {{"actor", act.actor}, {"reason", act.reason}}; }

json ids_json(const std::vector<JobId>& ids) {
  json out = json::array();
  for (const JobId& id : ids) out.push_back(to_string(id));
  return out;
}

json holdings_json(const std::vector<Holding>& holdings) {
  json out = json::array();
  for (const Holding& holding : holdings) out.push_back({{"id", to_string(holding.id)}, {"fence", holding.fence}});
  return out;
}

json extras_json(const NewJob& job) {
  const Backoff usual;
  json out;
  if (job.timeout != Duration{0}) out["timeout"] = job.timeout.count();
  if (job.backoff.first != usual.first) out["backoff_first"] = job.backoff.first.count();
  if (job.backoff.most != usual.most) out["backoff_most"] = job.backoff.most.count();
  if (!job.key.empty()) out["key"] = job.key;
  if (job.key_for != Duration{0}) out["key_for"] = job.key_for.count();
  if (!job.group.empty()) out["group"] = job.group;
  if (!job.limit_key.empty()) out["limit_key"] = job.limit_key;
  if (!job.tags.empty()) out["tags"] = job.tags;
  if (!job.traceparent.empty()) out["traceparent"] = job.traceparent;
  return out;
}

json report_json(const WorkerReport& report) {
  return {{"owner", report.owner},
          {"host", report.host},
          {"pid", report.pid},
          {"version", report.version},
          {"queues", report.queues},
          {"stage", report.stage},
          {"concurrency", report.concurrency},
          {"ttl", report.ttl.count()},
          {"holding", holdings_json(report.holding)}};
}

std::optional<std::int64_t> optional_integer_in(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_null() ? std::nullopt : std::optional(value.get<std::int64_t>());
}
std::int64_t integer_in(const json& object, const char* name, std::int64_t otherwise) {
  return optional_integer_in(object, name).value_or(otherwise);
}
bool flag_in(const json& object, const char* name) {
  const json& value = member(object, name);
  return !value.is_null() && value.get<bool>();
}
std::string text_in(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_null() ? std::string() : value.get<std::string>();
}
std::string bytes_in(const json& object, const char* name) { return from_hex(text_in(object, name)); }

JobId read_id(const std::string& text) {
  const std::optional<Uuid> id = parse_uuid(text);
  if (!id) throw WireFailure("an id is not one");
  return *id;
}
JobId id_in(const json& object, const char* name) { return read_id(text_in(object, name)); }
std::optional<JobId> optional_id_in(const json& object, const char* name) {
  return member(object, name).is_null() ? std::nullopt : std::optional(id_in(object, name));
}
std::vector<JobId> ids_in(const json& object, const char* name) {
  std::vector<JobId> out;
  for (const json& id : array_in(object, name)) out.push_back(read_id(id.get<std::string>()));
  return out;
}
Duration duration_in(const json& object, const char* name) { return Duration{integer_in(object, name)}; }
std::optional<Duration> optional_duration_in(const json& object, const char* name) {
  const std::optional<std::int64_t> count = optional_integer_in(object, name);
  return count ? std::optional(Duration{*count}) : std::nullopt;
}
WallTime time_in(const json& object, const char* name) { return WallTime{duration_in(object, name)}; }
std::optional<WallTime> optional_time_in(const json& object, const char* name) {
  const std::optional<Duration> since = optional_duration_in(object, name);
  return since ? std::optional(WallTime{*since}) : std::nullopt;
}
std::optional<int> optional_int_in(const json& object, const char* name) {
  const std::optional<std::int64_t> value = optional_integer_in(object, name);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}
const json& array_in(const json& object, const char* name) {
  static const json none = json::array();
  const json& value = member(object, name);
  return value.is_null() ? none : value;
}

void read_extras(const json& extras, Job& job) {
  if (extras.is_null()) return;
  job.timeout = duration_in(extras, "timeout");
  job.backoff.first = optional_duration_in(extras, "backoff_first").value_or(job.backoff.first);
  job.backoff.most = optional_duration_in(extras, "backoff_most").value_or(job.backoff.most);
  job.key = text_in(extras, "key");
  job.key_for = duration_in(extras, "key_for");
  job.group = text_in(extras, "group");
  job.limit_key = text_in(extras, "limit_key");
  job.tags = array_in(extras, "tags").get<std::vector<std::string>>();
  job.traceparent = text_in(extras, "traceparent");
}

Job read_job(const json& object) {
  Job job;
  job.id = id_in(object, "id");
  job.queue = text_in(object, "queue");
  job.stage = text_in(object, "stage");
  job.state = static_cast<JobState>(int_in(object, "state"));
  job.payload = text_in(object, "payload");
  job.priority = int_in(object, "priority");
  job.attempts_max = int_in(object, "attempts_max");
  read_extras(member(object, "extras"), job);
  job.created_at = time_in(object, "created_at");
  job.run_at = time_in(object, "run_at");
  job.finished_at = optional_time_in(object, "finished_at");
  job.fence = integer_in(object, "fence");
  job.owner = text_in(object, "owner");
  job.lease_left = optional_duration_in(object, "lease_left");
  job.deliveries = integer_in(object, "deliveries");
  job.failures = integer_in(object, "failures");
  job.losses = integer_in(object, "losses");
  job.losses_in_row = integer_in(object, "losses_in_row");
  job.laters = integer_in(object, "laters");
  if (const auto outcome = optional_int_in(object, "last_outcome"))
    job.last_outcome = static_cast<OutcomeKind>(*outcome);
  job.error = bytes_in(object, "error");
  job.result = bytes_in(object, "result");
  job.exit_status = optional_int_in(object, "exit_status");
  if (const auto percent = optional_int_in(object, "percent"))
    job.progress = Progress{*percent, text_in(object, "word")};
  return job;
}

Effect read_effect(const json& object) {
  Effect effect;
  effect.job = id_in(object, "job");
  effect.name = text_in(object, "name");
  effect.state = static_cast<EffectState>(int_in(object, "state"));
  effect.in_doubt = flag_in(object, "in_doubt");
  effect.held = flag_in(object, "held");
  effect.policy = static_cast<InDoubt>(int_in(object, "policy"));
  effect.digest = bytes_in(object, "digest");
  effect.fence = integer_in(object, "fence");
  effect.call = text_in(object, "call");
  effect.actor = text_in(object, "actor");
  effect.doubts = integer_in(object, "doubts");
  effect.began_at = time_in(object, "began_at");
  effect.ended_at = optional_time_in(object, "ended_at");
  effect.exit_status = optional_int_in(object, "exit_status");
  effect.result = bytes_in(object, "result");
  effect.resolved_by = text_in(object, "resolved_by");
  return effect;
}

Attempt read_attempt(const json& object) {
  Attempt attempt;
  attempt.delivery = integer_in(object, "delivery");
  attempt.fence = integer_in(object, "fence");
  attempt.owner = text_in(object, "owner");
  attempt.started_at = time_in(object, "started_at");
  attempt.ended_at = optional_time_in(object, "ended_at");
  attempt.end = static_cast<AttemptEnd>(int_in(object, "end"));
  attempt.exit_status = optional_int_in(object, "exit_status");
  attempt.error = bytes_in(object, "error");
  return attempt;
}

Refusal read_refusal(const json& object) {
  return {id_in(object, "id"), integer_in(object, "sent"), integer_in(object, "current"),
          reason_from(text_in(object, "reason"))};
}

std::vector<Refusal> read_refusals(const json& object) {
  std::vector<Refusal> out;
  for (const json& refused : array_in(object, "refused")) out.push_back(read_refusal(refused));
  return out;
}

std::optional<QueuePause> read_pause(const json& object) {
  const json& paused = member(object, "paused");
  if (paused.is_null()) return std::nullopt;
  return QueuePause{time_in(paused, "at"), text_in(paused, "by"), text_in(paused, "reason")};
}

QueueRow read_queue(const json& object) {
  QueueRow row;
  row.queue = text_in(object, "queue");
  const json& settings = member(object, "settings");
  row.settings.limit = int_in(settings, "limit");
  row.settings.limit_per_key = int_in(settings, "limit_per_key");
  row.settings.keep_done = optional_duration_in(settings, "keep_done").value_or(kKeepDoneDefault);
  row.settings.keep_dead = optional_duration_in(settings, "keep_dead").value_or(kKeepDeadDefault);
  row.paused = read_pause(object);
  row.depth = member(object, "depth").get<std::array<std::int64_t, 6>>();
  row.ahead = integer_in(object, "ahead");
  row.oldest_ready_at = optional_time_in(object, "oldest_ready_at");
  row.newest = integer_in(object, "newest");
  return row;
}

JobFacts read_facts(const json& object) {
  JobFacts facts;
  facts.job = read_job(member(object, "job"));
  facts.due_in = optional_duration_in(object, "due_in");
  facts.paused = read_pause(object);
  facts.group_head = optional_id_in(object, "group_head");
  facts.group_head_revoked = flag_in(object, "group_head_revoked");
  facts.limit = int_in(object, "limit");
  facts.limit_holders = ids_in(object, "limit_holders");
  facts.limit_per_key = int_in(object, "limit_per_key");
  facts.limit_key_holders = ids_in(object, "limit_key_holders");
  facts.key_holder = optional_id_in(object, "key_holder");
  facts.slot_left = optional_duration_in(object, "slot_left");
  facts.must_run_alone = flag_in(object, "must_run_alone");
  facts.workers = integer_in(object, "workers");
  facts.effects_in_doubt = array_in(object, "effects_in_doubt").get<std::vector<std::string>>();
  facts.quiet_workers = array_in(object, "quiet_workers").get<std::vector<std::string>>();
  return facts;
}

WorkerRow read_worker(const std::string& ns, const json& object) {
  WorkerRow row;
  const json& report = member(object, "report");
  row.report.ns = ns;
  row.report.owner = text_in(report, "owner");
  row.report.host = text_in(report, "host");
  row.report.pid = integer_in(report, "pid");
  row.report.version = text_in(report, "version");
  row.report.queues = array_in(report, "queues").get<std::vector<std::string>>();
  row.report.stage = text_in(report, "stage");
  row.report.concurrency = int_in(report, "concurrency");
  row.report.ttl = duration_in(report, "ttl");
  for (const json& held : array_in(report, "holding"))
    row.report.holding.push_back({id_in(held, "id"), integer_in(held, "fence")});
  row.order = static_cast<WorkerOrder>(int_in(object, "order"));
  row.started_at = time_in(object, "started_at");
  row.seen_at = time_in(object, "seen_at");
  row.unseen = duration_in(object, "unseen");
  return row;
}

TrailEntry read_entry(const json& object) {
  return {time_in(object, "at"),  text_in(object, "ns"),      text_in(object, "actor"),
          text_in(object, "act"), text_in(object, "subject"), text_in(object, "reason")};
}

}  // namespace fenceline::postgres
