#include "backends/sqlite/seq_ranges.hpp"

#include "backends/sqlite/varint.hpp"

namespace fenceline::sqlite {
namespace {

// Small for numbers near zero on either side.
std::int64_t folded(std::int64_t number) { return number < 0 ? -2 * number - 1 : 2 * number; }
std::int64_t unfolded(std::int64_t number) { return number % 2 == 0 ? number / 2 : -(number + 1) / 2; }

}  // namespace

std::vector<SeqRange> ranges_of(const std::vector<std::int64_t>& seqs) {
  std::vector<SeqRange> ranges;
  for (const std::int64_t seq : seqs) {
    if (!ranges.empty() && ranges.back().last + 1 == seq) ranges.back().last = seq;
    else ranges.push_back({seq, seq});
  }
  return ranges;
}

// Of each range how far it begins from the end of the one before, and how many more numbers it has.
std::string pack_ranges(const std::vector<std::int64_t>& seqs) {
  std::string bytes;
  std::int64_t end = 0;
  for (const SeqRange& range : ranges_of(seqs)) {
    add_number(bytes, folded(range.first - end));
    add_number(bytes, range.last - range.first);
    end = range.last;
  }
  return bytes;
}

std::vector<std::int64_t> unpack_ranges(std::string_view bytes) {
  std::vector<std::int64_t> seqs;
  std::int64_t end = 0;
  while (!bytes.empty()) {
    const std::int64_t first = end + unfolded(take_number(bytes));
    end = first + take_number(bytes);
    for (std::int64_t seq = first; seq <= end; ++seq) seqs.push_back(seq);
  }
  return seqs;
}

}  // namespace fenceline::sqlite
