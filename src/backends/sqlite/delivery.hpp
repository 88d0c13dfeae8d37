// The changing half of a job, whichever of the tables ready, run, waiting and done it stands in, and its moves between
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/sqlite/verbs.hpp"
#include "model/job.hpp"

namespace fenceline::sqlite {

// job.flags: what a job's move has to look after beside its own row. A plain job has none of them.
inline constexpr std::int64_t kHasGroup = 1;
inline constexpr std::int64_t kHasLimitKey = 2;
inline constexpr std::int64_t kHasUniqueKey = 4;
inline constexpr std::int64_t kHasTags = 8;
inline constexpr std::int64_t kHasPast = 16;  // before its first delivery: a person said why it was dead

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
  std::optional<std::int64_t> exit_status;
  std::string owner;
  std::string error;
  // running only
  std::int64_t claim_id = 0;
  std::int64_t place = 0;   // in the reply of its claim
  bool shares_row = false;  // with others that run, when it was found
  std::int64_t lease_end = 0;
  std::optional<std::string> previous_owner;
  // running, and finished by a settle
  std::optional<std::int64_t> started_at;
  // finished only
  std::int64_t finished_at = 0;
  std::string result;
  // known while running, and after add_place()
  std::int64_t queue_id = 0;
  std::int64_t flags = 0;
  std::optional<std::int64_t> limit_id;
  // known after add_place()
  int priority = 0;
  std::optional<std::int64_t> group_id;
  std::int64_t group_place = 0;
};

// Where the job of this number stands. It exists.
Delivery find_delivery(Call& call, std::int64_t seq);
// The delivery at hand, if the job is running.
std::optional<Delivery> find_running(Call& call, std::int64_t seq);
// Of many jobs; those that run under another claim, or do not run, are left out.
std::vector<Delivery> find_running_under(Call& call, std::int64_t claim_id, const std::vector<std::int64_t>& seqs);
std::optional<std::int64_t> find_seq(Call& call, std::int64_t ns_id, const JobId& id);
JobId id_of(Call& call, std::int64_t seq);

// Of many jobs at once, in this order; empty: no such job in this namespace.
std::vector<std::optional<Delivery>> find_deliveries(Call& call, std::int64_t ns_id,
                                                     const std::vector<const JobId*>& ids);

// Each is one statement for all rows, or a few. put_running takes them in the order of the reply, none of them running.
// What is ready is put by enter_ready() of gates.hpp.
void put_running(Call& call, const std::vector<Delivery>& deliveries);
void drop_running(Call& call, const std::vector<Delivery>& deliveries);
void renew_running(Call& call, const std::vector<Delivery>& deliveries, std::int64_t lease_end);

std::optional<Progress> find_progress(Call& call, std::int64_t seq);

// All of a job as the seam shows it.
Job to_job(Call& call, const Delivery& delivery, bool with_payload);
// Sets what is known of the job's place from its row.
void add_place(Call& call, Delivery& delivery);

}  // namespace fenceline::sqlite
