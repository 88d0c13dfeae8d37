// Histories written by hand, for the tests: one line an event, the times in milliseconds.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "check/checker.hpp"

namespace fenceline::audit {

// A worker's whole history on one clock, which is also the clock of leases.
class HistoryText {
 public:
  explicit HistoryText(char guarantee = 'B', bool whole = true) {
    add({.kind = Kind::recorder,
         .version = history::kFormatVersion,
         .store = "test",
         .guarantee = std::string(1, guarantee),
         .clock = "c",
         .store_clock = "c",
         .whole = whole});
  }

  // The call from `from` to `to`; a reply of kind `unknown` leaves it open.
  HistoryText& call(std::int64_t from, std::int64_t to, Event request, Event reply = {.kind = Kind::ok}) {
    request.kind = Kind::invoke;
    request.n = reply.n = ++calls_;
    if (request.ns.empty()) request.ns = "n";
    request.at = from * 1000;
    reply.at = to * 1000;
    if (reply.kind == Kind::invoke) reply.kind = Kind::ok;
    add(std::move(request));
    return add(std::move(reply));
  }

  HistoryText& enqueue(std::int64_t from, std::int64_t to, history::JobPart job, std::int64_t existing = 0) {
    if (job.queue.empty()) job.queue = "q";
    if (job.digest.empty()) job.digest = "d";
    if (job.attempts == 0) job.attempts = 10;
    const std::string id = job.id;
    return call(from, to, {.verb = Verb::enqueue, .jobs = {std::move(job)}}, {.ids = {id}, .existing = existing});
  }

  // Grants `job` for 10 s; its queue is q if it has none.
  HistoryText& claim(std::int64_t from, std::int64_t to, const std::string& owner, history::JobPart job,
                     const std::string& request = "") {
    return claim_many(from, to, owner, {std::move(job)}, request);
  }
  HistoryText& claim_many(std::int64_t from, std::int64_t to, const std::string& owner,
                          std::vector<history::JobPart> jobs, const std::string& request = "") {
    for (history::JobPart& job : jobs) {
      if (job.queue.empty()) job.queue = "q";
      if (job.left == 0) job.left = 10'000'000;
      if (job.deliveries == 0) job.deliveries = 1;
      if (job.attempts == 0) job.attempts = 10;
    }
    const auto limit = static_cast<std::int64_t>(jobs.size());
    const std::string stage = jobs.empty() ? "" : jobs.front().stage;
    return call(from, to,
                {.verb = Verb::claim,
                 .owner = owner,
                 .request = request.empty() ? "r" + std::to_string(calls_) : request,
                 .queues = {"q"},
                 .stage = stage,
                 .limit = limit,
                 .ttl = 10'000'000},
                {.jobs = std::move(jobs)});
  }
  HistoryText& settle(std::int64_t from, std::int64_t to, const std::string& owner, const std::string& id,
                      std::int64_t fence, const std::string& outcome = "done") {
    return call(from, to,
                {.verb = Verb::settle, .owner = owner, .jobs = {{.id = id, .fence = fence, .outcome = outcome}}});
  }
  HistoryText& refused(std::int64_t from, std::int64_t to, Verb verb, const std::string& owner, const std::string& id,
                       std::int64_t fence, const std::string& reason, std::int64_t current) {
    return call(from, to,
                {.verb = verb,
                 .owner = owner,
                 .ttl = 10'000'000,
                 .jobs = {{.id = id, .fence = fence, .outcome = verb == Verb::settle ? "done" : ""}}},
                {.refused = {{.id = id, .fence = fence, .reason = reason, .current = current}}});
  }
  HistoryText& extend(std::int64_t from, std::int64_t to, const std::string& owner, const std::string& id,
                      std::int64_t fence) {
    return call(from, to,
                {.verb = Verb::extend, .owner = owner, .ttl = 10'000'000, .jobs = {{.id = id, .fence = fence}}},
                {.left = 10'000'000});
  }
  HistoryText& act(std::int64_t from, std::int64_t to, Verb verb, const std::string& id, const std::string& request,
                   const std::string& reason = "") {
    Event reply;
    if (!reason.empty()) reply.refused = {{.id = id, .reason = reason}};
    return call(from, to, {.verb = verb, .owner = "op", .request = request, .jobs = {{.id = id}}}, std::move(reply));
  }
  // Of lock l, for 10 s; `grants`: what is answered. The request is the owner's only one.
  HistoryText& acquire(std::int64_t from, std::int64_t to, const std::string& owner, std::int64_t fence,
                       Event request = {}, const std::string& taken_from = "") {
    request.verb = Verb::acquire;
    request.owner = owner;
    if (request.request.empty()) request.request = "of " + owner;
    if (request.locks.empty()) request.locks = {{.id = "l"}};
    request.ttl = 10'000'000;
    Event reply{.kind = Kind::ok};
    if (fence != 0) {
      reply.left = 10'000'000;
      for (const history::JobPart& lock : request.locks)
        reply.locks.push_back({.id = lock.id, .fence = fence, .from = taken_from});
    }
    return call(from, to, std::move(request), std::move(reply));
  }
  // Accepted, unless a reason is given.
  HistoryText& lock_word(std::int64_t from, std::int64_t to, Verb verb, const std::string& owner, std::int64_t fence,
                         const std::string& reason = "", Kind kind = Kind::ok) {
    Event reply{.kind = kind};
    if (!reason.empty()) reply.refused = {{.id = "l", .fence = fence, .reason = reason, .holder = owner}};
    if (verb == Verb::renew && reason.empty()) reply.left = 10'000'000;
    return call(from, to,
                {.verb = verb,
                 .ttl = verb == Verb::renew ? 10'000'000 : 0,
                 .locks = {{.id = "l", .fence = fence, .holder = owner}}},
                std::move(reply));
  }
  HistoryText& break_lock(std::int64_t from, std::int64_t to, std::int64_t current) {
    return call(from, to, {.verb = Verb::break_lock, .owner = "op", .request = "break", .locks = {{.id = "l"}}},
                {.kind = Kind::ok, .locks = {{.id = "l", .fence = current}}});
  }
  // Of schedule s, from one second to another, with a job for each tick that fires; accepted, unless a code is given.
  // The request is that of its job.
  HistoryText& step(std::int64_t at, std::int64_t revision, std::int64_t from, std::int64_t to,
                    std::vector<std::int64_t> fired, const std::string& job, Event reply = {}) {
    Event request{.verb = Verb::step_ticks,
                  .owner = "w",
                  .request = "of " + job,
                  .name = "s",
                  .from = from * 1'000'000,
                  .to = to * 1'000'000,
                  .revision = revision};
    for (const std::int64_t tick : fired)
      request.ticks.push_back({.id = fired.size() == 1 ? job : job + std::to_string(tick), .tick = tick * 1'000'000});
    if (reply.stands == 0) reply.stands = request.to;
    if (reply.wall == 0) reply.wall = request.to;
    if (reply.revision == 0) reply.revision = revision;
    return call(at, at + 1, std::move(request), std::move(reply));
  }
  HistoryText& skip(std::int64_t at, std::int64_t revision, std::int64_t from, std::int64_t to,
                    history::JobPart range) {
    range.tick *= 1'000'000;
    range.last *= 1'000'000;
    range.id = "missed";
    return call(at, at + 1,
                {.verb = Verb::step_ticks,
                 .owner = "w",
                 .request = "at " + std::to_string(at),
                 .name = "s",
                 .from = from * 1'000'000,
                 .to = to * 1'000'000,
                 .skipped = {range},
                 .revision = revision},
                {.stands = to * 1'000'000, .wall = to * 1'000'000, .revision = revision});
  }
  // It stands at `stands` then, under the next revision.
  HistoryText& change(std::int64_t at, const std::string& what, std::int64_t revision, std::int64_t stands,
                      Event request = {}) {
    request.verb = Verb::change_schedule;
    request.owner = "op";
    request.request = what + std::to_string(at);
    request.name = "s";
    request.change = what;
    request.revision = revision;
    request.from *= 1'000'000;
    request.to *= 1'000'000;
    return call(at, at + 1, std::move(request),
                {.stands = stands * 1'000'000, .wall = 1'000'000'000, .revision = revision + 1});
  }
  // Of queue q: write -> review -> publish (two of ana, bo and cy) -> ship (a check).
  HistoryText& pipeline(std::int64_t at, Event request = {}) {
    request.verb = Verb::put_pipeline;
    request.owner = "op";
    request.name = "q";
    if (request.stages.empty()) {
      request.stages = {{.id = "write"},
                        {.id = "review"},
                        {.id = "publish", .count = 2, .gate = "approval", .then = "reject"},
                        {.id = "ship", .gate = "check"}};
      request.people = {
          {.id = "ana", .stage = "publish"}, {.id = "bo", .stage = "publish"}, {.id = "cy", .stage = "publish"}};
    }
    return call(at, at + 1, std::move(request), {.revision = 1});
  }
  // By the holder of a delivery, if there is a fence; made, unless the reply says otherwise.
  HistoryText& move(std::int64_t at, const std::string& owner, history::JobPart change, Event reply = {},
                    const std::string& request = "") {
    if (change.fence != 0 && change.outcome.empty() && !change.state.empty()) change.outcome = "done";
    return call(at, at + 1,
                {.verb = Verb::change_items,
                 .owner = owner,
                 .request = request.empty() ? "m" + std::to_string(at) : request,
                 .jobs = {std::move(change)}},
                std::move(reply));
  }
  HistoryText& handler(std::int64_t at, Kind kind, const std::string& owner, const std::string& id, std::int64_t fence,
                       const std::string& outcome = "") {
    return add(
        {.kind = kind, .at = at * 1000, .owner = owner, .jobs = {{.id = id, .fence = fence, .outcome = outcome}}});
  }
  HistoryText& mark(std::int64_t at, Kind kind) { return add({.kind = kind, .at = at * 1000}); }

  HistoryText& add(Event event) {
    event.by = "w";
    lines_.push_back(history::to_line(event));
    return *this;
  }

  Verdict verdict(CheckOptions options = {}) const {
    Checker checker(options);
    std::uint32_t number = 0;
    for (const std::string& line : lines_) {
      ++number;
      if (const Result<Event> event = history::parse_line(line)) checker.add(*event, {0, number});
    }
    return checker.finish();
  }
  // The promise that is broken first; "" if all hold.
  std::string broken(CheckOptions options = {}) const {
    const Verdict said = verdict(std::move(options));
    return said.violations.empty() ? "" : said.violations.front().promise;
  }

 private:
  std::vector<std::string> lines_;
  std::int64_t calls_ = 0;
};

}  // namespace fenceline::audit
