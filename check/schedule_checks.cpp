// S1 to S3. No search and no times are needed: the revisions of a schedule grow, and within one its account only moves
// on. So the steps that were taken have one order, whoever sent them and on whatever clock: by revision, then by where
// they begin. A request that was sent again is one step. What is told is certain for every fate of calls without an
// answer. What a removal of the namespace forgot may happen again: then nothing is said.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "check/checks.hpp"

namespace fenceline::audit {
namespace {

// All calls of one request about one schedule.
struct Move {
  const CallLog* log = nullptr;
  CallNumber call = kNoCall;           // the one whose answer counts, else the first
  const ScheduleCall* said = nullptr;  // by it
  bool taken = false;                  // for certain
  bool at_once = false;                // its first call was answered so, and no copy of it can have been there before
  bool may_be = false;

  bool steps() const { return !said->rewinds && said->to > said->from; }
  Time answered() const { return log->calls[call].answered; }
};

struct Account {
  std::map<std::string, Move> moves;  // by request
};

struct Fired {
  const Move* by = nullptr;
  std::uint32_t job = 0;
};

// What a log says of the enqueues of a job.
enum class Enqueued : std::uint8_t { unsaid, not_taken, may_be };

class Schedules {
 public:
  Schedules(const std::vector<const CallLog*>& logs, bool whole, const std::function<void(Violation)>& tell)
      : logs_(logs), whole_(whole), tell_(tell) {}

  ScheduleSums check() {
    bool namespace_removed = false;
    for (const CallLog* log : logs_) {
      for (CallNumber number = 0; number < log->calls.size(); ++number) {
        const Call& call = log->calls[number];
        namespace_removed = namespace_removed || (call.verb == Verb::remove_namespace && call.may_count());
        if (call.schedule != 0) take(*log, number);
      }
    }
    if (!accounts_.empty()) note_enqueues();
    ScheduleSums sums{.schedules = static_cast<std::int64_t>(accounts_.size())};
    for (const auto& [name, account] : accounts_) {
      name_ = name.substr(name.find('/') + 1);
      const std::map<Time, std::vector<Fired>> fired = fired_by(account);
      sums.ticks += static_cast<std::int64_t>(fired.size());
      if (namespace_removed) continue;
      check_fired(account, fired);
      for (const auto& [request, move] : account.moves) {
        if (move.taken) check_move(move, fired);
      }
      check_steps(account);
    }
    return sums;
  }

 private:
  void take(const CallLog& log, CallNumber number) {
    const Call& call = log.calls[number];
    const ScheduleCall& said = log.schedule_of(call);
    std::string request(log.text(call.request));
    if (request.empty()) request = std::to_string(call.asked_line.file) + ":" + std::to_string(call.asked_line.number);
    const auto [found, is_new] = accounts_[std::string(log.text(said.schedule))].moves.try_emplace(std::move(request));
    Move& move = found->second;
    // A change that had nothing to change had no step either.
    const bool taken =
        call.status == Status::ok && (call.verb == Verb::step_ticks || said.revision_then != said.revision);
    if (is_new || (taken && !move.taken)) {
      move.log = &log;
      move.call = number;
      move.said = &said;
      move.at_once = is_new && log.about.repeats == 0;
    }
    move.taken = move.taken || taken;
    // A copy of what was refused may have come when it was due.
    move.may_be = move.may_be || taken || call.status == Status::unknown || log.about.repeats > 0;
  }

  void note_enqueues() {
    for (const CallLog* log : logs_) {
      std::vector<Enqueued>& enqueued = enqueued_.emplace(log, log->jobs.size()).first->second;
      for (const Call& call : log->calls) {
        for (std::uint32_t i = 0; call.verb == Verb::enqueue && i < call.item_count; ++i) {
          Enqueued& job = enqueued[log->items[call.items + i].job];
          job = std::max(job, call.may_count() ? Enqueued::may_be : Enqueued::not_taken);
        }
      }
    }
  }

  std::map<Time, std::vector<Fired>> fired_by(const Account& account) const {
    std::map<Time, std::vector<Fired>> fired;
    for (const auto& [request, move] : account.moves) {
      if (!move.taken || !move.steps()) continue;
      for (const TickItem& item : move.said->fired) {
        if (!item.duplicate) fired[item.tick].push_back({&move, item.job});
      }
    }
    for (auto& [tick, all] : fired)
      std::sort(all.begin(), all.end(), [](const Fired& a, const Fired& b) { return order(*a.by) < order(*b.by); });
    return fired;
  }

  static std::tuple<std::int64_t, Time, Time> order(const Move& move) {
    return {move.said->revision, move.said->from, move.answered()};
  }

  void check_fired(const Account& account, const std::map<Time, std::vector<Fired>>& fired) {
    for (const auto& [tick, all] : fired) {
      for (std::size_t i = 1; i < all.size(); ++i) {
        const Move* back = moved_back_between(account, *all[i - 1].by, *all[i].by);
        std::vector<const Move*> moves{all[i - 1].by, all[i].by};
        if (back) moves.push_back(back);
        broken(back ? "S3" : "S1",
               "fired its tick " + instant(tick) + " twice, for jobs " + job_text(all[i - 1]) + " and " +
                   job_text(all[i]) + (back ? ", the second time after it was moved back" : ""),
               moves);
      }
      for (const Fired& one : all) check_job(tick, one);
    }
  }

  static const Move* moved_back_between(const Account& account, const Move& first, const Move& second) {
    for (const auto& [request, move] : account.moves) {
      if (move.taken && move.said->rewinds && move.said->revision >= first.said->revision &&
          move.said->revision < second.said->revision)
        return &move;
    }
    return nullptr;
  }

  void check_job(Time tick, const Fired& fired) {
    const std::string id(fired.by->log->text(fired.by->log->jobs[fired.job].id));
    const auto [seen, is_new] = jobs_.try_emplace(id, name_, tick);
    if (!is_new && seen->second != std::pair{name_, tick})
      broken("S1",
             "fired its tick " + instant(tick) + " for job " + job_text(fired) + ", which is that of " +
                 seen->second.first + " at " + instant(seen->second.second),
             {fired.by});
    if (enqueued_.at(fired.by->log)[fired.job] == Enqueued::not_taken)
      broken("S1", "fired its tick " + instant(tick) + " and job " + job_text(fired) + " was not enqueued", {fired.by});
  }

  // What one step, or one rewind, says by itself, and what it goes over.
  void check_move(const Move& move, const std::map<Time, std::vector<Fired>>& fired) {
    const ScheduleCall& said = *move.said;
    if (move.at_once && said.to != said.from && said.stands != said.to)
      broken("S2", "was moved to " + instant(said.to) + " and stands at " + instant(said.stands), {&move});
    if (!move.steps()) return;
    if (move.at_once && said.to > said.wall)
      broken("S3", "was moved to " + instant(said.to) + ", when the store's clock showed " + instant(said.wall),
             {&move});
    const auto outside = [&](const TickItem& item) { return item.tick <= said.from || item.last > said.to; };
    if (std::any_of(said.fired.begin(), said.fired.end(), outside) ||
        std::any_of(said.skipped.begin(), said.skipped.end(), outside))
      broken("S2", "took a step with ticks that lie outside of it", {&move});
    for (const TickItem& range : said.skipped) check_skipped(move, range, fired);
  }

  // Later revisions may fire what was open again.
  void check_skipped(const Move& move, const TickItem& range, const std::map<Time, std::vector<Fired>>& fired) {
    for (auto at = fired.lower_bound(range.tick); at != fired.end() && at->first <= range.last; ++at) {
      const Move& by = *at->second.front().by;
      if (&by != &move && by.said->revision >= move.said->revision) continue;
      return broken("S2",
                    "skipped ticks from " + instant(range.tick) + " to " + instant(range.last) + ", and " +
                        instant(at->first) + " had fired",
                    {&by, &move});
    }
  }

  // Of each revision the steps join: none goes over another, and each begins where one ended, or where the revision
  // began.
  void check_steps(const Account& account) {
    std::map<std::int64_t, Time> begins;                     // of a revision, where that is known
    std::map<std::int64_t, std::vector<const Move*>> taken;  // in a revision
    std::map<std::int64_t, std::set<Time>> ends;             // of all that may have been taken
    for (const auto& [request, move] : account.moves) {
      if (move.taken && move.at_once && move.log->calls[move.call].verb == Verb::change_schedule)
        begins.emplace(move.said->revision_then, move.said->stands);
      if (!move.steps()) continue;
      if (move.taken) taken[move.said->revision].push_back(&move);
      if (move.may_be) ends[move.said->revision].insert(move.said->to);
    }
    for (auto& [revision, steps] : taken) {
      std::sort(steps.begin(), steps.end(), [](const Move* a, const Move* b) { return order(*a) < order(*b); });
      for (std::size_t i = 1; i < steps.size(); ++i) {
        if (steps[i]->said->from >= steps[i - 1]->said->to) continue;
        broken("S2",
               "was moved twice over the time from " + instant(steps[i]->said->from) + " to " +
                   instant(std::min(steps[i]->said->to, steps[i - 1]->said->to)),
               {steps[i - 1], steps[i]});
        break;
      }
      if (whole_)
        check_joints(steps, ends[revision],
                     begins.contains(revision) ? std::optional(begins.at(revision)) : std::nullopt);
    }
  }

  void check_joints(const std::vector<const Move*>& steps, const std::set<Time>& ends, std::optional<Time> begin) {
    std::vector<const Move*> unexplained;  // the first of them may be where the revision began
    for (const Move* step : steps) {
      const Time from = step->said->from;
      const bool known =
          begin == from || ends.contains(from) || (!unexplained.empty() && unexplained.back()->said->from == from);
      if (!known) unexplained.push_back(step);
    }
    if (unexplained.size() <= (begin ? 0U : 1U)) return;
    const auto at = std::find(steps.begin(), steps.end(), unexplained.back());
    std::vector<const Move*> told = unexplained;
    if (at != steps.begin()) told.push_back(*std::prev(at));
    broken("S2",
           "took a step from " + instant(unexplained.back()->said->from) + ", where no step and no change had led it",
           told);
  }

  static std::string job_text(const Fired& fired) { return fired.by->log->job_text(fired.job); }

  void broken(std::string promise, const std::string& what, std::vector<const Move*> moves) const {
    std::sort(moves.begin(), moves.end());
    moves.erase(std::unique(moves.begin(), moves.end()), moves.end());
    Violation violation{std::move(promise), "schedule " + name_ + " " + what, {}, kAlways};
    for (const Move* move : moves) {
      violation.at = std::max(violation.at, move->answered());
      for (ExcerptLine& line : excerpt_of(*move->log, {move->call}, 0)) violation.excerpt.push_back(std::move(line));
    }
    std::sort(violation.excerpt.begin(), violation.excerpt.end(),
              [](const ExcerptLine& a, const ExcerptLine& b) { return a.line < b.line; });
    tell_(std::move(violation));
  }

  const std::vector<const CallLog*>& logs_;
  const bool whole_;
  const std::function<void(Violation)>& tell_;
  std::map<std::string, Account> accounts_;
  std::map<const CallLog*, std::vector<Enqueued>> enqueued_;  // by job
  std::map<std::string, std::pair<std::string, Time>> jobs_;  // of which tick each is
  std::string name_;                                          // of the schedule at hand
};

}  // namespace

ScheduleSums check_schedules(const std::vector<const CallLog*>& logs, bool whole,
                             const std::function<void(Violation)>& tell) {
  return Schedules(logs, whole, tell).check();
}

}  // namespace fenceline::audit
