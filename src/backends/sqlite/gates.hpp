// What holds a ready job back beside its time: its group, its own revoked delivery, the limit of its key (see
// limit_keys.hpp). Jobs behind a gate stand in lanes of their own, so that a claim never meets them; whatever opens a
// gate moves the next one out. Of a group only the head, the unfinished job with the first place, leaves the held lane,
// and only while no revoked delivery has the group's slot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/sqlite/delivery.hpp"

namespace fenceline::sqlite {

// A job in `ready`.
struct Standing {
  std::int64_t queue_id = 0;
  std::int64_t lane = 0;
  std::int64_t rank = 0;
  std::int64_t run_at = 0;
  std::int64_t seq = 0;
  std::optional<std::int64_t> limit_id;
  bool alone = false;
  // Of its row, if others stand in it too.
  std::int64_t first = 0;
  std::int64_t more = 0;
};
// Empty if the job is not ready. Only reads.
std::optional<Standing> find_standing(Call& call, std::int64_t seq);
// Leaves those that stand in the same row where they are.
void drop_standing(Call& call, const Standing& standing);
void move_to_lane(Call& call, const Standing& standing, std::int64_t lane);

// Puts jobs into `ready`, each in its lane; their place is known, and they are in their groups.
void enter_ready(Call& call, const std::vector<Delivery>& deliveries);

std::int64_t intern_group(Call& call, std::int64_t home_id, const std::string& name);

// Whether a job that joins the group now is its head and may leave the held lane.
bool group_is_free(Call& call, std::int64_t group_id);
void join_group(Call& call, std::int64_t group_id, std::int64_t place, std::int64_t seq);
// The job is finished.
void leave_group(Call& call, std::int64_t group_id, std::int64_t place);
std::optional<std::int64_t> head_of(Call& call, std::int64_t group_id);  // its number
// Lets the head out of the held lane, if nothing holds it.
void open_head(Call& call, std::int64_t group_id);
// The slot of its own revoked delivery is free.
void open_job(Call& call, std::int64_t seq);

// No fence is granted at or below it; asked for once in a call.
Fence floor_of_fences(Call& call);
// Never lowers it.
void raise_floor_to(Call& call, Fence fence);
Fence fence_of_group(Call& call, std::int64_t group_id);
// The next fence of the job, above its last one, `floor`, and all that its group had, which remembers it. Its place is
// known, if it has a group. Errors: refused.
Result<Fence> mint_fence(Call& call, const Delivery& delivery, Fence floor);

}  // namespace fenceline::sqlite
