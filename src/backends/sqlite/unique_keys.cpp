#include "backends/sqlite/unique_keys.hpp"

#include "backends/sqlite/extras.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kHolderOfUniqueKey =
    "SELECT seq FROM unique_key WHERE home_id = ?1 AND name = ?2 AND (until IS NULL OR until > ?3)";
constexpr const char* kTakeUniqueKey =
    "INSERT OR REPLACE INTO unique_key (home_id, name, seq, until) VALUES (?1, ?2, ?3, NULL)";
constexpr const char* kReleaseUniqueKey =
    "UPDATE unique_key SET until = ?4 WHERE home_id = ?1 AND name = ?2 AND seq = ?3";
constexpr const char* kExtras = "SELECT extras FROM job WHERE seq = ?1";

}  // namespace

std::optional<std::int64_t> key_holder(Call& call, std::int64_t home_id, const std::string& key) {
  return call.db.number(kHolderOfUniqueKey, home_id, key, call.wall_us());
}

void take_key(Call& call, std::int64_t home_id, const std::string& key, std::int64_t seq) {
  call.db.execute(kTakeUniqueKey, home_id, key, seq);
}

void release_key(Call& call, const Delivery& finished) {
  const Job job = extras_of(call, finished.seq);
  call.db.execute(kReleaseUniqueKey, call.names.home_of(finished.queue_id), job.key, finished.seq,
                  finished.finished_at + job.key_for.count());
}

Job extras_of(Call& call, std::int64_t seq) {
  Job job;
  auto row = call.db.query(kExtras, seq);
  if (row.next()) unpack_extras(row.bytes(0), job);
  return job;
}

}  // namespace fenceline::sqlite
