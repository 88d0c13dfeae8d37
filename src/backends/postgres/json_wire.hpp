// Requests and replies of the verbs that are not hot, as JSON: members have the names of the C++ structs, what is empty
// is left out; enums are their numbers, ids text, bytes hexadecimal, times and durations whole microseconds. Readers
// throw WireFailure or what the JSON library throws.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/postgres/wire.hpp"
#include "model/effect.hpp"
#include "model/job.hpp"
#include "store/store.hpp"

namespace fenceline::postgres {

using nlohmann::json;

std::string to_hex(std::string_view bytes);
std::string from_hex(std::string_view hex);

json act_json(const Act& act);
json ids_json(const std::vector<JobId>& ids);
json holdings_json(const std::vector<Holding>& holdings);
json extras_json(const NewJob& job);  // null: nothing differs from the default
json report_json(const WorkerReport& report);

// A member, or what stands for its absence.
std::int64_t integer_in(const json& object, const char* name, std::int64_t otherwise = 0);
std::optional<std::int64_t> optional_integer_in(const json& object, const char* name);
bool flag_in(const json& object, const char* name);
std::string text_in(const json& object, const char* name);
std::string bytes_in(const json& object, const char* name);
JobId id_in(const json& object, const char* name);
std::optional<JobId> optional_id_in(const json& object, const char* name);
std::vector<JobId> ids_in(const json& object, const char* name);
Duration duration_in(const json& object, const char* name);
std::optional<Duration> optional_duration_in(const json& object, const char* name);
WallTime time_in(const json& object, const char* name);
std::optional<WallTime> optional_time_in(const json& object, const char* name);
std::optional<int> optional_int_in(const json& object, const char* name);
const json& array_in(const json& object, const char* name);  // empty if it is not there
JobId read_id(const std::string& text);

void read_extras(const json& extras, Job& job);
Job read_job(const json& object);
Effect read_effect(const json& object);
Attempt read_attempt(const json& object);
Refusal read_refusal(const json& object);
std::vector<Refusal> read_refusals(const json& object);
std::optional<QueuePause> read_pause(const json& object);
QueueRow read_queue(const json& object);
JobFacts read_facts(const json& object);
WorkerRow read_worker(const std::string& ns, const json& object);
TrailEntry read_entry(const json& object);

}  // namespace fenceline::postgres
