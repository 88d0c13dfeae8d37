// A Store directly around the real one: passes every call on as it is and tells an observer of each that may
// have changed something. It adds no faults, takes no time and calls no Runtime.
#pragma once

#include <utility>

#include "runtime/clock.hpp"
#include "sim/store/applied.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::sim {

class RecordingStore final : public StoreAround<RecordingStore> {
 public:
  // All must outlive it; `clock` is the store's own.
  RecordingStore(Clock& clock, Store& inner, StoreObserver& observer)
      : StoreAround(inner), clock_(clock), observer_(observer) {}

  // Both have the same request, so the verb has to be told.
  Result<ActReply> cancel(const ActRequest& request) override {
    return told<CancelCall>(request, inner_.cancel(request));
  }
  Result<ActReply> retry(const ActRequest& request) override { return told<RetryCall>(request, inner_.retry(request)); }

 private:
  friend StoreAround<RecordingStore>;

  template <class Answer, class... Parameters, class... Given>
  Answer around(const StoreVerb&, Answer (Store::*call)(Parameters...), const Given&... given) {
    return told_of<Answer>((inner_.*call)(given...), given...);
  }
  template <class Answer, class... Given>
  Answer told_of(Answer reply, const Given&...) {
    return reply;
  }
  template <class Answer, class Request>
  requires is_observed<Call<Request, typename Answer::value_type>> Answer told_of(Answer reply,
                                                                                  const Request& request) {
    return told<Call<Request, typename Answer::value_type>>(request, std::move(reply));
  }
  template <class One, class Request, class Answer>
  Answer told(const Request& request, Answer reply) {
    observer_.applied({clock_.now(), clock_.wall_now(), One{request, reply}});
    return reply;
  }

  Clock& clock_;
  StoreObserver& observer_;
};

}  // namespace fenceline::sim
