// What a shell offers while a name is typed: queues, jobs, locks, schedules, pipelines and workers of the store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/frame/command.hpp"
#include "store/store.hpp"

namespace fenceline::cli {

// What the argument, or the value of an option, called `name` of `command` is: "queues", "jobs", "locks", "schedules",
// "pipelines", "workers"; empty: nothing that a store has.
std::string_view offered_kind(std::string_view command, std::string_view name);

// Names of that kind that begin with `typed`, sorted, at most kOffersMost; of jobs the newest ones. A few bounded
// calls.
inline constexpr std::size_t kOffersMost = 100;
Result<std::vector<std::string>> completion_offers(Store& store, const std::string& ns, std::string_view kind,
                                                   const std::string& typed, WallTime now);

// Hidden: `fenceline complete KIND [TYPED]`, for completion scripts. It prints one name per line; without a store, or
// with one that does not answer within a second, it prints nothing and ends with 0. It makes no store.
CommandSpec complete_command();

}  // namespace fenceline::cli
