// An issue tracker as the commands need it: from the store's address, the environment and the pipeline's file.
#pragma once

#include <memory>

#include "cli/frame/command.hpp"
#include "tracker/protocol.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::cli {

struct TrackerPlace {
  std::unique_ptr<tracker::Tracker> tracker;
  tracker::Account self;  // of the credentials
  tracker::Protocol protocol;
};

// As open_tracker() asks for it.
std::optional<std::string> this_environment(const std::string& name);

// `--pipeline FILE`, for commands that work on trackers too.
OptionSpec pipeline_file_option();

// Asks the tracker who we are. `pipeline`: the name that was typed, empty: any. Errors: usage (no file), invalid (the
// file, or no key where it needs one), those of open_tracker() and of the tracker.
Result<TrackerPlace> open_tracker_place(const Invocation& invocation, const std::string& pipeline);

// Every label that an item of the pipeline may have.
std::vector<std::string> labels_of(const tracker::Protocol& protocol);

// A tracker's trouble as an error of the program.
Error error_of(const tracker::Trouble& trouble);

// The same commands as on a job store.
Result<int> work_on_tracker(Invocation& invocation);
Result<int> board_of_tracker(Invocation& invocation);
// `command` is what a trusted person would write: "/approve".
Result<int> say_on_tracker(Invocation& invocation, const std::string& command);

}  // namespace fenceline::cli
