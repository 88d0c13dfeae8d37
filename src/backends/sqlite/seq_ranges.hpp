// Numbers of jobs that follow each other, as those of a batch do, as ranges.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fenceline::sqlite {

struct SeqRange {
  std::int64_t first;
  std::int64_t last;

  bool operator==(const SeqRange&) const = default;
};

// In the order given; a range ends where the next number is not one larger.
std::vector<SeqRange> ranges_of(const std::vector<std::int64_t>& seqs);

// As they stand in claim.seqs and ended.seqs: a few bytes for a range, in the order given.
std::string pack_ranges(const std::vector<std::int64_t>& seqs);
std::vector<std::int64_t> unpack_ranges(std::string_view bytes);

}  // namespace fenceline::sqlite
