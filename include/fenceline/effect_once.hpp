// An effect that consists of the statements of your own transaction in the store's database, and nothing else: see
// effect_done() in fenceline/sqlite.hpp and fenceline/postgres.hpp.
#pragma once

#include <string>

namespace fenceline {

struct EffectOnce {
  std::string name;    // as for run.effect: one for its job, whatever the fence
  std::string digest;  // of what is done, 1 to 128 bytes; the same name with another digest is a conflict
  std::string result;  // kept, and replayed from then on
};

struct EffectOnceReply {
  bool done_before = false;  // it had happened: nothing was recorded; roll this transaction back
  std::string result;        // of the first time
};

}  // namespace fenceline
