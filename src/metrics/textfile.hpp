// Metrics of a process that ends before anybody could scrape it: a file for the textfile collector of node_exporter.
// What the process counted is added to what the file has of earlier runs, so that counters grow as they do elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::metrics {

// Two texts in the format of Prometheus as one: counters and histograms are added up, gauges are those of `now`. A text
// before that is not in this format counts as empty. Pure.
std::string added_up(std::string_view before, std::string_view now);

// Whether a file could be written there: its name has the ending that the collector reads, its folder is there.
// Errors: invalid, not_found.
Result<void> check_textfile(const std::string& path);

// Replaces the file by the sum of it and `now`, atomically: the collector sees the old one or the new one. Processes
// that do so at the same time take turns. Errors: held (that took too long), not_found, full, broken.
Result<void> add_to_textfile(Runtime& runtime, const std::string& path, std::string_view now);

}  // namespace fenceline::metrics
