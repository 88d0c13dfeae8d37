#include "history/history_handler.hpp"

#include <exception>
#include <stop_token>

namespace fenceline {

RunResult HistoryHandler::run(const Run& run) {
  using history::Kind;
  const auto note = [&](Kind kind, std::string_view outcome = {}) {
    recorder_.handler(kind, run.job.owner, run.job.id, run.job.fence, outcome);
  };
  note(Kind::started);
  const std::stop_callback told(run.stop, [&] { note(Kind::told); });
  try {
    RunResult result = inner_.run(run);
    note(Kind::ended, to_string(result.kind));
    return result;
  } catch (const std::exception&) {
    note(Kind::ended, to_string(OutcomeKind::failed));
    throw;
  }
}

}  // namespace fenceline
