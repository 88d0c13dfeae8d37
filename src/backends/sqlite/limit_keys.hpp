// The limit of running jobs of one key in a queue. Of a key with n free slots the n best due jobs of each queue and
// lane stand in the open lanes, so that a claim may take all that it meets there; the others wait in lanes of their
// own. Who is let out is chosen anew whenever a job of the key comes, goes, or becomes due. None of this while the
// queue has no limit for each key.
#pragma once

#include <cstdint>
#include <string>

#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {

std::int64_t intern_limit_key(Call& call, std::int64_t home_id, const std::string& name);

// How many slots of the key are taken, by running jobs and revoked deliveries.
std::int64_t key_slots_taken(Call& call, std::int64_t limit_id);

// Chooses anew who of the key is let out, in all stages of the queue.
void choose_of_key(Call& call, std::int64_t home_id, std::int64_t limit_id);

// While it stands, keys are only remembered (by queue and key), and chosen of once at the end: many jobs of one key
// come or go at the price of one choice. Nothing may be claimed meanwhile.
class ChoosingOnce {
 public:
  explicit ChoosingOnce(Call& call) : call_(call) { call_.choose_later.emplace(); }
  ChoosingOnce(const ChoosingOnce&) = delete;
  ChoosingOnce& operator=(const ChoosingOnce&) = delete;
  ~ChoosingOnce() { call_.choose_later.reset(); }
  void choose();

 private:
  Call& call_;
};

// Jobs of limit keys in this queue whose time has come since one last looked.
void let_due_in(Call& call, std::int64_t queue_id);
// The queue's limit per key was changed: every job of a limit key finds its lane. Walks over these jobs, no others.
void change_per_key_most(Call& call, std::int64_t home_id, int before, int after);

}  // namespace fenceline::sqlite
