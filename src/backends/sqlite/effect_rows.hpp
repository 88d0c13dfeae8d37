// Rows of `effect`. A job has them from the first effect that it began until retention takes it away; one without
// effects costs nothing here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/sqlite/delivery.hpp"
#include "model/effect.hpp"

namespace fenceline::sqlite {

struct EffectRow {
  std::int64_t number = 0;  // in the order in which they were first begun, for cursors; 0: not in the table yet
  std::int64_t seq = 0;     // of its job
  Effect effect;            // `job` and `in_doubt` stand elsewhere, and are not set here
};

std::optional<EffectRow> find_effect(Call& call, std::int64_t seq, const std::string& name);

struct EffectSearch {
  std::int64_t ns_id;
  std::optional<std::int64_t> seq;  // of one job; empty: of the namespace
  bool intents = false;             // no others are needed; of one job they come all the same
  std::int64_t after = 0;
  bool with_result = false;
};
// In the order of their numbers, as long as `visit` says true.
void each_effect(Call& call, const EffectSearch& search, const std::function<bool(EffectRow)>& visit);

// A new one gets its number.
void write_effect(Call& call, std::int64_t ns_id, const EffectRow& row);

std::int64_t count_effects(Call& call, std::int64_t seq);
bool has_intent(Call& call, std::int64_t seq);
bool some_intent_in(Call& call, std::int64_t ns_id);

// The names of those that their job waits for, sorted.
std::vector<std::string> waited_for(Call& call, std::int64_t seq);
void wait_for_none(Call& call, std::int64_t seq);

// Whether nobody is at it: it was begun, and its job, which stands so, is not held under its fence by a live lease.
bool is_in_doubt(Call& call, const Delivery& job, const Effect& effect);

}  // namespace fenceline::sqlite
