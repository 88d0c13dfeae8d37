#include "backends/sqlite/finish.hpp"

#include <map>
#include <set>
#include <utility>

#include "backends/sqlite/finished.hpp"
#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/limit_keys.hpp"
#include "backends/sqlite/seq_ranges.hpp"
#include "backends/sqlite/unique_keys.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kNoteEnded = R"sql(
  INSERT INTO ended (queue_id, kind, at, n, seqs)
  SELECT ?1, ?2, ?3, 1 + coalesce((SELECT max(n) FROM ended WHERE queue_id = ?1 AND kind = ?2 AND at = ?3), 0), ?4)sql";

void note_ended(Call& call, const std::vector<Delivery>& finished) {
  std::map<std::pair<std::int64_t, int>, std::vector<std::int64_t>> ended;  // by queue and kind
  for (const Delivery& d : finished) ended[{d.queue_id, d.state == JobState::done ? 0 : 1}].push_back(d.seq);
  for (const auto& [place, seqs] : ended)
    call.db.execute(kNoteEnded, place.first, place.second, call.wall_us(), Bytes{pack_ranges(seqs)});
}

}  // namespace

void look_again(Call& call, const Delivery& finished) {
  const std::vector<std::int64_t> seqs{finished.seq};
  call.db.execute(kNoteEnded, finished.queue_id, finished.state == JobState::done ? 0 : 1, finished.finished_at,
                  Bytes{pack_ranges(seqs)});
}

void finish(Call& call, std::vector<Delivery>& finished, JobState from) {
  if (finished.empty()) return;
  put_finished(call, finished);
  note_ended(call, finished);
  std::set<std::pair<std::int64_t, std::int64_t>> limit_keys;  // by home
  std::set<std::int64_t> homes;
  for (Delivery& d : finished) {
    call.moved(d.queue_id, from, d.state);
    homes.insert(call.names.home_of(d.queue_id));
    if (d.flags == 0) continue;
    add_place(call, d);
    if (d.flags & kHasUniqueKey) release_key(call, d);
    if (d.group_id) leave_group(call, *d.group_id, d.group_place);
    if (d.limit_id) limit_keys.emplace(call.names.home_of(d.queue_id), *d.limit_id);
  }
  for (const auto& [home_id, limit_id] : limit_keys) choose_of_key(call, home_id, limit_id);
  for (const std::int64_t home_id : homes) {
    if (is_limited(call, home_id)) awaken_stages(call, home_id);
  }
}

}  // namespace fenceline::sqlite
