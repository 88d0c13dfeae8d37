// Ids of jobs as people read and type them. The first characters of an id are its time, so jobs of one batch share
// them; the last ones tell jobs apart.
#pragma once

#include <string>

#include "cli/frame/table.hpp"
#include "model/job.hpp"

namespace fenceline::cli {

// The last 8 characters of an id: what tables show on a terminal, and what commands accept for the whole.
std::string short_id(const JobId& id);

// A cell that shows the short id on a terminal and the whole id in a pipe.
Cell id_cell(const JobId& id);

}  // namespace fenceline::cli
