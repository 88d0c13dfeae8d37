// Rows of `job`. Plain jobs of one call that share all but id and payload share a row, as long as it stays within a
// page: their ids and payloads stand one after the other. Their ids ascend, and no two such rows of a namespace overlap
// in their ranges of ids, so that an id in the middle of one is found by one seek. Whoever changes one of the jobs
// parts the row.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/sqlite/seq_ranges.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {

// A row of jobs on their way in.
struct JobRow {
  std::size_t at;      // the first of them in the request
  bool alone = false;  // takes no others
  std::int64_t more = 0;
  std::string ids;       // of the others
  std::string payloads;  // of all, if there are others
};
bool of_one_millisecond(const JobId& a, const JobId& b);
// Whether the row takes one more job, which then stands in it. What they must share is the caller's to look at.
bool add_to_row(JobRow& row, const NewJob& first, const NewJob& last, const NewJob& next);

// Whether some job of the namespace may have an id from `first` to `last`, or some row of others lies across them;
// false: neither.
bool may_be_there(Call& call, std::int64_t ns_id, const JobId& first, const JobId& last);

// Looks at jobs. Cheap for numbers that ascend. One at a time on a connection, and nothing may change `job` meanwhile.
class JobWalk {
 public:
  explicit JobWalk(Call& call) : call_(call) {}

  // Whether there is such a job; what follows speaks of it until the next find().
  bool find(std::int64_t seq);

  JobId id() const;
  std::string_view payload();
  std::string_view extras() const { return rows_->bytes(12); }
  std::int64_t ns_id() const { return rows_->integer(2); }
  std::int64_t queue_id() const { return rows_->integer(3); }
  int priority() const { return static_cast<int>(rows_->integer(4)); }
  int attempts_max() const { return static_cast<int>(rows_->integer(5)); }
  std::int64_t created_at() const { return rows_->integer(6); }
  std::int64_t run_at() const { return rows_->integer(7); }
  std::int64_t flags() const { return rows_->integer(8); }
  std::optional<std::int64_t> group_id() const { return rows_->maybe_integer(9); }
  std::optional<std::int64_t> limit_id() const { return rows_->maybe_integer(10); }
  std::int64_t place() const { return rows_->is_null(11) ? seq_ : rows_->integer(11); }

 private:
  bool reaches(std::int64_t seq);
  void read();

  Call& call_;
  std::unique_ptr<Rows> rows_;
  bool ended_ = false;
  std::int64_t seq_ = 0;
  std::int64_t first_ = 0;  // of the row at hand
  std::int64_t last_ = 0;
  std::int64_t payload_of_ = 0;  // which number the next one in `payloads_` belongs to
  std::string_view payload_;
  std::string_view payloads_;
};

// Looks for numbers by ids. Cheap for ids that ascend.
class IdWalk {
 public:
  IdWalk(Call& call, std::int64_t ns_id) : call_(call), ns_id_(ns_id) {}
  std::optional<std::int64_t> find(const JobId& id);

 private:
  std::optional<std::int64_t> find_in_row(std::string_view id);
  void remember(std::int64_t seq, std::string_view ids);

  Call& call_;
  std::int64_t ns_id_;
  std::int64_t seq_ = 0;  // of the first in `ids_`
  std::string ids_;       // of the last row, but for its first
  std::size_t next_ = 0;
};

// The first ids of the namespace from `first` to `last`, in their order, at most so many.
std::vector<JobId> ids_between(Call& call, std::int64_t ns_id, const JobId& first, const JobId& last, std::size_t most);
// Those of the newest kNewestIds, at least, whose hex digits end so; in the order of their ids.
std::vector<JobId> newest_ids_ending(Call& call, std::int64_t ns_id, const std::string& suffix);

// The numbers after `after` and up to `up_to` with their namespace and queue, at most so many rows.
struct JobsOfRow {
  SeqRange numbers;
  std::int64_t ns_id;
  std::int64_t queue_id;
};
std::vector<JobsOfRow> job_rows(Call& call, std::int64_t after, std::int64_t up_to, std::size_t most);
// The same for the numbers before `before`, the newest row first.
std::vector<JobsOfRow> job_rows_before(Call& call, std::int64_t before, std::size_t most);

// Of these numbers of jobs those that are ready, or that are ready or waiting; at most so many.
std::vector<std::int64_t> ready_among(Call& call, const SeqRange& numbers, std::size_t most);
std::vector<std::int64_t> idle_among(Call& call, const SeqRange& numbers, std::size_t most);

// The job shares its row with no other from now on.
void have_own_row(Call& call, std::int64_t seq);

// In any order.
void drop_jobs(Call& call, std::vector<std::int64_t> seqs);

}  // namespace fenceline::sqlite
