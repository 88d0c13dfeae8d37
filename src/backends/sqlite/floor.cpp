// The floor below every fence that is granted from now on, raised by an operator when gates remember more than the
// store.
#include <algorithm>
#include <string>

#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

// Looks at every job and lock: asked for only when a floor lies so far ahead that it is refused without.
constexpr const char* kLargest = R"sql(
  SELECT max(coalesce((SELECT max(fence) FROM ready), 0), coalesce((SELECT max(fence) FROM run), 0),
             coalesce((SELECT max(fence) FROM waiting), 0), coalesce((SELECT max(fence) FROM done), 0),
             coalesce((SELECT max(fence) FROM grp), 0), coalesce((SELECT max(fence) FROM fenceline_lock), 0)))sql";

}  // namespace

Result<Fence> raise_floor(Call& call, const RaiseFloorRequest& request) {
  const Fence floor = floor_of_fences(call);
  if (request.floor <= floor) return floor;
  const Fence ahead = (call.wall + kFloorAheadMost).time_since_epoch().count();
  if (request.floor > ahead) {
    const Fence most = std::max({ahead, floor, call.db.number(kLargest).value_or(0)});
    if (request.floor > most)
      return fail(Code::refused, "a floor of " + std::to_string(request.floor) +
                                     " is more than a day ahead of the store's clock; at most " + std::to_string(most));
  }
  raise_floor_to(call, request.floor);
  enter_in_trail(call, request.ns, request.act, "floor_raised", std::to_string(request.floor));
  return request.floor;
}

}  // namespace fenceline::sqlite
