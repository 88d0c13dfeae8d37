#include "check/checker.hpp"

#include <algorithm>
#include <utility>

#include "check/checks.hpp"
#include "check/switches.hpp"

namespace fenceline::audit {
namespace {

constexpr std::size_t kViolationsTold = 20;

// What needs no times: over all clocks, by the ids and fences alone.
struct Timeless {
  struct Seen {
    std::string owner;
    std::string outcome;
    Line line;
  };
  std::map<std::pair<std::string, std::int64_t>, Seen> granted;
  std::map<std::pair<std::string, std::int64_t>, Seen> settled;
  std::map<std::pair<std::string, std::int64_t>, Seen> locked;
};

}  // namespace

struct Checker::Clock {
  CallLog log;
};

Checker::Checker(CheckOptions options) : options_(std::move(options)) {}
Checker::~Checker() = default;

Checker::Clock& Checker::clock_of(const std::string& by) {
  const auto known = recorders_.find(by);
  const std::string name = known == recorders_.end() ? std::string{} : known->second;
  std::unique_ptr<Clock>& clock = clocks_[name];
  if (!clock) clock = std::make_unique<Clock>();
  return *clock;
}

void Checker::add(const Event& event, Line line) {
  events_ += 1;
  if (event.kind == Kind::recorder) recorders_[event.by] = event.clock;
  clock_of(event.by).log.add(event, line);
}

void Scene::broken(std::string promise, std::string sentence, std::vector<CallNumber> calls, std::uint32_t job, Time at,
                   const std::vector<const HandlerEvent*>& handlers) const {
  std::erase(calls, kNoCall);
  Violation violation{std::move(promise), std::move(sentence), excerpt_of(log, std::move(calls), job), at, job};
  for (const HandlerEvent* event : handlers) Words(log).add_handler(violation.excerpt, *event);
  std::sort(violation.excerpt.begin(), violation.excerpt.end(),
            [](const ExcerptLine& a, const ExcerptLine& b) { return a.line < b.line; });
  tell(std::move(violation));
}

namespace {

// From when on a store may have forgotten something.
Time crashed_at(const CallLog& log, const CheckOptions& options) {
  if (options.crashed) return kAlways;
  return log.crashes.empty() ? kNever : *std::min_element(log.crashes.begin(), log.crashes.end());
}

// Tells the first of what is found about a job: the rest follows from it most often.
class Findings {
 public:
  Findings(Time crashed_at, char guarantee, Verdict& verdict)
      : verdict_(verdict), guarantee_(guarantee), crashed_at_(crashed_at) {}

  void add(Violation violation) {
    const Keeps kept = keeps(violation.promise, guarantee_);
    if (kept == Keeps::not_promised || (kept == Keeps::until_a_crash && violation.at >= crashed_at_)) {
      verdict_.passed_over += 1;
      return;
    }
    verdict_.violations_in_all += 1;
    found_.push_back(std::move(violation));
    if (found_.size() >= 2 * kViolationsTold) trim();
  }

  void finish() {
    trim();
    for (Violation& violation : found_) verdict_.violations.push_back(std::move(violation));
  }

 private:
  void trim() {
    std::stable_sort(found_.begin(), found_.end(), [](const Violation& a, const Violation& b) { return a.at < b.at; });
    if (found_.size() > kViolationsTold) found_.resize(kViolationsTold);
  }

  Verdict& verdict_;
  const char guarantee_;
  const Time crashed_at_;
  std::vector<Violation> found_;
};

void check_jobs(const CallLog& log, const JobOps& job_ops, const Unseen& unseen, const Effort& effort, Verdict& verdict,
                Findings& findings) {
  std::vector<JobOp> ops;
  std::vector<JobOp> stretches;
  for (std::uint32_t job = 1; job < log.jobs.size(); ++job) {
    job_ops.of(job, ops, stretches);
    const JobModel model(log, unseen, job);
    Search search = linearize(model, ops, stretches, log.forgotten, effort);
    if (search.end == Search::End::gave_up) verdict.gave_up += 1;
    if (search.end != Search::End::none) continue;
    findings.add({std::move(search.why.promise), std::move(search.why.sentence),
                  excerpt_of(log, std::move(search.why.calls), job), search.at, job});
  }
}

void check_clock(CallLog& log, const CheckOptions& options, char guarantee, Verdict& verdict) {
  Findings findings(crashed_at(log, options), guarantee, verdict);
  const JobOps ops(log);
  const Unseen unseen(log);
  const Deliveries deliveries(log, ops, unseen);
  const Scene scene{log, ops, deliveries, [&](Violation violation) { findings.add(std::move(violation)); }};
  check_jobs(log, ops, unseen, options.effort, verdict, findings);
  check_grants(scene);
  check_slots(scene);
  check_enqueues(scene);
  check_effects(scene);
  check_handlers(scene);
  const LockSums locks = check_locks(scene);
  findings.finish();
  verdict.calls += static_cast<std::int64_t>(log.calls.size());
  verdict.unknown_calls += std::count_if(log.calls.begin(), log.calls.end(),
                                         [](const Call& call) { return call.status == Status::unknown; });
  verdict.jobs += static_cast<std::int64_t>(log.jobs.size()) - 1;
  verdict.deliveries += static_cast<std::int64_t>(deliveries.all().size());
  verdict.locks += locks.locks;
  verdict.lock_grants += locks.grants;
  verdict.handlers += static_cast<std::int64_t>(log.handlers.size());
}

void check_over_all_clocks(const std::vector<const CallLog*>& logs, bool whole, const CheckOptions& options,
                           Verdict& verdict) {
  Time crashed = kNever;
  for (const CallLog* log : logs) crashed = std::min(crashed, crashed_at(*log, options));
  if (logs.size() > 1 && crashed != kNever) crashed = kAlways;  // on the clocks of others nobody knows when
  Findings findings(crashed, verdict.guarantee, verdict);
  const auto tell = [&](Violation violation) { findings.add(std::move(violation)); };
  const ScheduleSums schedules = check_schedules(logs, whole, tell);
  const ItemSums items = check_items(logs, whole, tell);
  findings.finish();
  verdict.schedules = schedules.schedules;
  verdict.ticks = schedules.ticks;
  verdict.items = items.items;
  verdict.moves = items.moves;
}

// By ids and fences alone, over all clocks: two owners of one fence, of a job or a lock; two outcomes under one.
void check_across(const std::map<std::string, const CallLog*>& logs, Verdict& verdict) {
  Timeless timeless;
  const auto tell = [&](std::string promise, std::string sentence, std::vector<ExcerptLine> lines) {
    verdict.violations_in_all += 1;
    verdict.violations.push_back({std::move(promise), std::move(sentence), std::move(lines)});
  };
  for (const auto& [clock, log] : logs) {
    for (const Call& call : log->calls) {
      for (const LockItem& item : call.verb == Verb::acquire && call.status == Status::ok && !log->lock_of(call).shared
                                      ? log->lock_of(call).granted
                                      : std::vector<LockItem>{}) {
        const Timeless::Seen now{std::string(log->text(call.owner)), "", call.answered_line};
        const auto [seen, is_new] =
            timeless.locked.emplace(std::pair{std::string(log->text(item.resource)), item.fence}, now);
        if (!is_new && seen->second.owner != now.owner)
          tell("L2",
               "lock " + log->lock_text(item.resource) + " was granted to " + seen->second.owner + " and to " +
                   now.owner + " under one fence, " + std::to_string(item.fence),
               {{seen->second.line, seen->second.owner}, {now.line, now.owner}});
      }
      const bool grants = call.verb == Verb::claim;
      if (call.status != Status::ok || (!grants && call.verb != Verb::settle)) continue;
      for (std::uint32_t i = 0; i < call.item_count; ++i) {
        const Item& item = log->items[call.items + i];
        if (item.reason != Reason::none) continue;
        const std::pair key{std::string(log->text(log->jobs[item.job].id)), item.fence};
        const Timeless::Seen now{std::string(log->text(call.owner)), std::string(to_string(item.outcome)),
                                 call.answered_line};
        const auto [seen, is_new] = (grants ? timeless.granted : timeless.settled).emplace(key, now);
        const std::vector<ExcerptLine> lines{{seen->second.line, seen->second.owner}, {now.line, now.owner}};
        if (is_new) continue;
        if (grants && seen->second.owner != now.owner)
          tell("L2",
               "job " + log->job_text(item.job) + " was granted to " + seen->second.owner + " and to " + now.owner +
                   " under one fence, " + std::to_string(item.fence),
               lines);
        if (!grants && seen->second.outcome != now.outcome)
          tell("J3",
               "job " + log->job_text(item.job) + " took two outcomes under fence " + std::to_string(item.fence) +
                   ": " + seen->second.outcome + " and " + now.outcome,
               lines);
      }
    }
  }
}

}  // namespace

Verdict Checker::finish() {
  Verdict verdict;
  verdict.events = events_;
  verdict.recorders = static_cast<std::int64_t>(recorders_.size());
  verdict.clocks = static_cast<std::int64_t>(clocks_.size());
  verdict.whole = verdict.lease_times = !clocks_.empty();
  std::map<std::string, const CallLog*> logs;
  std::vector<const CallLog*> in_a_row;
  bool all_steps = true;  // of schedules and items, of anyone, are there
  for (auto& [name, clock] : clocks_) {
    CallLog& log = clock->log;
    all_steps = all_steps && (log.about.whole || options_.whole);
    in_a_row.push_back(&log);
    // Others are busy whose times cannot be compared.
    log.about.whole = (log.about.whole || options_.whole) && clocks_.size() == 1;
    if (options_.rests && log.rest_at == kNever) {
      for (const Call& call : log.calls) {
        const Time last = call.answered == kNever ? call.asked : call.answered;
        log.rest_at = log.rest_at == kNever ? last + 1 : std::max(log.rest_at, last + 1);
      }
    }
    verdict.guarantee = std::max(verdict.guarantee, log.about.guarantee);
    verdict.whole = verdict.whole && log.about.whole;
    verdict.lease_times = verdict.lease_times && log.about.lease_times;
    verdict.store = log.about.store;
    logs[name] = &log;
  }
  if (options_.guarantee) verdict.guarantee = *options_.guarantee;
  for (auto& [name, clock] : clocks_) {
    CallLog& log = clock->log;
    const bool forgets = verdict.guarantee >= 'C' && (options_.crashed || !log.crashes.empty());
    if (!forgets) continue;
    // What it forgot is as if others had been at work. If nobody knows when, no lease is certain.
    log.forgotten = log.crashes;
    verdict.whole = log.about.whole = all_steps = false;
    if (options_.crashed) verdict.lease_times = log.about.lease_times = false;
  }
  for (auto& [name, clock] : clocks_) check_clock(clock->log, options_, verdict.guarantee, verdict);
  if (clocks_.size() > 1) check_across(logs, verdict);
  check_over_all_clocks(in_a_row, all_steps, options_, verdict);
  std::stable_sort(verdict.violations.begin(), verdict.violations.end(),
                   [](const Violation& a, const Violation& b) { return a.at < b.at; });
  if (verdict.violations.size() > kViolationsTold) verdict.violations.resize(kViolationsTold);
  return verdict;
}

}  // namespace fenceline::audit
