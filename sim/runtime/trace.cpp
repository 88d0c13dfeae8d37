#include "sim/runtime/trace.hpp"

namespace fenceline::sim {

void Trace::write(Instant true_time, std::string_view who, std::string_view what) {
  if (!on_) return;
  const std::string micros = std::to_string(true_time.time_since_epoch().count() % 1'000'000);
  text_ += std::to_string(true_time.time_since_epoch().count() / 1'000'000);
  text_ += '.';
  text_.append(6 - micros.size(), '0');
  text_ += micros;
  text_ += ' ';
  text_ += who;
  text_ += ' ';
  text_ += what;
  text_ += '\n';
}

}  // namespace fenceline::sim
