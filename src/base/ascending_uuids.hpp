// Ids of one producer in their order.
#pragma once

#include "base/uuid.hpp"

namespace fenceline {

// Makes ids for a producer of many: each is larger than the one before, also within a microsecond and when the clock
// was set back. A store keeps jobs of a batch together if their ids ascend.
class AscendingUuids {
 public:
  Uuid next(WallTime now, std::uint64_t random_high, std::uint64_t random_low);

 private:
  Uuid last_;
};

}  // namespace fenceline
