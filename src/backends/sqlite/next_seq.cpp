#include "backends/sqlite/next_seq.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kNext = R"sql(
  SELECT 1 + max(coalesce((SELECT seq + more FROM job ORDER BY seq DESC LIMIT 1), 0),
    (SELECT value FROM meta WHERE key = 'seq_floor')))sql";
constexpr const char* kTaken = "UPDATE meta SET value = ?1 WHERE key = 'seq_floor'";

}  // namespace

std::int64_t next_seq(Call& call) { return call.db.number(kNext).value_or(1); }

std::int64_t take_seq(Call& call) {
  const std::int64_t taken = next_seq(call);
  call.db.execute(kTaken, taken);
  return taken;
}

}  // namespace fenceline::sqlite
