// The verbs of the stream that keep the ledger of effects, and the one that raises the floor. Two names for each job,
// so that calls meet; doubts come about as in life, by leases that run out, and are looked for, because chance alone
// seldom finds them.
#include <algorithm>

#include "conformance/differential_stream.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kEffectNames{"mail", "pay"};
const Act kEffectTester{"tester", "differential"};

std::string words(const BeginEffectRequest& request) {
  return request.ns + " " + to_string(request.job) + "@" + std::to_string(request.fence) + " " + request.name +
         " digest " + request.digest + " call " + request.call + " dead " + request.dead_call + " " +
         std::string(to_string(request.in_doubt));
}

}  // namespace

// Most of them by the holder of a job, of these some for an effect that is in doubt; the others by anybody.
BeginEffectRequest DifferentialStream::made_up_call() {
  BeginEffectRequest request{
      .ns = any_namespace(), .job = {}, .name = one_of(kEffectNames), .digest = one_in(6) ? "other" : "d"};
  request.call = "c" + std::to_string(++last_number_);
  request.actor = one_in(3) ? "" : "process " + std::to_string(below(100));
  request.in_doubt = static_cast<InDoubt>(below(3));
  std::string owner;
  const std::vector<Holding> holdings = some_holdings(request.ns, owner);
  if (!holdings.empty()) {
    request.job = holdings.front().id;
    request.fence = holdings.front().fence;
  }
  if (one_in(4)) return request;
  const std::string ns = any_namespace();
  const auto running = oracle_.jobs({.ns = ns, .state = JobState::running, .limit = 1000});
  for (const Job& job : running->jobs) {
    if (*job.lease_left <= 0s || one_in(3)) continue;
    request.ns = ns;
    request.job = job.id;
    request.fence = job.fence;
  }
  if (one_in(2)) return request;
  const auto doubts = oracle_.effects({.ns = ns, .job = {}, .in_doubt = true, .limit = 1000});
  for (const Effect& effect : doubts->effects) {
    const auto job = oracle_.job(ns, effect.job);
    if (!*job || (*job)->state != JobState::running || *(*job)->lease_left <= 0s || one_in(2)) continue;
    request.ns = ns;
    request.job = effect.job;
    request.fence = (*job)->fence;
    request.name = effect.name;
  }
  return request;
}

void DifferentialStream::begin_effect() {
  BeginEffectRequest request = made_up_call();
  if (one_in(12)) return hold_two(request);
  const bool repeat = !calls_.empty() && one_in(6);
  if (repeat) request = calls_[calls_.size() - 1 - below(std::min<std::size_t>(calls_.size(), 10))];
  if (one_in(40)) request.digest = "";
  const auto reply = both("begin_effect", words(request), [&](Store& store) { return store.begin_effect(request); });
  if (!reply) return;
  note("begin_effect", std::string(reply->refusal ? to_string(reply->refusal->reason) : to_string(reply->verdict)));
  if (reply->refusal) return;
  if (repeat) note("begin_effect", "repeat");
  calls_.push_back(request);
  if (calls_.size() > 60) calls_.pop_front();
  if (one_in(3)) send_finish(request);
  if (reply->verdict != EffectVerdict::busy || one_in(2)) return;
  request.call = "c" + std::to_string(++last_number_);
  request.dead_call = reply->call;
  const auto next = both("begin_effect", words(request), [&](Store& store) { return store.begin_effect(request); });
  if (!next) return;
  note("begin_effect", std::string(to_string(next->verdict)));
  calls_.push_back(request);
}

// A job that waits for both of its effects, and what people do to it then.
void DifferentialStream::hold_two(BeginEffectRequest request) {
  for (const std::string& name : kEffectNames) {
    request.name = name;
    request.call = "c" + std::to_string(++last_number_);
    const auto begun = both("begin_effect", words(request), [&](Store& store) { return store.begin_effect(request); });
    if (begun && !begun->refusal) calls_.push_back(request);
  }
  for (std::size_t i = calls_.size() - std::min<std::size_t>(calls_.size(), 2); i < calls_.size(); ++i) {
    const BeginEffectRequest& call = calls_[i];
    const FinishEffectRequest held{.ns = call.ns,
                                   .job = call.job,
                                   .fence = call.fence,
                                   .name = call.name,
                                   .call = call.call,
                                   .end = EffectEnd::held,
                                   .result = {},
                                   .exit_status = {}};
    both("finish_effect", words(call) + " held", [&](Store& store) { return store.finish_effect(held); });
  }
  compare_facts(request.ns, request.job);
  const auto waits = oracle_.job(request.ns, request.job);
  if (waits && *waits && one_in(2)) {  // else its slot stays taken, and what it began cannot be resolved
    const StoppedRequest stopped{.ns = request.ns, .owner = (*waits)->owner, .jobs = {{request.job, request.fence}}};
    compare_orders(request.ns, stopped.owner);
    both("stopped", request.ns + " " + stopped.owner, [&](Store& store) { return store.stopped(stopped); });
  }
  if (one_in(2))
    send_act(one_in(3) ? "cancel" : "retry", {.ns = request.ns,
                                              .ids = {request.job},
                                              .request = std::to_string(++last_number_),
                                              .only = {},
                                              .act = kEffectTester});
  if (one_in(2)) return;
  const auto effects = oracle_.effects({.ns = request.ns, .job = request.job, .in_doubt = true});
  if (!effects->effects.empty()) send_resolve(request.ns, one_of(effects->effects));
}

void DifferentialStream::finish_effect() {
  if (!calls_.empty())
    send_finish(BeginEffectRequest(calls_[calls_.size() - 1 - below(std::min<std::size_t>(calls_.size(), 12))]));
}

void DifferentialStream::send_finish(const BeginEffectRequest& call) {
  FinishEffectRequest request{.ns = call.ns,
                              .job = call.job,
                              .fence = call.fence,
                              .name = call.name,
                              .call = call.call,
                              .result = {},
                              .exit_status = {}};
  request.end = one_in(2) ? EffectEnd::done : one_in(2) ? EffectEnd::none : EffectEnd::held;
  if (one_in(2)) request.result = std::string("r\0\xfe", 3) + std::to_string(last_number_);
  if (one_in(3)) request.exit_status = static_cast<int>(below(256));
  if (one_in(20)) request.job = make_uuid7(WallTime{}, 0, chance_());
  if (one_in(20)) request.call = "another";
  if (one_in(30)) request.exit_status = 999;
  const auto state_of = [&] {
    const auto job = oracle_.job(request.ns, request.job);
    return job && *job ? (*job)->state : JobState::dead;
  };
  const JobState before = state_of();
  const auto reply = both("finish_effect", words(call) + " end " + std::to_string(static_cast<int>(request.end)),
                          [&](Store& store) { return store.finish_effect(request); });
  if (!reply) return;
  if (reply->refusal) return note("finish_effect", std::string(to_string(reply->refusal->reason)));
  note("finish_effect", request.end == EffectEnd::done ? "done" : request.end == EffectEnd::none ? "none" : "held");
  if (before == JobState::running && state_of() == JobState::waiting) note("finish_effect", "waits");
  if (before == JobState::waiting && state_of() == JobState::ready) note("finish_effect", "released");
  if (request.end != EffectEnd::none || one_in(2)) return;
  const auto late = both("begin_effect", words(call), [&](Store& store) { return store.begin_effect(call); });
  if (late)
    note("begin_effect", std::string(late->refusal ? to_string(late->refusal->reason) : to_string(late->verdict)));
}

void DifferentialStream::resolve_effect() {
  const std::string ns = any_namespace();
  const auto known = oracle_.effects({.ns = ns, .job = {}, .in_doubt = !one_in(3), .limit = 1000});
  send_resolve(ns, known->effects.empty() || one_in(20) ? std::nullopt : std::optional(one_of(known->effects)));
}

void DifferentialStream::send_resolve(const std::string& ns, const std::optional<Effect>& effect) {
  ResolveEffectRequest request{.ns = ns,
                               .job = {},
                               .name = one_of(kEffectNames),
                               .call = {},
                               .done = one_in(2),
                               .result = {},
                               .act = kEffectTester};
  if (effect) {
    request.job = effect->job;
    request.name = effect->name;
    if (one_in(3)) request.call = one_in(4) ? "another" : effect->call;
  }
  if (request.done) request.result = std::string("s\0\xfd", 3) + std::to_string(last_number_);
  if (one_in(20)) request.act.actor = "";
  const auto reply = both("resolve_effect",
                          ns + " " + to_string(request.job) + " " + request.name + (request.done ? " done" : " none"),
                          [&](Store& store) { return store.resolve_effect(request); });
  if (!reply) return;
  note("resolve_effect", effect->state != EffectState::intent ? "repeat" : request.done ? "done" : "none");
  if (!effect->held) return;
  const auto job = oracle_.job(ns, request.job);
  note("resolve_effect", (*job)->state == JobState::ready ? "released" : "waits_on");
}

void DifferentialStream::effects() {
  EffectsRequest request{.ns = any_namespace(),
                         .job = {},
                         .in_doubt = one_in(2),
                         .limit = static_cast<int>(1 + below(20)),
                         .with_result = one_in(2)};
  if (one_in(4)) request.job = any_job().second;
  if (one_in(12)) request.ns = one_in(4) ? "none" : "a b";
  compare_effects(request);
}

// A cursor belongs to the store that gave it, as in jobs().
void DifferentialStream::compare_effects(EffectsRequest request) {
  EffectsRequest others = request;
  for (;;) {
    const auto expected = oracle_.effects(request);
    const auto got = store_.effects(others);
    compare("effects", request.ns + (request.in_doubt ? " in doubt" : ""), text_of(expected), text_of(got));
    if (!expected) return note("effects", std::string(to_string(expected.error().code)));
    note("effects", expected->effects.empty() ? "empty" : expected->next ? "more" : "last");
    for (const Effect& effect : expected->effects) {
      note("effects", std::string(to_string(effect.state)));
      if (effect.in_doubt) note("effects", "in_doubt");
      if (effect.held) note("effects", "held");
      if (!effect.resolved_by.empty()) note("effects", "resolved");
      if (effect.doubts > 0) note("effects", "doubts");
    }
    if (!expected->next || !got || !got->next) return;
    request.after = *expected->next;
    others.after = *got->next;
  }
}

void DifferentialStream::raise_floor() {
  const Fence wall = clock_.wall_now().time_since_epoch().count();
  RaiseFloorRequest request{
      .ns = any_namespace(), .floor = wall + static_cast<Fence>(below(2'000'000)), .act = kEffectTester};
  if (one_in(3)) request.floor -= Duration{40 * 24h}.count();
  if (one_in(4)) request.floor = wall + Duration{20 * 24h}.count();
  if (one_in(6)) request.floor = 0;
  // Of both: the first of all raises it from 0.
  const auto before = both("raise_floor", "1", [&](Store& store) {
    return store.raise_floor({.ns = request.ns, .floor = 1, .act = kEffectTester});
  });
  const auto reply =
      both("raise_floor", std::to_string(request.floor), [&](Store& store) { return store.raise_floor(request); });
  if (reply && before) note("raise_floor", *reply > *before ? "raised" : "as_it_is");
}

}  // namespace fenceline::test
