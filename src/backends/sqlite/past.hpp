// What a job's earlier deliveries left behind, in one column: counts, the last outcome, errors. Null for a job at its
// first delivery, and for one that was done by it: these are most, and a column that is null costs nearly nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/sqlite/delivery.hpp"

namespace fenceline::sqlite {

// Empty: nothing but what the state says. The owner of a ready or waiting job is part of it, and a running one's
// previous owner.
std::string pack_past(const Delivery& delivery);

// Into a delivery whose state is known.
void unpack_past(std::string_view bytes, Delivery& delivery);

// One for each; most are empty.
std::vector<std::string> pasts_of(const std::vector<Delivery>& deliveries);
inline Value past_value(const std::string& past) { return past.empty() ? Value{} : Value::blob(past); }

// Such jobs share a row with their neighbours.
inline bool is_first_of_plain(const Delivery& d, const std::string& past) {
  return d.deliveries == 1 && d.flags == 0 && past.empty();
}

// The columns that ready, run, waiting and done have: fence, run_at, deliveries, past. The state is known.
inline constexpr int kCommonColumns = 4;
void read_common(const Rows& row, Delivery& delivery, int first);

}  // namespace fenceline::sqlite
