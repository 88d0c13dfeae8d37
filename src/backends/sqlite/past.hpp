// What a job's earlier deliveries left behind, in one column: counts, the last outcome, errors. Null for a job at its first
// delivery, and for one that was done by it: these are most, and a column that is null costs nearly nothing.
#pragma once

#include <string>
#include <string_view>

#include "backends/sqlite/delivery.hpp"

namespace fenceline::sqlite {

// Empty: nothing but what the state says. A ready job's owner is part of it, and a running one's previous owner.
std::string pack_past(const Delivery& delivery);

// Into a delivery whose state is known.
void unpack_past(std::string_view bytes, Delivery& delivery);

}  // namespace fenceline::sqlite
