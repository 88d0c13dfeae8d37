// Stores that each break one promise of effects in one small way.
#pragma once

#include "sim/scenarios/broken_stores.hpp"

namespace fenceline::sim {

// E1: what is done is begun again.
class ActsAgainAfterDone final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<BeginEffectReply> begin_effect(const BeginEffectRequest& request) override {
    Result<BeginEffectReply> reply = inner_.begin_effect(request);
    if (reply && reply->verdict == EffectVerdict::done) reply->verdict = EffectVerdict::act;
    return reply;
  }
};

// E1: what is replayed is not what was recorded.
class ReplaysSomethingElse final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<BeginEffectReply> begin_effect(const BeginEffectRequest& request) override {
    Result<BeginEffectReply> reply = inner_.begin_effect(request);
    if (reply && reply->verdict == EffectVerdict::done) reply->result += "?";
    return reply;
  }
};

// E2: what is in doubt is in no list of doubts.
class NamesNoDoubt final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<EffectsReply> effects(const EffectsRequest& request) override {
    if (request.in_doubt) return EffectsReply{};
    return inner_.effects(request);
  }
};

// J3: the end of an effect is taken under any fence.
class TakesALateEnd final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<FinishEffectReply> finish_effect(const FinishEffectRequest& request) override {
    Result<FinishEffectReply> reply = inner_.finish_effect(request);
    if (reply && reply->refusal && reply->refusal->reason == Reason::superseded) reply->refusal.reset();
    return reply;
  }
};

}  // namespace fenceline::sim
