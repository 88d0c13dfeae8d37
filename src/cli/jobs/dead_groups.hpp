// Dead jobs by what they died of: jobs of one queue with like errors are one group.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/frame/table.hpp"
#include "model/job.hpp"

namespace fenceline::cli {

// One line, in which ids, addresses and long numbers are '*': what differs from job to job. Numbers of up to three
// digits stay: they tell kinds of errors apart, as exit status 3 and 75, or 404 and 503.
std::string error_kind(const Job& job);

struct DeadGroup {
  std::string queue;
  std::string error;  // the kind
  std::int64_t count = 0;
  JobId example;  // the newest of them
  WallTime newest_at;
  WallTime oldest_at;
};

// At most kGroupsMost; jobs of further kinds are counted together, with no example.
class DeadGroups {
 public:
  static constexpr std::size_t kGroupsMost = 1000;

  void add(const Job& job);
  std::int64_t total() const { return total_; }
  std::int64_t others() const { return others_; }
  // The largest first, then by queue and error.
  std::vector<DeadGroup> groups() const;

 private:
  std::map<std::pair<std::string, std::string>, DeadGroup> groups_;  // by queue and kind
  std::int64_t total_ = 0;
  std::int64_t others_ = 0;
};

Table dead_groups_table(const std::vector<DeadGroup>& groups, WallTime now);
// {"groups":[...],"jobs":N,"other":N,"complete":true}
std::string dead_groups_json(const DeadGroups& groups, bool complete);

}  // namespace fenceline::cli
