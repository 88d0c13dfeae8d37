// A plan made smaller: what is left of its sizes and of what can go wrong in it. Text of it goes behind `--shrunk`, so
// that one line repeats a reduced failure: "hosts=2,jobs=1,storm_ms=800,on=pause+drop_reply,world=12".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace fenceline::sim {

struct Plan;

struct PlanChange {
  std::map<std::string, std::int64_t, std::less<>> sizes;         // by name; those that are not here stay
  std::optional<std::set<std::string, std::less<>>> switches_on;  // all others are off; none: all stay as they are
  std::optional<std::uint64_t> world;  // chance in the world, in place of the seed, which made the plan

  bool empty() const { return sizes.empty() && !switches_on && !world; }
  bool operator==(const PlanChange&) const = default;
};

// Names of sizes: hosts, jobs and so on; each has a least value.
struct PlanSize {
  std::string_view name;
  std::int64_t least = 0;
};
const std::vector<PlanSize>& plan_sizes();
std::int64_t size_of(const Plan& plan, std::string_view size);

// Names of what can be switched off: kinds of faults, habits of handlers, features of jobs, acts of operators.
std::vector<std::string> plan_switches();
std::set<std::string, std::less<>> switches_on(const Plan& plan);

void apply(const PlanChange& change, Plan& plan);

std::string to_text(const PlanChange& change);
// Errors: invalid.
Result<PlanChange> parse_plan_change(std::string_view text);

}  // namespace fenceline::sim
