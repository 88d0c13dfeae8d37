// The changing half of a job, whichever of the tables ready, run and done it stands in, and its moves between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/sqlite/verbs.hpp"
#include "model/job.hpp"

namespace fenceline::sqlite {

struct Delivery {
  std::int64_t seq = 0;
  JobState state = JobState::ready;
  Fence fence = 0;  // 0: never granted
  std::int64_t run_at = 0;
  std::int64_t deliveries = 0;
  std::int64_t failures = 0;
  std::int64_t losses = 0;
  std::int64_t losses_in_row = 0;
  std::int64_t laters = 0;
  std::optional<std::int64_t> last_outcome;
  std::string owner;
  std::string error;
  // running only
  std::int64_t claim_id = 0;
  std::int64_t place = 0;  // in the reply of its claim
  std::int64_t lease_end = 0;
  std::optional<std::string> previous_owner;
  // finished only
  std::int64_t finished_at = 0;
  std::string result;
  // known to some
  std::int64_t queue_id = 0;
  int priority = 0;
};

// Where the job of this number stands. It exists.
Delivery find_delivery(Call& call, std::int64_t seq);
// The row of `run`, if the job is running.
std::optional<Delivery> find_running(Call& call, std::int64_t seq);

// Of many jobs at once, in this order; empty: no such job in this namespace.
std::vector<std::optional<Delivery>> find_deliveries(Call& call, std::int64_t ns_id, const std::vector<const JobId*>& ids);

// Each is one statement for all rows. put_running replaces a row that is there: a takeover.
void put_ready(Call& call, const std::vector<Delivery>& deliveries);
void put_running(Call& call, const std::vector<Delivery>& deliveries);
void put_finished(Call& call, const std::vector<Delivery>& deliveries);
void drop_running(Call& call, const std::vector<Delivery>& deliveries);

// All of a job as the seam shows it.
Job to_job(Call& call, const Delivery& delivery, bool with_payload);
// Sets queue_id and priority from the job's row.
void add_place(Call& call, Delivery& delivery);

}  // namespace fenceline::sqlite
