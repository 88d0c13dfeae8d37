#include "model/effect.hpp"

#include <array>

namespace fenceline {

std::string_view to_string(EffectState state) {
  constexpr std::array<std::string_view, 3> kNames{"none", "intent", "done"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view to_string(InDoubt in_doubt) {
  constexpr std::array<std::string_view, 3> kNames{"hold", "repeat", "probe"};
  return kNames[static_cast<std::size_t>(in_doubt)];
}

std::optional<InDoubt> parse_in_doubt(std::string_view text) {
  for (const InDoubt one : {InDoubt::hold, InDoubt::repeat, InDoubt::probe}) {
    if (text == to_string(one)) return one;
  }
  return std::nullopt;
}

Result<void> check_effect_name(std::string_view name) { return check_name("effect", name); }

std::string idempotency_key(const JobId& job, std::string_view name) {
  return to_string(job) + "." + std::string(name);
}

Job held_for_effect(Job job) {
  job.state = JobState::waiting;
  job.losses_in_row = 0;  // its delivery came to an end of its own
  job.last_outcome.reset();
  job.exit_status.reset();
  return job;
}

Job released_from_hold(Job job) {
  job.state = JobState::ready;
  return job;
}

}  // namespace fenceline
