// What handlers say while they work: J3, and that nothing of it is doubled or dropped.
#include <algorithm>

#include "sim/checks/store_checks.hpp"

namespace fenceline::sim {

void StoreChecks::see(const Applied&, const RecordCall& call) {
  if (!call.reply) return;
  for (const Note& note : call.request.notes) {
    KnownJob* job = known(note.id);
    const bool rightful = job && job->fence == note.fence;
    const bool refused =
        std::any_of(call.reply->refused.begin(), call.reply->refused.end(),
                    [&](const Refusal& refusal) { return refusal.id == note.id && refusal.sent == note.fence; });
    if (refused == rightful)
      return broken("J3", note.id,
                    rightful ? "refused a note under its newest fence" : "took a note under an older fence");
    tally_.add(refused ? Count::notes_refused : Count::notes);
    if (rightful) job->note(note.progress, note.log, note.log_at);
  }
}

void StoreChecks::compare_log(const KnownJob& job) {
  std::string bytes;
  LogRequest request{.ns = ns_, .id = job.id, .limit = 1000};
  while (true) {
    const Result<std::optional<LogReply>> page = store_.log(request);
    if (!page || !*page) return broken("notes", job.id, "has no log to show");
    for (const LogChunk& chunk : (*page)->chunks) bytes += chunk.bytes;
    if ((*page)->next == request.after) break;
    request.after = (*page)->next;
  }
  if (bytes != job.log)
    broken(
        "notes", job.id,
        "shows " + std::to_string(bytes.size()) + " bytes of log, it must be these " + std::to_string(job.log.size()));
}

}  // namespace fenceline::sim
