// E1 and E2: each effect of a job is a resource of its own, whatever the fence. A plain walk over its calls: only what
// every order of them breaks is told. Whether its job was held by a live lease is the job model's matter.
#include <algorithm>
#include <map>
#include <set>

#include "check/checks.hpp"

namespace fenceline::audit {
namespace {

class EffectWalk {
 public:
  EffectWalk(const Scene& scene, std::uint32_t job, const std::vector<CallNumber>& calls)
      : scene_(scene), log_(scene.log), job_(job) {
    for (const CallNumber number : calls) {
      const Verb verb = log_.calls[number].verb;
      (verb == Verb::begin_effect ? begins_ : verb == Verb::finish_effect ? finishes_ : resolves_).push_back(number);
    }
    named_ = "effect " + std::string(log_.text(effect(calls.front()).name)) + " of job " + log_.job_text(job);
  }

  void check() {
    answers_as_declared();
    is_replayed_alike();
    is_not_undone();
    if (!log_.about.whole) return;  // someone else may have begun or ended it
    acts_once();
    is_replayed_for_its_request();
    doubts_what_is_open();
    is_ended_by_its_call();
  }

 private:
  const Call& call(CallNumber number) const { return log_.calls[number]; }
  const EffectCall& effect(CallNumber number) const { return log_.effect_of(call(number)); }
  std::int64_t fence(CallNumber number) const { return log_.items[call(number).items].fence; }
  bool ok(CallNumber number) const { return call(number).status == Status::ok; }
  bool accepted(CallNumber number) const { return ok(number) && log_.items[call(number).items].reason == Reason::none; }
  bool may_count(CallNumber number) const {
    return call(number).may_count() && log_.items[call(number).items].reason == Reason::none;
  }
  bool began(CallNumber number) const {
    const Begun begun = effect(number).begun;
    return ok(number) && (begun == Begun::act || begun == Begun::again || begun == Begun::probe);
  }
  // It may have recorded an intent.
  bool may_have_begun(CallNumber number) const { return began(number) || call(number).status == Status::unknown; }
  // When nothing of it can take effect any more.
  Time late(CallNumber number) const {
    const Call& one = call(number);
    return one.answered == kNever ? kNever : std::max(one.answered, one.asked + log_.about.repeats);
  }
  void broken(const char* promise, const std::string& what, std::vector<CallNumber> calls) const {
    const CallNumber last = calls.back();
    scene_.broken(promise, named_ + " " + what, std::move(calls), job_, call(last).answered);
  }

  // One that a finish left as held is so for whoever asks.
  bool may_be_held(CallNumber number) const {
    return std::any_of(finishes_.begin(), finishes_.end(), [&](CallNumber end) {
      return effect(end).ended == Ended::held && may_count(end) && call(end).asked <= call(number).answered;
    });
  }

  void answers_as_declared() const {
    for (const CallNumber number : begins_) {
      const EffectCall& one = effect(number);
      const bool other =
          (one.begun == Begun::again && one.policy != Doubt::repeat) ||
          (one.begun == Begun::probe && one.policy != Doubt::probe) ||
          (one.begun == Begun::held && one.policy != Doubt::hold && log_.about.whole && !may_be_held(number));
      if (other)
        return broken(
            "E2",
            "was in doubt and answered " + std::string(to_string(one.begun)) + ", which its handler had not declared",
            {number});
    }
  }

  void is_replayed_alike() const {
    CallNumber first = kNoCall;
    for (const CallNumber number : begins_) {
      if (!ok(number) || effect(number).begun != Begun::done) continue;
      if (first == kNoCall) first = number;
      if (effect(first).result != effect(number).result)
        return broken("E1", "was replayed with two results", {first, number});
      if (effect(first).digest != effect(number).digest)
        return broken("E1", "was replayed for two requests", {first, number});
    }
  }

  // The first moment by which it is done for certain.
  CallNumber certainly_done() const {
    CallNumber first = kNoCall;
    const auto consider = [&](CallNumber number) {
      if (first == kNoCall || call(number).answered < call(first).answered) first = number;
    };
    for (const CallNumber number : begins_) {
      if (ok(number) && effect(number).begun == Begun::done) consider(number);
    }
    for (const std::vector<CallNumber>* ends : {&finishes_, &resolves_}) {
      for (const CallNumber number : *ends) {
        if (accepted(number) && effect(number).ended == Ended::done) consider(number);
      }
    }
    return first;
  }

  void is_not_undone() const {
    const CallNumber done = certainly_done();
    if (done == kNoCall) return;
    for (const CallNumber number : begins_) {
      const bool open = began(number) || effect(number).begun == Begun::busy || effect(number).begun == Begun::held;
      if (ok(number) && open && call(number).asked > call(done).answered && is_the_same_job(done, number))
        return broken("E1", "was begun again after it was done", {done, number});
    }
    for (const std::vector<CallNumber>* ends : {&finishes_, &resolves_}) {
      for (const CallNumber number : *ends) {
        if (accepted(number) && effect(number).ended == Ended::none && call(number).asked > call(done).answered &&
            is_the_same_job(done, number))
          return broken("E1", "is none after it was done", {done, number});
      }
    }
  }

  // A job that was removed and enqueued anew has no effects.
  bool is_the_same_job(CallNumber first, CallNumber second) const {
    if (!log_.about.whole && fence(first) != fence(second)) return false;
    return std::none_of(log_.calls.begin(), log_.calls.end(), [&](const Call& one) {
      const bool removes = one.verb == Verb::remove_namespace ||
                           (one.verb == Verb::tidy && (one.status == Status::unknown || one.left > 0));
      return removes && one.may_count() && one.asked <= call(second).answered;
    });
  }

  bool may_be_none_between(CallNumber first, CallNumber second) const {
    const Time since = std::min(call(first).asked, call(second).asked);
    const auto may_be = [&](CallNumber number) {
      return effect(number).ended == Ended::none && may_count(number) && call(number).asked <= call(second).answered &&
             late(number) >= since;
    };
    return std::any_of(finishes_.begin(), finishes_.end(), may_be) ||
           std::any_of(resolves_.begin(), resolves_.end(), may_be);
  }

  void acts_once() const {
    std::vector<CallNumber> begun;
    std::copy_if(begins_.begin(), begins_.end(), std::back_inserter(begun),
                 [&](CallNumber number) { return began(number); });
    std::stable_sort(begun.begin(), begun.end(),
                     [&](CallNumber a, CallNumber b) { return call(a).answered < call(b).answered; });
    for (std::size_t i = 1; i < begun.size(); ++i) {
      const CallNumber first = begun[i - 1];
      const CallNumber second = begun[i];
      if (call(first).request == call(second).request || effect(second).begun != Begun::act) continue;
      // What was in doubt may have been begun by the second of them before.
      if (effect(first).begun != Begun::act && call(first).answered >= call(second).asked) continue;
      if (may_be_none_between(first, second) || !is_the_same_job(first, second)) continue;
      return broken("E1", "was begun by two calls, and nobody knew in between that it had not happened",
                    {first, second});
    }
  }

  void is_replayed_for_its_request() const {
    std::set<Name> results;
    for (const std::vector<CallNumber>* ends : {&finishes_, &resolves_}) {
      for (const CallNumber number : *ends) {
        if (effect(number).ended == Ended::done && may_count(number)) results.insert(effect(number).result);
      }
    }
    for (const CallNumber number : begins_) {
      if (!ok(number)) continue;
      const Begun said = effect(number).begun;
      if (said == Begun::done && !results.contains(effect(number).result))
        return broken("E1", "was replayed with a result that it never had", {number});
      if (said != Begun::done && said != Begun::again && said != Begun::probe && said != Begun::held &&
          said != Begun::busy)
        continue;
      const bool known = std::any_of(begins_.begin(), begins_.end(), [&](CallNumber other) {
        return other != number && may_have_begun(other) && effect(other).digest == effect(number).digest &&
               call(other).asked <= call(number).answered;
      });
      if (!known)
        return broken("E1",
                      "was answered " + std::string(to_string(said)) + " for a request that nobody had begun it for",
                      {number});
    }
  }

  // Whether the intent of `begin` had ended for certain before `now` was asked.
  bool had_ended(CallNumber begin, CallNumber now) const {
    if (late(begin) >= call(now).asked) return false;
    const auto ends = [&](CallNumber end) {
      return accepted(end) && effect(end).ended != Ended::held && call(end).answered < call(now).asked;
    };
    return std::any_of(finishes_.begin(), finishes_.end(),
                       [&](CallNumber end) { return ends(end) && call(end).request == call(begin).request; }) ||
           std::any_of(resolves_.begin(), resolves_.end(),
                       [&](CallNumber end) { return ends(end) && call(end).asked > late(begin); });
  }

  void doubts_what_is_open() const {
    for (const CallNumber number : begins_) {
      const Begun said = effect(number).begun;
      const bool doubts = said == Begun::again || said == Begun::probe || said == Begun::held || said == Begun::busy;
      if (!ok(number) || !doubts) continue;
      const bool repeated = std::any_of(begins_.begin(), begins_.end(), [&](CallNumber other) {
        return other != number && call(other).request == call(number).request;
      });
      if (repeated && said != Begun::busy) continue;  // answered as the first time
      const bool open = std::any_of(begins_.begin(), begins_.end(), [&](CallNumber other) {
        const bool fits = said != Begun::busy || fence(other) == fence(number);
        return call(other).request != call(number).request && fits && may_have_begun(other) &&
               call(other).asked <= call(number).answered && !had_ended(other, number);
      });
      if (!open)
        return broken(
            "E2",
            "was answered " + std::string(to_string(said)) + " though nobody was at it, and nothing of it in doubt",
            {number});
    }
  }

  void is_ended_by_its_call() const {
    std::map<Name, CallNumber> ended;
    for (const CallNumber number : finishes_) {
      const auto own = [&](CallNumber begin) { return call(begin).request == call(number).request; };
      const auto begun = std::find_if(begins_.begin(), begins_.end(), [&](CallNumber begin) {
        return own(begin) && fence(begin) == fence(number) && may_have_begun(begin) &&
               call(begin).asked <= call(number).answered;
      });
      if (accepted(number) && begun == begins_.end())
        return broken("E2", "was ended by a call that had not begun it", {number});
      if (accepted(number) && effect(number).ended != Ended::held) {
        const auto [first, is_new] = ended.emplace(call(number).request, number);
        if (!is_new && effect(first->second).ended != effect(number).ended)
          return broken("E1", "was ended twice by one call, in two ways", {first->second, number});
      }
      if (!ok(number) || log_.items[call(number).items].reason != Reason::other_call || begun == begins_.end() ||
          !began(*begun))
        continue;
      // Nobody else can have begun or ended it.
      const auto interferes = [&](CallNumber other) {
        return other != number && !(own(other) && call(other).verb == Verb::begin_effect) && call(other).may_count();
      };
      const bool alone = std::none_of(begins_.begin(), begins_.end(), interferes) &&
                         std::none_of(finishes_.begin(), finishes_.end(), interferes) &&
                         std::none_of(resolves_.begin(), resolves_.end(), interferes);
      if (alone && is_the_same_job(*begun, number))
        return broken("E2", "refused the end of the call that began it", {*begun, number});
    }
  }

  const Scene& scene_;
  const CallLog& log_;
  const std::uint32_t job_;
  std::string named_;
  std::vector<CallNumber> begins_, finishes_, resolves_;
};

}  // namespace

void check_effects(const Scene& scene) {
  const CallLog& log = scene.log;
  std::map<std::pair<std::uint32_t, Name>, std::vector<CallNumber>> effects;
  for (CallNumber number = 0; number < log.calls.size(); ++number) {
    const Call& call = log.calls[number];
    if (call.effect == 0 || call.item_count != 1 || !call.may_count()) continue;
    effects[{log.items[call.items].job, log.effect_of(call).name}].push_back(number);
  }
  for (const auto& [key, calls] : effects) EffectWalk(scene, key.first, calls).check();
}

}  // namespace fenceline::audit
