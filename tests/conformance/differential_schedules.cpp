#include "conformance/differential_schedules.hpp"

#include <algorithm>
#include <set>

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

constexpr Duration kScheduleBeat = 250ms;  // as in the rest of the stream
constexpr std::size_t kSchedulesRemembered = 30;

const std::vector<std::string> kScheduleNamespaces{"one", "two"};
const std::vector<std::string> kScheduleNames{"a", "b.c", "d"};
const std::vector<std::string> kReasons{"missed", "cap", "paus\xc3\xa9"};
const std::vector<std::string> kPlaces{"", "host:1", "h\xc3\xb6st:2"};
const Act kScheduleTester{"tester", "differential"};

void remember_schedule(auto& items, const auto& item) {
  items.push_back(item);
  if (items.size() > kSchedulesRemembered) items.pop_front();
}

// Ticks are the whole beats of the wall clock.
WallTime tick_after(WallTime at) { return WallTime{(at.time_since_epoch() / kScheduleBeat + 1) * kScheduleBeat}; }
WallTime tick_at_most(WallTime at) { return WallTime{at.time_since_epoch() / kScheduleBeat * kScheduleBeat}; }
SkippedTicks range_of(WallTime first, WallTime last, const std::string& reason) {
  return {first, last, (last - first) / kScheduleBeat + 1, reason};
}

}  // namespace

void DifferentialSchedules::step() {
  if (one_in(2)) return;
  struct Choice {
    std::uint64_t weight;
    void (DifferentialSchedules::*act)();
  };
  using D = DifferentialSchedules;
  static const std::vector<Choice> choices{
      {40, &D::step_ticks}, {32, &D::change_schedule}, {8, &D::schedules}, {8, &D::ticks}, {8, &D::work}};
  std::uint64_t total = 0;
  for (const Choice& choice : choices) total += choice.weight;
  std::uint64_t picked = below(total);
  for (const Choice& choice : choices) {
    if (picked < choice.weight) return (this->*choice.act)();
    picked -= choice.weight;
  }
}

std::vector<ScheduleRow> DifferentialSchedules::rows(const std::string& ns) {
  SchedulesRequest request;
  request.ns = ns;
  request.changed_after = 0;
  const auto reply = oracle_.schedules(request);
  if (!reply) return {};
  now_ = reply->now;
  return reply->schedules;
}

std::vector<TickRow> DifferentialSchedules::fired_after(const std::string& ns, const ScheduleRow& row) {
  TicksRequest request;
  request.ns = ns;
  request.schedule = row.name;
  request.fired_only = true;
  request.after = row.resolved_to;
  const auto reply = oracle_.ticks(request);
  return reply ? reply->ticks : std::vector<TickRow>{};
}

std::string DifferentialSchedules::any_name() {
  return one_in(3) ? "rare-" + std::to_string(below(40)) : one_of(kScheduleNames);
}

ScheduleRow DifferentialSchedules::any_row(const std::string& ns) {
  std::vector<ScheduleRow> known = rows(ns);
  if (!one_in(15)) std::erase_if(known, &ScheduleRow::removed);
  std::vector<ScheduleRow> moved_back;
  std::ranges::copy_if(known, std::back_inserter(moved_back),
                       [](const ScheduleRow& row) { return row.resolved_to < row.fired_to; });
  if (!moved_back.empty() && one_in(4)) return one_of(moved_back);
  if (!known.empty() && !one_in(30)) return one_of(known);
  ScheduleRow row;
  row.name = one_in(2) ? "never" : any_name();
  row.revision = static_cast<std::int64_t>(1 + below(3));
  row.resolved_to = now_ - kScheduleBeat * static_cast<std::int64_t>(below(8));
  return row;
}

NewJob DifferentialSchedules::made_up_job() {
  ++last_number_;
  NewJob job{.id = make_uuid7(now_, chance_(), last_number_), .queue = one_in(20) ? "q" : kTicksQueue};
  job.payload = "{\"tick\":" + std::to_string(last_number_) + "}";
  if (one_in(3)) job.at = now_ + kScheduleBeat * (static_cast<std::int64_t>(below(8)) - 4);
  if (one_in(4)) job.group = "schedule:a";
  if (one_in(4)) job.priority = 1;
  if (one_in(3)) job.tags = {"schedule:a"};
  return job;
}

// Its ticks: some soon after where it begins, some at its end, some of those that fired before.
TickStep DifferentialSchedules::made_up_step(const std::string& ns, const ScheduleRow& row) {
  TickStep step{
      .schedule = row.name, .revision = row.revision, .from = row.resolved_to, .to = now_, .fired = {}, .skipped = {}};
  if (one_in(3))
    step.to = step.from + kScheduleBeat * static_cast<std::int64_t>(1 + below(8)) -
              Duration{static_cast<std::int64_t>(below(2))};
  if (step.to <= step.from) step.to = step.from + kScheduleBeat * static_cast<std::int64_t>(1 + below(6));
  if (one_in(25)) step.revision += one_in(2) ? 1 : -1;
  if (one_in(25)) step.from -= kScheduleBeat;
  std::set<WallTime> instants;
  const std::uint64_t wanted = below(6);
  for (std::uint64_t i = 0; i < wanted; ++i) {
    const Duration away = kScheduleBeat * static_cast<std::int64_t>(below(8));
    instants.insert(one_in(3) ? tick_at_most(step.to) - away : tick_after(step.from) + away);
  }
  const std::vector<TickRow> fired = fired_after(ns, row);
  for (const TickRow& tick : fired) {
    if (one_in(2)) instants.insert(tick.tick);
  }
  std::erase_if(instants, [&](WallTime at) { return at <= step.from || at > step.to; });
  for (auto at = instants.begin(); at != instants.end(); ++at) {
    const auto next = std::next(at);
    const auto covers = [&](WallTime last) {
      return std::ranges::any_of(fired, [&](const TickRow& tick) { return tick.tick >= *at && tick.tick <= last; });
    };
    if (next != instants.end() && one_in(3) && (!covers(*next) || one_in(3))) {
      step.skipped.push_back(range_of(*at, *next, one_of(kReasons)));
      at = next;
    } else if (one_in(2) || (covers(*at) && !one_in(6))) {
      if (step.fired.size() < 2 || covers(*at)) step.fired.push_back({*at, made_up_job()});
    } else {
      step.skipped.push_back(range_of(*at, *at, one_of(kReasons)));
    }
  }
  if (!step.fired.empty() && !jobs_.empty() && one_in(30))
    step.fired.front().job.id = jobs_[below(jobs_.size())].second;
  return step;
}

void DifferentialSchedules::step_ticks() {
  StepRequest request{.ns = one_of(kScheduleNamespaces),
                      .steps = {},
                      .request = "s" + std::to_string(++last_number_),
                      .owner = "leader-" + std::to_string(below(3)),
                      .place = one_of(kPlaces)};
  std::set<std::string> names;
  const std::uint64_t size = 1 + below(one_in(2) ? 4 : 1);
  for (std::uint64_t i = 0; i < size; ++i) {
    const ScheduleRow row = any_row(request.ns);
    if (names.insert(row.name).second) request.steps.push_back(made_up_step(request.ns, row));
  }
  const bool repeat = !steps_.empty() && one_in(6);
  if (repeat) request = steps_[steps_.size() - 1 - below(std::min<std::size_t>(steps_.size(), one_in(2) ? 2 : 12))];
  if (one_in(30)) spoil(request);
  const auto reply = both("step_ticks", text_of(request), [&](Store& store) { return store.step_ticks(request); });
  if (!reply) return;
  if (!repeat) remember_schedule(steps_, request);
  note_step(request, *reply, repeat);
}

void DifferentialSchedules::spoil(StepRequest& request) {
  TickStep& step = request.steps.front();
  switch (below(7)) {
    case 0: request.ns = "a b"; break;
    case 1: request.request = ""; break;
    case 2: request.steps.push_back(step); break;
    case 3: step.to = step.from; break;
    case 4: step.skipped.push_back(range_of(step.from, step.from, "missed")); break;
    case 5: step.schedule = ""; break;
    default: request.place = "\xff"; break;
  }
}

void DifferentialSchedules::note_step(const StepRequest& request, const StepReply& reply, bool repeat) {
  std::size_t refused = 0;
  for (std::size_t i = 0; i < reply.answers.size(); ++i) {
    const StepAnswer& answer = reply.answers[i];
    const TickStep& step = request.steps[i];
    if (answer.refused != Reason::none) {
      refused += 1;
      note_("step_ticks", std::string(to_string(answer.refused)));
      continue;
    }
    note_("step_ticks", repeat ? "repeat" : "taken");
    if (!answer.duplicates.empty()) note_("step_ticks", "duplicate");
    if (repeat) continue;
    for (const FiredTick& fired : step.fired) {
      if (std::ranges::find(answer.duplicates, fired.tick) != answer.duplicates.end()) continue;
      note_("step_ticks", "fired");
      remember_schedule(jobs_, std::pair{request.ns, fired.job.id});
    }
    for (const SkippedTicks& range : step.skipped) {
      TicksRequest look;
      look.ns = request.ns;
      look.schedule = step.schedule;
      look.before = range.last + kScheduleBeat;
      look.limit = 1;
      const auto row = oracle_.ticks(look);
      const bool joined =
          row && !row->ticks.empty() && row->ticks.front().tick < range.first && row->ticks.front().last >= range.last;
      note_("step_ticks", joined ? "joined" : "skipped");
    }
  }
  if (refused > 0 && refused < reply.answers.size()) note_("step_ticks", "mixed");
}

// Back to some moment that is allowed, most often, and often into a range; with what must be kept of it.
void DifferentialSchedules::make_rewind(ChangeScheduleRequest& request, const ScheduleRow& row) {
  TicksRequest look;
  look.ns = request.ns;
  look.schedule = row.name;
  look.limit = 50;
  const auto reply = oracle_.ticks(look);
  std::vector<TickRow> ranges = reply ? reply->ticks : std::vector<TickRow>{};
  std::erase_if(ranges, [](const TickRow& tick) { return tick.count == 1; });
  const WallTime least = std::max(row.bar, row.counts_from);
  const auto beats = [&](Duration room) {
    return kScheduleBeat *
           static_cast<std::int64_t>(
               1 + below(static_cast<std::uint64_t>(std::max<std::int64_t>(
                       1, one_in(3) ? room / kScheduleBeat : std::min<std::int64_t>(room / kScheduleBeat, 12)))));
  };
  request.from = row.resolved_to;
  request.to = request.from - beats(request.from - least);
  if (!ranges.empty() && one_in(2)) {
    const TickRow& range = one_of(ranges);
    request.to = range.last - beats(range.last - range.tick);
  }
  if (now_ >= least && now_ < request.from && one_in(2)) request.to = now_;
  if (one_in(8)) request.to = least - kScheduleBeat * static_cast<std::int64_t>(below(2));
  if (request.to >= request.from) request.to = request.from - kScheduleBeat;
  if (one_in(25)) request.from += kScheduleBeat;
  for (const TickRow& range : ranges) {
    if (range.tick <= request.to && range.last > request.to && !one_in(8))
      request.kept = range_of(range.tick, tick_at_most(request.to), range.reason);
  }
  if (request.kept && one_in(8)) request.kept->reason = "other";
  if (!request.kept && one_in(15))
    request.kept = range_of(tick_at_most(request.to), tick_at_most(request.to), "missed");
}

ChangeScheduleRequest DifferentialSchedules::made_up_change(const std::string& ns) {
  static const std::vector<ScheduleChange> kinds{ScheduleChange::put,    ScheduleChange::pause,  ScheduleChange::resume,
                                                 ScheduleChange::resume, ScheduleChange::remove, ScheduleChange::rewind,
                                                 ScheduleChange::rewind, ScheduleChange::rewind, ScheduleChange::run};
  const ScheduleRow row = any_row(ns);
  ChangeScheduleRequest request;
  request.ns = ns;
  request.name = row.name;
  request.revision = row.revision;
  request.change = one_of(kinds);
  if (row.name.starts_with("rare") && one_in(3)) request.change = ScheduleChange::remove;
  request.request = "c" + std::to_string(++last_number_);
  request.owner = "person";
  request.place = one_of(kPlaces);
  request.act = kScheduleTester;
  if (one_in(3)) {
    request.change = ScheduleChange::put;
    request.name = any_name();
    request.revision = 0;
  }
  if (request.change == ScheduleChange::put)
    request.spec = "{\"n\":" + std::to_string(last_number_) + ",\"\xc3\xa9\":\"\\u0000\"}";
  if (request.change == ScheduleChange::run) request.job = made_up_job();
  if (request.change == ScheduleChange::run && !jobs_.empty() && one_in(6))
    request.job->id = jobs_[below(jobs_.size())].second;
  if (request.change == ScheduleChange::rewind) make_rewind(request, row);
  const bool may_step =
      request.change != ScheduleChange::run && request.change != ScheduleChange::rewind && request.revision != 0;
  if (may_step && one_in(2)) {
    request.step = made_up_step(ns, row);
    request.step->revision = request.revision;
  }
  if (one_in(30) && request.revision > 1) {
    request.revision -= 1;
    if (request.step) request.step->revision = request.revision;
  }
  return request;
}

void DifferentialSchedules::spoil(ChangeScheduleRequest& request) {
  switch (below(5)) {
    case 0: request.name = "a b"; break;
    case 1: request.revision = -1; break;
    case 2: request.act.actor = ""; break;
    case 3: request.spec = request.spec.empty() ? "x" : ""; break;
    default: request.owner = ""; break;
  }
}

// A schedule that was moved back, edited with a step over what fired before; or one whose account lies ahead of the
// clock.
void DifferentialSchedules::edit_moved_back(ChangeScheduleRequest& request) {
  for (const ScheduleRow& row : rows(request.ns)) {
    const bool is_ahead = row.resolved_to > now_;
    if (row.removed || row.resolved_to == now_) continue;
    TickStep step{.schedule = row.name,
                  .revision = row.revision,
                  .from = row.resolved_to,
                  .to = now_,
                  .fired = {},
                  .skipped = {}};
    for (const TickRow& tick : fired_after(request.ns, row)) {
      if (tick.tick <= now_) step.fired.insert(step.fired.begin(), {tick.tick, made_up_job()});
    }
    if (step.fired.empty() && !is_ahead) continue;
    request.name = row.name;
    request.revision = row.revision;
    request.change = ScheduleChange::put;
    request.spec = "{\"again\":" + std::to_string(last_number_) + "}";
    request.kept.reset();
    request.job.reset();
    request.step.reset();
    if (!is_ahead) request.step = step;
    return;
  }
}

void DifferentialSchedules::change_schedule() {
  ChangeScheduleRequest request = made_up_change(one_of(kScheduleNamespaces));
  if (one_in(6)) edit_moved_back(request);
  const bool repeat = !changes_.empty() && one_in(8);
  if (repeat)
    request = changes_[changes_.size() - 1 - below(std::min<std::size_t>(changes_.size(), one_in(2) ? 2 : 12))];
  if (one_in(30)) spoil(request);
  std::optional<ScheduleRow> before;
  for (const ScheduleRow& row : rows(request.ns)) {
    if (row.name == request.name) before = row;
  }
  const auto reply =
      both("change_schedule", text_of(request), [&](Store& store) { return store.change_schedule(request); });
  if (!reply) return;
  if (!repeat) remember_schedule(changes_, request);
  if (repeat) return note_("change_schedule", "repeat");
  note_change(request, *reply, before);
}

void DifferentialSchedules::note_change(const ChangeScheduleRequest& request, const ChangeScheduleReply& reply,
                                        const std::optional<ScheduleRow>& before) {
  const bool as_it_was = before && before->revision == reply.schedule.revision;
  if (as_it_was && request.change != ScheduleChange::run) return note_("change_schedule", "as_asked");
  switch (request.change) {
    case ScheduleChange::put:
      note_("change_schedule", request.revision != 0 ? "changed" : before ? "added_again" : "added");
      if (before && request.revision != 0 && before->resolved_to > reply.now) note_("change_schedule", "taken_back");
      if (!before && reply.schedule.bar > WallTime{}) note_("change_schedule", "added_below_bar");
      break;
    case ScheduleChange::pause: note_("change_schedule", "paused"); break;
    case ScheduleChange::resume: note_("change_schedule", "resumed"); break;
    case ScheduleChange::remove: note_("change_schedule", "removed"); break;
    case ScheduleChange::rewind: note_("change_schedule", request.kept ? "rewound_kept" : "rewound"); break;
    case ScheduleChange::run: note_("change_schedule", "run"); break;
  }
  if (request.step) note_("change_schedule", "with_step");
  if (!reply.duplicates.empty()) note_("change_schedule", "duplicate");
}

void DifferentialSchedules::compare_page_by_page(SchedulesRequest request) {
  for (;;) {
    const auto reply = both("schedules", text_of(request), [&](Store& store) { return store.schedules(request); });
    if (!reply) return;
    note_("schedules", reply->schedules.empty() ? "empty" : reply->more ? "more" : "last");
    for (const ScheduleRow& row : reply->schedules) {
      if (row.removed) note_("schedules", "removed");
      if (row.paused) note_("schedules", "paused");
      if (row.bar > WallTime{}) note_("schedules", "bar");
      if (!row.unfinished.empty()) note_("schedules", "unfinished");
    }
    if (!reply->more) return;
    if (request.changed_after) request.changed_after = reply->schedules.back().version;
    else request.after = reply->schedules.back().name;
  }
}

void DifferentialSchedules::schedules() {
  SchedulesRequest request;
  request.ns = one_in(10) ? "none" : one_of(kScheduleNamespaces);
  request.unfinished = one_in(2);
  request.limit = static_cast<int>(one_in(2) ? 1 + below(4) : 1000);
  if (one_in(3)) {
    request.changed_after = static_cast<std::int64_t>(below(30));
    if (const std::vector<ScheduleRow> known = rows(request.ns); !known.empty() && one_in(2))
      request.changed_after = std::max<std::int64_t>(0, known.back().version - 3);
  } else if (one_in(2)) {
    std::set<std::string> names;
    for (std::uint64_t i = 0; i < 1 + below(4); ++i) names.insert(any_name());
    request.names.assign(names.rbegin(), names.rend());
  }
  if (one_in(15)) request.limit = 0;
  if (one_in(20)) request.after = "a b";
  compare_page_by_page(request);
}

void DifferentialSchedules::compare_page_by_page(TicksRequest request) {
  for (;;) {
    const auto reply =
        both("ticks", request.ns + " " + request.schedule, [&](Store& store) { return store.ticks(request); });
    if (!reply) return;
    note_("ticks", reply->ticks.empty() ? "empty" : reply->next ? "more" : "last");
    for (const TickRow& row : reply->ticks) note_("ticks", row.fired() ? "fired" : row.count > 1 ? "range" : "skipped");
    if (!reply->next) return;
    request.before = reply->next;
  }
}

void DifferentialSchedules::ticks() {
  TicksRequest request;
  request.ns = one_of(kScheduleNamespaces);
  request.schedule = any_row(request.ns).name;
  request.fired_only = one_in(3);
  request.limit = static_cast<int>(1 + below(one_in(2) ? 4 : 1000));
  if (one_in(4)) request.after = tick_at_most(now_) - kScheduleBeat * static_cast<std::int64_t>(below(40));
  if (one_in(4)) request.before = tick_at_most(now_) - kScheduleBeat * static_cast<std::int64_t>(below(20));
  if (one_in(15)) request.limit = 0;
  compare_page_by_page(request);
}

// Jobs of ticks come to their end, most of them.
void DifferentialSchedules::work() {
  ClaimRequest claim{.ns = one_of(kScheduleNamespaces),
                     .queues = {kTicksQueue},
                     .stage = "",
                     .owner = "ticker",
                     .request = "w" + std::to_string(++last_number_),
                     .limit = 40,
                     .ttl = 24h};
  const auto expected = oracle_.claim(claim);
  compare_("claim", text_of(claim), text_of(expected), text_of(store_.claim(claim)));
  if (!expected) return;
  SettleRequest settle{.ns = claim.ns, .owner = claim.owner, .settlements = {}};
  for (const ClaimedJob& claimed : expected->jobs) {
    if (!one_in(8)) settle.settlements.push_back({claimed.job.id, claimed.job.fence, {}});
  }
  if (!settle.settlements.empty())
    compare_("settle", text_of(settle), text_of(oracle_.settle(settle)), text_of(store_.settle(settle)));
}

void DifferentialSchedules::compare_everything() {
  for (const std::string& ns : kScheduleNamespaces) {
    SchedulesRequest all;
    all.ns = ns;
    all.changed_after = 0;
    all.unfinished = true;
    compare_page_by_page(all);
    for (const ScheduleRow& row : rows(ns)) {
      TicksRequest request;
      request.ns = ns;
      request.schedule = row.name;
      request.limit = 1000;
      compare_page_by_page(request);
    }
  }
}

}  // namespace fenceline::test
