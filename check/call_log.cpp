#include "check/call_log.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace fenceline::audit {
namespace {

template <class Enum, std::size_t N>
Enum parse(std::string_view text, const std::array<std::string_view, N>& names, Enum otherwise) {
  const auto found = std::find(names.begin(), names.end(), text);
  return found == names.end() ? otherwise : static_cast<Enum>(found - names.begin());
}

constexpr std::array<std::string_view, 6> kOutcomes{"", "done", "failed", "dead", "later", "given_back"};
constexpr std::array<std::string_view, 13> kReasons{
    "",      "not_found", "superseded", "other_owner",     "finished", "settled", "expired",
    "state", "key_taken", "other_call", "effect_in_doubt", "changed",  "other"};
constexpr std::array<std::string_view, 8> kBegun{"", "act", "again", "probe", "done", "busy", "held", "lost"};
constexpr std::array<std::string_view, 4> kEnded{"", "done", "none", "held"};
constexpr std::array<std::string_view, 4> kDoubts{"", "hold", "repeat", "probe"};
constexpr std::array<std::string_view, 7> kLives{"absent", "ready", "running", "waiting", "done", "dead", "cancelled"};

std::int32_t small(std::int64_t number) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(number, -1, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

std::string_view to_string(Life life) { return kLives[static_cast<std::size_t>(life)]; }
std::string_view to_string(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }
std::string_view to_string(Reason reason) { return kReasons[static_cast<std::size_t>(reason)]; }

std::string_view to_string(Begun begun) { return kBegun[static_cast<std::size_t>(begun)]; }
std::string_view to_string(Ended ended) { return kEnded[static_cast<std::size_t>(ended)]; }

Name Names::of(std::string_view text) {
  if (text.empty()) return 0;
  const auto [found, is_new] = numbers_.emplace(std::string(text), static_cast<Name>(texts_.size()));
  if (is_new) texts_.push_back(&found->first);
  return found->second;
}

std::uint32_t CallLog::find_job(std::string_view id) {
  const auto [found, is_new] = job_numbers_.emplace(std::string(id), static_cast<std::uint32_t>(jobs.size()));
  if (is_new) jobs.push_back({.id = names.of(id)});
  return found->second;
}

std::string CallLog::job_text(std::uint32_t job) const {
  const std::string_view id = text(jobs[job].id);
  return std::string(id.substr(id.size() > 8 ? id.size() - 8 : 0));
}

Name CallLog::queue_name(const std::string& ns, const std::string& queue) {
  return queue.empty() ? 0 : names.of(ns + "/" + queue);
}

void CallLog::learn(std::uint32_t job, const Event& request, const history::JobPart& part) {
  JobEntry& entry = jobs[job];
  if (entry.queue == 0) entry.queue = queue_name(request.ns, part.queue);
  if (entry.stage == 0) entry.stage = names.of(part.stage);
  if (entry.group == 0) entry.group = names.of(part.group);
  if (entry.limit_key == 0) entry.limit_key = names.of(part.limit_key);
  if (entry.key == 0) entry.key = names.of(part.key);
  if (entry.digest == 0) entry.digest = names.of(part.digest);
  if (entry.attempts == 0) entry.attempts = small(part.attempts);
  entry.key_for = std::max(entry.key_for, part.key_for);
  entry.delayed = entry.delayed || part.delayed;
}

void CallLog::add(const Event& event, Line line) {
  switch (event.kind) {
    case Kind::recorder: return add_recorder(event);
    case Kind::invoke: return add_invoke(event, line);
    case Kind::ok:
    case Kind::fail:
    case Kind::unknown: return add_answer(event, line);
    case Kind::started:
    case Kind::acted:
    case Kind::told:
    case Kind::ended: {
      if (event.jobs.empty()) return;  // of the work under a lock; what is judged of locks is what the store did
      const history::JobPart& job = event.jobs.front();
      handlers.push_back({event.kind, names.of(event.by), names.of(event.owner), find_job(job.id), job.fence, event.at,
                          line, parse(job.outcome, kOutcomes, Outcome::none)});
      return;
    }
    case Kind::rest:
      rest_at = event.at;
      rest_line = line;
      return;
    case Kind::crash: crashes.push_back(event.at); return;
  }
}

void CallLog::add_recorder(const Event& event) {
  about.guarantee = std::max(about.guarantee, event.guarantee.front());
  about.whole = about.whole && event.whole;
  about.lease_times = about.lease_times && !event.store_clock.empty() && event.store_clock == event.clock;
  about.repeats = std::max(about.repeats, event.repeats);
  about.store = event.store;
}

void CallLog::add_invoke(const Event& event, Line line) {
  Call call{.verb = event.verb,
            .holds_others = event.holds_others || event.paused,
            .only = parse(event.only, kLives, Life::absent),
            .by = names.of(event.by),
            .owner = names.of(event.owner),
            .request = names.of(event.verb == Verb::open_batch ? event.name : event.request),
            .queue = queue_name(event.ns, event.queue),
            .stage = names.of(event.stage),
            .limit = event.limit ? small(*event.limit) : -1,
            .limit_per_key = event.limit_per_key ? small(*event.limit_per_key) : -1,
            .items = static_cast<std::uint32_t>(items.size()),
            .item_count = static_cast<std::uint32_t>(event.jobs.size()),
            .asked_line = line,
            .asked = event.at,
            .ttl = event.ttl};
  if (event.verb == Verb::begin_effect || event.verb == Verb::finish_effect || event.verb == Verb::resolve_effect) {
    call.effect = static_cast<std::uint32_t>(effects.size());
    effects.push_back({.name = names.of(event.name),
                       .digest = names.of(event.digest),
                       .dead_call = names.of(event.dead_call),
                       .result = names.of(event.result),
                       .ended = parse(event.end, kEnded, Ended::unsaid),
                       .policy = parse(event.policy, kDoubts, Doubt::unsaid)});
  }
  if (!event.locks.empty()) add_locks(call, event);
  if (event.verb == Verb::step_ticks || event.verb == Verb::change_schedule) add_schedule(call, event);
  if (event.verb == Verb::put_pipeline || event.verb == Verb::see_pipeline) add_pipeline(call, event);
  if (event.verb == Verb::change_items) add_moves(call, event);
  if (!event.queues.empty()) {
    std::string key = event.ns;
    for (const std::string& queue : event.queues) key += "\n" + queue;
    const auto [list, is_new] = list_numbers_.emplace(std::move(key), static_cast<std::uint32_t>(queue_lists.size()));
    if (is_new) {
      queue_lists.emplace_back();
      for (const std::string& queue : event.queues) queue_lists.back().push_back(queue_name(event.ns, queue));
    }
    call.queues = list->second;
  }
  for (const history::JobPart& part : event.jobs) {
    const std::uint32_t job = find_job(part.id);
    learn(job, event, part);
    items.push_back({.job = job,
                     .other = names.of(part.digest),
                     .outcome = parse(part.outcome, kOutcomes, Outcome::none),
                     .stage = names.of(part.stage),
                     .fence = part.fence});
  }
  const std::uint64_t key = (std::uint64_t{call.by} << 32) | static_cast<std::uint32_t>(event.n);
  const auto [open, is_new] = open_.emplace(key, static_cast<std::uint32_t>(calls.size()));
  if (!is_new) {
    repeated_numbers += 1;
    open->second = static_cast<std::uint32_t>(calls.size());
  }
  if (event.verb == Verb::claim || call.lock != 0)
    namespaces_[static_cast<std::uint32_t>(calls.size())] = names.of(event.ns);
  calls.push_back(call);
}

// An answer whose invoke is not in the history is passed over: its file may be a part of one.
void CallLog::add_answer(const Event& event, Line line) {
  const std::uint64_t key = (std::uint64_t{names.of(event.by)} << 32) | static_cast<std::uint32_t>(event.n);
  const auto open = open_.find(key);
  if (open == open_.end()) return;
  const std::uint32_t number = open->second;
  Call& call = calls[number];
  open_.erase(open);
  call.answered_line = line;
  if (event.kind == Kind::unknown) return;
  call.status = event.kind == Kind::ok ? Status::ok : Status::fail;
  call.answered = event.at;
  call.conflict = event.code == "conflict";
  if (event.kind == Kind::fail) return;
  call.waited = event.waited;
  call.left = event.left != 0 ? event.left : event.existing != 0 ? event.existing : event.count;
  if (event.first_seen) call.left = *event.first_seen;
  if (event.floor != 0) call.left = event.floor;
  if (call.verb == Verb::begin_effect) {
    effects[call.effect].begun = parse(event.verdict, kBegun, Begun::unsaid);
    effects[call.effect].result = names.of(event.result);
  }
  if (call.schedule != 0) return add_schedule_answer(call, event);
  if (call.lock != 0) {
    add_lock_answer(call, event);
    namespaces_.erase(number);
    return;
  }
  call.state = parse(event.state, kLives, Life::absent);
  if (call.verb == Verb::claim || call.verb == Verb::look) add_granted(call, event);
  namespaces_.erase(number);
  std::map<std::pair<std::string_view, std::int64_t>, const history::JobPart*> refused;
  for (const history::JobPart& part : event.refused) refused[{part.id, part.fence}] = &part;
  for (std::uint32_t i = 0; i < call.item_count && !refused.empty(); ++i) {
    Item& item = items[call.items + i];
    const auto found = refused.find({text(jobs[item.job].id), item.fence});
    if (found == refused.end()) continue;
    item.reason = parse(found->second->reason, kReasons, Reason::other);
    item.amount = found->second->current;
    if (call.verb == Verb::change_items) moves[call.moves + i].revision_now = found->second->revision;
    if (!found->second->holder.empty()) item.answer = find_job(found->second->holder);
  }
  if (call.verb != Verb::enqueue) return;
  for (std::uint32_t i = 0; i < call.item_count && i < event.ids.size(); ++i) {
    const std::uint32_t answer = find_job(event.ids[i]);
    items[call.items + i].answer = answer;
  }
}

std::string CallLog::lock_text(Name resource) const {
  const std::string_view whole = text(resource);
  return std::string(whole.substr(whole.find('/') + 1));
}

void CallLog::add_locks(Call& call, const Event& event) {
  call.lock = static_cast<std::uint32_t>(locks.size());
  LockCall& added = locks.emplace_back();
  added.shared = event.shared;
  added.window = event.to_its_end;
  for (const history::JobPart& part : event.locks)
    added.items.push_back(
        {.resource = queue_name(event.ns, part.id), .owner = names.of(part.holder), .fence = part.fence});
}

void CallLog::add_lock_answer(Call& call, const Event& event) {
  LockCall& lock = locks[call.lock];
  const auto ns = namespaces_.find(static_cast<std::uint32_t>(&call - calls.data()));
  const std::string space = ns == namespaces_.end() ? "" : std::string(text(ns->second));
  for (const history::JobPart& part : event.locks)
    lock.granted.push_back({.resource = queue_name(space, part.id),
                            .owner = call.owner,
                            .from = names.of(part.from),
                            .fence = part.fence});
  for (const history::JobPart& part : event.refused) {
    const LockItem sent{.resource = queue_name(space, part.id), .owner = names.of(part.holder), .fence = part.fence};
    for (LockItem& item : lock.items) {
      if (item.resource == sent.resource && item.owner == sent.owner && item.fence == sent.fence) item.refused = true;
    }
  }
}

void CallLog::add_schedule(Call& call, const Event& event) {
  call.schedule = static_cast<std::uint32_t>(schedules.size());
  ScheduleCall& added = schedules.emplace_back();
  added.schedule = queue_name(event.ns, event.name);
  added.rewinds = event.change == "rewind";
  added.revision = event.revision;
  added.from = event.from;
  added.to = event.to;
  for (const history::JobPart& part : event.ticks)
    added.fired.push_back({.tick = part.tick, .last = part.tick, .job = find_job(part.id)});
  for (const history::JobPart& part : event.skipped) added.skipped.push_back({.tick = part.tick, .last = part.last});
}

void CallLog::add_schedule_answer(const Call& call, const Event& event) {
  ScheduleCall& schedule = schedules[call.schedule];
  schedule.revision_then = event.revision;
  schedule.stands = event.stands;
  schedule.wall = event.wall;
  for (TickItem& item : schedule.fired) {
    item.duplicate = std::any_of(event.refused.begin(), event.refused.end(),
                                 [&](const history::JobPart& part) { return part.tick == item.tick; });
  }
}

void CallLog::add_pipeline(Call& call, const Event& event) {
  call.pipeline = static_cast<std::uint32_t>(pipelines.size());
  PipelineCall& added = pipelines.emplace_back();
  added.queue = queue_name(event.ns, event.name);
  for (const history::JobPart& part : event.stages) {
    PipelineCall::Stage& stage = added.stages.emplace_back();
    stage.name = names.of(part.id);
    stage.gate = names.of(part.gate);
    stage.let_in_late = part.then == "approve";
    stage.count = part.count;
    for (const history::JobPart& person : event.people) {
      if (person.stage == part.id) stage.people.push_back(names.of(person.id));
    }
  }
}

void CallLog::add_moves(Call& call, const Event& event) {
  call.moves = static_cast<std::uint32_t>(moves.size());
  for (const history::JobPart& part : event.jobs)
    moves.push_back({.to = parse(part.state, kLives, Life::absent),
                     .only = parse(part.only, kLives, Life::absent),
                     .fresh = part.fresh,
                     .act = names.of(part.act),
                     .revision = part.revision});
}

void CallLog::add_granted(Call& call, const Event& event) {
  Event request;
  const auto ns = namespaces_.find(static_cast<std::uint32_t>(&call - calls.data()));
  if (ns != namespaces_.end()) request.ns = std::string(text(ns->second));
  if (event.jobs.empty() && call.verb == Verb::look) return;
  call.items = static_cast<std::uint32_t>(items.size());
  call.item_count = static_cast<std::uint32_t>(event.jobs.size());
  for (const history::JobPart& part : event.jobs) {
    const std::uint32_t job = find_job(part.id);
    if (call.verb == Verb::claim) learn(job, request, part);
    items.push_back({.job = job,
                     .other = names.of(part.from),
                     .forced = part.forced,
                     .deliveries = small(part.deliveries),
                     .failures = small(part.failures),
                     .losses_in_row = small(part.losses_in_row),
                     .stage = names.of(part.stage),
                     .fence = part.fence,
                     .amount = part.left});
  }
}

}  // namespace fenceline::audit
