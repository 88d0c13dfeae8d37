// Jobs as the scripts keep them (see lua/10_jobs.lua), and as C++ knows them.
#pragma once

#include <string>
#include <string_view>

#include "backends/redis/wire.hpp"
#include "model/job.hpp"

namespace fenceline::redis {

// Appends `head payload`: what of a job never changes, but its order and when it came.
void append_head_and_payload(std::string& out, const NewJob& job);

// Of body (with or without its payload), state (FIELDS of lua/10_jobs.lua) and result; `lease_left` is not set. Throws WireFailure.
Job job_in(const JobId& id, std::string_view body, std::string_view state, std::string_view result);
// What shown() of lua/10_jobs.lua answers. Throws WireFailure.
Job job_in(const Value& shown);

}  // namespace fenceline::redis
