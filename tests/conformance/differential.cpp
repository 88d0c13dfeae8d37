#include "conformance/differential.hpp"

#include <iomanip>
#include <set>
#include <sstream>

#include "conformance/differential_stream.hpp"

namespace fenceline::test {
namespace {

// All answers that can occur, each of which a stream has to bring about.
const std::map<std::string, std::vector<std::string>>& possible_answers() {
  static const std::map<std::string, std::vector<std::string>> answers{
      {"enqueue", {"ok", "existing", "mixed", "empty", "by_key", "alias", "conflict", "invalid"}},
      {"open_batch", {"new", "repeat", "refused", "invalid"}},
      {"claim",
       {"granted", "limit", "forced", "alone", "empty", "alone_waiting", "next_due", "held_back", "repeat",
        "repeat_empty", "refused", "ordered", "invalid"}},
      {"give_back", {"returned", "nothing", "before_claim", "invalid"}},
      {"extend",
       {"ok", "mixed", "not_found", "superseded", "other_owner", "finished", "settled", "expired", "invalid"}},
      {"settle",
       {"done", "failed", "dead", "later", "given_back", "late", "last_attempt", "repeat", "mixed", "not_found",
        "superseded", "other_owner", "finished", "settled", "invalid"}},
      {"job", {"found", "none", "invalid"}},
      {"ids", {"none", "some", "limit", "invalid", "none ends so", "some end so"}},
      {"record", {"ok", "mixed", "not_found", "superseded", "invalid"}},
      {"log", {"none", "some", "more", "end", "dropped", "invalid"}},
      {"cancel",
       {"ready", "delayed", "running", "waiting", "cancelled", "repeat", "finished", "state", "not_found", "refused",
        "invalid"}},
      {"retry",
       {"ready", "delayed", "running", "waiting", "dead", "cancelled", "repeat", "finished", "state", "key_taken",
        "effect_in_doubt", "not_found", "refused", "invalid"}},
      {"purge", {"all", "more", "nothing", "invalid"}},
      {"set_queue", {"ok", "invalid"}},
      {"pause", {"paused", "resumed", "invalid"}},
      {"queues", {"some", "none", "paused", "oldest", "ahead", "invalid"}},
      {"tidy", {"removed", "steps", "nothing", "invalid"}},
      {"facts",
       {"found", "none", "due_in", "paused", "behind", "behind_revoked", "limit", "limit_per_key", "key_holder",
        "own_key", "slot_left", "alone", "effects", "workers", "quiet", "invalid"}},
      {"attempts",
       {"none", "running", "done", "failed", "dead", "later", "given_back", "lost", "cancelled", "retried", "held",
        "invalid"}},
      {"jobs",
       {"empty", "last", "more", "tagged", "keyed", "by_error", "by_time", "newest_first", "ready", "running",
        "waiting", "done", "dead", "cancelled", "buried", "run_out", "invalid"}},
      {"backlog", {"nothing", "running", "claimable", "ahead", "blocked", "invalid"}},
      {"order_worker", {"ok", "not_found", "refused", "invalid"}},
      {"orders", {"work", "quiet", "stop", "revoked", "invalid"}},
      {"stopped", {"freed", "nothing", "invalid"}},
      {"begin_effect",
       {"act", "again", "probe", "done", "busy", "held", "repeat", "not_found", "superseded", "finished", "settled",
        "expired", "conflict", "refused", "invalid"}},
      {"finish_effect",
       {"done", "none", "held", "waits", "released", "not_found", "superseded", "other_call", "invalid"}},
      {"resolve_effect", {"done", "none", "repeat", "released", "waits_on", "not_found", "refused", "invalid"}},
      {"effects",
       {"empty", "last", "more", "none", "intent", "done", "in_doubt", "held", "resolved", "doubts", "invalid"}},
      {"acquire",
       {"granted", "shared", "joined", "several", "slot", "after_waiting", "forced", "repeat", "held", "barred",
        "delayed", "turn", "ahead", "passed_by", "lost", "refused", "invalid"}},
      {"renew",
       {"ok", "mixed", "not_found", "superseded", "other_owner", "to_its_end", "released", "expired", "invalid"}},
      {"release", {"ok", "repeat", "mixed", "not_found", "superseded", "other_owner", "to_its_end", "invalid"}},
      {"withdraw", {"left_queue", "freed", "stays", "nothing", "before_acquire", "invalid"}},
      {"locks", {"empty", "last", "more", "invalid"}},
      {"lock", {"none", "held", "barred_or_delayed", "free", "ran_out", "waiters", "sharers", "invalid"}},
      {"break_lock", {"broken", "repeat", "not_found", "refused", "invalid"}},
      {"schedules", {"empty", "last", "more", "removed", "paused", "bar", "unfinished", "invalid"}},
      {"step_ticks",
       {"taken", "fired", "skipped", "joined", "duplicate", "repeat", "mixed", "not_found", "changed", "moved", "early",
        "covers", "conflict", "invalid"}},
      {"change_schedule",
       {"added", "added_again", "added_below_bar", "changed", "taken_back", "paused", "resumed", "removed", "rewound",
        "rewound_kept", "run", "with_step", "duplicate", "as_asked", "repeat", "not_found", "conflict", "refused",
        "invalid"}},
      {"ticks", {"empty", "last", "more", "fired", "skipped", "range", "invalid"}},
      {"put_pipeline", {"applied", "changed", "removed", "again", "as_asked", "conflict", "refused", "invalid"}},
      {"pipelines", {"some", "none", "invalid"}},
      {"items", {"all", "some", "none", "record", "no_record", "invalid"}},
      {"change_items", {"advance_ready",  "advance_waiting", "advance_ends",    "failed",
                        "late",           "move_ready",      "move_waiting",    "move_ends",
                        "move_of_ready",  "move_of_running", "move_of_waiting", "note",
                        "note_of_holder", "repeat",          "mixed",           "not_found",
                        "superseded",     "other_owner",     "finished",        "settled",
                        "state",          "effect_in_doubt", "changed",         "refused",
                        "invalid"}},
      {"raise_floor", {"raised", "as_it_is", "refused", "invalid"}},
      {"report_worker", {"ok", "invalid"}},
      {"remove_worker", {"ok", "invalid"}},
      {"workers", {"some", "none", "invalid"}},
      {"trail", {"some", "none", "invalid"}},
      {"remove_namespace", {"ok", "nothing", "invalid"}},
  };
  return answers;
}

}  // namespace

DifferentialReport run_differential(Store& oracle, Store& store, ManualClock& clock,
                                    const DifferentialOptions& options) {
  DifferentialStream stream(oracle, store, clock, options.seed, options.alike);
  for (int i = 0; i < options.operations && !stream.difference(); ++i) stream.step();
  return {stream.seen(), stream.difference()};
}

std::string table_of(const AnswersSeen& seen) {
  std::ostringstream out;
  for (const auto& [verb, answers] : possible_answers()) {
    out << std::left << std::setw(17) << verb;
    for (const std::string& answer : answers) {
      const auto found = seen.find({verb, answer});
      out << "  " << answer << " " << (found == seen.end() ? 0 : found->second);
    }
    out << "\n";
  }
  return out.str();
}

std::vector<std::string> gaps_in(const AnswersSeen& seen) {
  std::vector<std::string> gaps;
  std::set<std::pair<std::string, std::string>> possible;
  for (const auto& [verb, answers] : possible_answers()) {
    for (const std::string& answer : answers) {
      possible.emplace(verb, answer);
      if (!seen.contains({verb, answer})) gaps.push_back(verb + ": " + answer + " was never seen");
    }
  }
  for (const auto& [cell, times] : seen) {
    if (!possible.contains(cell)) gaps.push_back(cell.first + ": nobody expected " + cell.second);
  }
  return gaps;
}

}  // namespace fenceline::test
