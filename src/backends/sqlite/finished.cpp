#include "backends/sqlite/finished.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "backends/sqlite/past.hpp"
#include "backends/sqlite/seq_ranges.hpp"
#include "backends/sqlite/varint.hpp"
#include "base/check.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kFindFinished = R"sql(
  SELECT fence, run_at, deliveries, past, state, finished_at, started_at, owner, result, seq, more FROM done
  WHERE seq = (SELECT max(seq) FROM done WHERE seq <= ?1) AND seq + more >= ?1)sql";

// c0 number, c1 more, c2 state, c3 time of finish, c4 fence, c5 run time, c6 deliveries, c7 start, c8 owner, c9 past,
// c10 result
constexpr const char* kPutFinished = R"sql(
  INSERT INTO done (seq, more, state, finished_at, fence, run_at, deliveries, started_at, owner, past, result)
  SELECT c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 FROM batch)sql";

// The row that begins before the number and holds it; the half of it from there on, and the rest.
constexpr const char* kFinishedAcross = R"sql(
  SELECT seq, more, result FROM done WHERE seq = (SELECT max(seq) FROM done WHERE seq < ?1) AND seq + more >= ?1)sql";
constexpr const char* kCopyFinished = R"sql(
  INSERT INTO done (seq, more, state, finished_at, fence, run_at, deliveries, started_at, owner, past, result)
  SELECT ?2, ?3, state, finished_at, fence, run_at, deliveries, started_at, owner, past, ?4 FROM done
    WHERE seq = ?1)sql";
constexpr const char* kCutFinished = "UPDATE done SET more = ?2, result = ?3 WHERE seq = ?1";
constexpr const char* kDropFinishedRange = "DELETE FROM done WHERE seq BETWEEN ?1 AND ?2";

// So that a row with many results stays within a page, and one of them is as cheap to read as if it stood alone.
constexpr std::size_t kResultsMost = 3000;

// As they stand in a row: a result alone as it is.
std::string packed(const std::vector<std::string_view>& results) {
  if (results.size() == 1) return std::string(results.front());
  std::string bytes;
  for (const std::string_view result : results) add_sized(bytes, result);
  return bytes;
}

std::vector<std::string_view> unpacked(std::string_view bytes, std::int64_t more) {
  if (more == 0) return {bytes};
  std::vector<std::string_view> results;
  for (std::int64_t i = 0; i <= more; ++i) results.push_back(take_sized(bytes));
  return results;
}

// No row holds jobs on both sides of it from now on.
void part_finished_before(Call& call, std::int64_t seq) {
  std::int64_t first = 0;
  std::vector<std::string> halves;
  std::vector<std::int64_t> more;
  {
    auto row = call.db.query(kFinishedAcross, seq);
    if (!row.next()) return;
    first = row.integer(0);
    const std::vector<std::string_view> results = unpacked(row.bytes(2), row.integer(1));
    const auto middle = results.begin() + (seq - first);
    halves = {packed({results.begin(), middle}), packed({middle, results.end()})};
    more = {seq - first - 1, first + row.integer(1) - seq};
  }
  call.db.execute(kCopyFinished, first, seq, more[1], Bytes{halves[1]});
  call.db.execute(kCutFinished, first, more[0], Bytes{halves[0]});
}

// Whether the second, with the next number, may stand in the row of the first.
bool share_a_row(const Delivery& a, const std::string& past_of_a, const Delivery& b, const std::string& past_of_b) {
  return a.state == JobState::done && b.state == JobState::done && is_first_of_plain(a, past_of_a) &&
         is_first_of_plain(b, past_of_b) && a.queue_id == b.queue_id && a.finished_at == b.finished_at &&
         a.fence == b.fence && a.run_at == b.run_at && a.started_at == b.started_at && a.owner == b.owner;
}

}  // namespace

std::optional<Delivery> find_finished(Call& call, std::int64_t seq) {
  auto row = call.db.query(kFindFinished, seq);
  if (!row.next()) return std::nullopt;
  Delivery delivery{.seq = seq};
  delivery.state = static_cast<JobState>(row.integer(kCommonColumns));
  read_common(row, delivery, 0);
  delivery.finished_at = row.integer(kCommonColumns + 1);
  delivery.started_at = row.maybe_integer(kCommonColumns + 2);
  delivery.owner = row.text(kCommonColumns + 3);
  const auto at = static_cast<std::size_t>(seq - row.integer(kCommonColumns + 5));
  delivery.result = unpacked(row.bytes(kCommonColumns + 4), row.integer(kCommonColumns + 6))[at];
  return delivery;
}

void put_finished(Call& call, const std::vector<Delivery>& deliveries) {
  if (deliveries.empty()) return;
  const std::vector<std::string> pasts = pasts_of(deliveries);
  struct Row {
    std::size_t at;
    std::int64_t more = 0;
    std::string results;  // of those that share it
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    const Delivery& d = deliveries[i];
    Row* last = rows.empty() ? nullptr : &rows.back();
    const bool joins =
        last && d.seq == deliveries[last->at].seq + last->more + 1 &&
        share_a_row(deliveries[last->at], pasts[last->at], d, pasts[i]) &&
        std::max(last->results.size(), deliveries[last->at].result.size()) + d.result.size() <= kResultsMost;
    if (!joins) {
      rows.push_back({i});
      continue;
    }
    if (last->more == 0) add_sized(last->results, deliveries[last->at].result);
    add_sized(last->results, d.result);
    last->more += 1;
  }
  call.db.batch().show(rows.size(), [&](std::size_t n, int column) {
    const Row& row = rows[n];
    const Delivery& d = deliveries[row.at];
    switch (column) {
      case 0: return Value::integer(d.seq);
      case 1: return Value::integer(row.more);
      case 2: return Value::integer(static_cast<int>(d.state));
      case 3: return Value::integer(d.finished_at);
      case 4: return Value::integer(d.fence);
      case 5: return Value::integer(d.run_at);
      case 6: return Value::integer(d.deliveries);
      case 7: return Value::maybe(d.started_at);
      case 8: return Value::text(d.owner);
      case 9: return past_value(pasts[row.at]);
      default: return Value::blob(row.more > 0 ? row.results : d.result);
    }
  });
  call.db.execute(kPutFinished);
}

void drop_finished(Call& call, std::vector<std::int64_t> seqs) {
  std::sort(seqs.begin(), seqs.end());
  for (const SeqRange& range : ranges_of(seqs)) {
    part_finished_before(call, range.first);
    part_finished_before(call, range.last + 1);
    call.db.execute(kDropFinishedRange, range.first, range.last);
  }
}

}  // namespace fenceline::sqlite
