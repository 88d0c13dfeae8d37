// An effect that is nothing but the statements of a transaction of yours in the store's own database:
// fenceline/sqlite.hpp, fenceline/postgres.hpp.
#pragma once

#include <string>

namespace fenceline {

struct EffectOnce {
  std::string name;    // as for run.effect: one for its job, whatever the fence
  std::string digest;  // of what is done, 1 to 128 bytes; the same name for another one is a conflict
  std::string result;  // kept, and replayed from then on
};

struct EffectOnceReply {
  bool done_before =
      false;           // it had happened: nothing was recorded, and this transaction's statements must not be committed
  std::string result;  // of the first time
};

}  // namespace fenceline
