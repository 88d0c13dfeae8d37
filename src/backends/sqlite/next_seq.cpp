#include "backends/sqlite/next_seq.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kNextSeq = R"sql(
  SELECT 1 + max(coalesce((SELECT seq + more FROM job ORDER BY seq DESC LIMIT 1), 0), (SELECT value FROM meta
    WHERE key = 'seq_floor')))sql";
constexpr const char* kRaiseSeqFloorTo = "UPDATE meta SET value = ?1 WHERE key = 'seq_floor'";

}  // namespace

std::int64_t next_seq(Call& call) { return call.db.number(kNextSeq).value_or(1); }

std::int64_t take_seq(Call& call) {
  const std::int64_t taken = next_seq(call);
  call.db.execute(kRaiseSeqFloorTo, taken);
  return taken;
}

}  // namespace fenceline::sqlite
