// What few jobs set, in one column: unique key, group, limit key, timeout, backoff, tags, trace context. Null for a job
// that sets none of them.
#pragma once

#include <string>
#include <string_view>

#include "model/job.hpp"

namespace fenceline::sqlite {

// Empty: nothing is set.
std::string pack_extras(const NewJob& job);

// Into a job whose fields still have their defaults.
void unpack_extras(std::string_view bytes, Job& job);

}  // namespace fenceline::sqlite
