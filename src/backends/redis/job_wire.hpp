// Jobs as the scripts keep them (see lua/10_jobs.lua), and as C++ knows them.
#pragma once

#include <string>
#include <string_view>

#include "backends/redis/wire.hpp"
#include "model/job.hpp"

namespace fenceline::redis {

// Appends `head payload`: what of a job never changes, but its order and when it came.
void append_head_and_payload(std::string& out, const NewJob& job);
// When it runs, as lua/19_new_jobs.lua reads it.
std::string when_of(const NewJob& job);

// What never changes, with or without its payload: all but the state. Its stage is the one at which it came. Throws
// WireFailure.
void read_body(const JobId& id, std::string_view body, Job& job);
// What shown() of lua/10_jobs.lua answers. Throws WireFailure.
Job job_in(const Value& shown);

}  // namespace fenceline::redis
