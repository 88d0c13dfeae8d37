#include "cli/frame/habits.hpp"

#include <algorithm>

namespace fenceline::cli {

const std::vector<Habit>& habits() {
  static const std::vector<Habit> list{
      {"add", {"enqueue", "schedule add"}},
      {"approve", {"stage approve"}},
      {"break", {"locks break"}},
      {"cancel", {"job cancel"}},
      {"check", {"doctor", "gate check"}},
      {"consume", {"work"}},
      {"cron", {"schedule add"}},
      {"dashboard", {"top"}},
      {"delete", {"job cancel", "schedule remove"}},
      {"dump", {"backup"}},
      {"enq", {"enqueue"}},
      {"enque", {"enqueue"}},
      {"explain", {"job explain"}},
      {"flock", {"lock"}},
      {"hold", {"stage hold"}},
      {"info", {"job show", "version"}},
      {"init", {"migrate"}},
      {"inspect", {"job show"}},
      {"kill", {"job cancel", "workers stop"}},
      {"leader", {"elect"}},
      {"list", {"jobs"}},
      {"log", {"job logs"}},
      {"logs", {"job logs"}},
      {"ls", {"jobs"}},
      {"monitor", {"top"}},
      {"pause", {"queue pause", "schedule pause"}},
      {"ps", {"workers list"}},
      {"publish", {"enqueue"}},
      {"purge", {"queue purge"}},
      {"push", {"enqueue"}},
      {"redrive", {"dead redrive"}},
      {"reject", {"stage reject"}},
      {"release", {"locks break", "stage release"}},
      {"remove", {"job cancel", "schedule remove"}},
      {"requeue", {"job retry", "dead redrive"}},
      {"result", {"job wait"}},
      {"resume", {"queue resume", "schedule resume"}},
      {"retry", {"job retry", "dead redrive"}},
      {"rm", {"job cancel"}},
      {"run", {"work", "lock"}},
      {"setup", {"migrate"}},
      {"show", {"job show", "queue show"}},
      {"snapshot", {"backup"}},
      {"start", {"work"}},
      {"stats", {"queue list", "top"}},
      {"status", {"jobs", "top", "doctor"}},
      {"stop", {"workers stop", "job cancel"}},
      {"submit", {"enqueue"}},
      {"unlock", {"locks break"}},
      {"upgrade", {"migrate"}},
      {"wait", {"job wait"}},
      {"watch", {"top"}},
      {"dead retry", {"dead redrive"}},
      {"job delete", {"job cancel"}},
      {"job list", {"jobs"}},
      {"job log", {"job logs"}},
      {"job result", {"job wait"}},
      {"job status", {"job show", "job explain"}},
      {"jobs cancel", {"job cancel"}},
      {"jobs list", {"jobs"}},
      {"jobs logs", {"job logs"}},
      {"jobs ls", {"jobs"}},
      {"jobs retry", {"job retry"}},
      {"jobs show", {"job show"}},
      {"lock break", {"locks break"}},
      {"lock list", {"locks list"}},
      {"lock show", {"locks show"}},
      {"locks unlock", {"locks break"}},
      {"pipeline list", {"pipeline show"}},
      {"queue create", {"queue set", "enqueue"}},
      {"queue delete", {"queue purge"}},
      {"schedule create", {"schedule add"}},
      {"schedule delete", {"schedule remove"}},
      {"stage list", {"board"}},
      {"workers kill", {"workers stop"}},
      {"workers pause", {"workers quiet"}},
  };
  return list;
}

std::optional<std::string> meant_by(std::string_view typed) {
  const auto found = std::ranges::find(habits(), typed, &Habit::typed);
  if (found == habits().end()) return std::nullopt;
  std::string out = "did you mean ";
  for (std::size_t i = 0; i < found->meant.size(); ++i) {
    if (i > 0) out += i + 1 == found->meant.size() ? " or " : ", ";
    out += "'" + std::string(found->meant[i]) + "'";
  }
  return out + "?";
}

}  // namespace fenceline::cli
