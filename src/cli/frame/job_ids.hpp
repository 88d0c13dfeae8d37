// Ids of jobs as people read and type them. The first characters of an id are its time, so jobs of one batch share
// them; the last ones tell jobs apart.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/frame/table.hpp"
#include "store/store.hpp"

namespace fenceline::cli {

// The last 8 characters of an id: what tables show on a terminal, and what commands accept for the whole.
std::string short_id(const JobId& id);

// The same text, each id in it short.
std::string with_short_ids(std::string_view text);

// A cell that shows the short id on a terminal and the whole id in a pipe.
Cell id_cell(const JobId& id);

// How a command that takes ids describes them.
inline constexpr const char* kIdHelp = "the job's id, or its last 8 characters as lists show them";
inline constexpr const char* kIdsHelp = "the jobs' ids, or the last 8 characters of each as lists show them";

// The job whose id was typed: whole, by its last 8 characters or more (among the newest 100,000 ids), or by its first 8
// or more. Errors: invalid (not an id), not_found, conflict (several match: the message lists them).
Result<JobId> find_id(const std::string& text, const std::string& ns, Store& store);

Error no_such_job(const JobId& id, const std::string& ns);

}  // namespace fenceline::cli
