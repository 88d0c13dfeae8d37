// The job that EnqueueOptions make: fenceline/enqueue_options.hpp.
#pragma once

#include <string_view>

#include "fenceline/enqueue_options.hpp"
#include "model/job.hpp"

namespace fenceline {

// The job without its id and payload.
NewJob new_job(std::string_view queue, const EnqueueOptions& options);

}  // namespace fenceline
