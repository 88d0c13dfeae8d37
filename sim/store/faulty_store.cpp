#include "sim/store/faulty_store.hpp"

#include <optional>
#include <utility>

namespace fenceline::sim {
namespace {

// What the store kept a request waiting, it says in the replies that have a field for it.
template <class Answer>
void add_waited(Answer& answer, Duration waited) {
  if constexpr (requires { answer->waited; }) {
    if (answer) answer->waited += waited;
  }
}

// How long the caller waits: requests say it.
Duration timeout_of() { return kCallTimeout; }
template <class First, class... Others>
Duration timeout_of(const First& first, const Others&...) {
  if constexpr (requires { first.timeout; }) return first.timeout;
  else return kCallTimeout;
}

}  // namespace

FaultyStore::FaultyStore(SimRuntime& process, Store& inner, StoreServer& server, const Weather& weather, Tally& tally)
    : StoreAround(inner), process_(process), server_(server), weather_(weather), tally_(tally) {}

FaultyStore::~FaultyStore() = default;

FaultyStore::Fate FaultyStore::draw_fate(Duration timeout) {
  Random& random = process_.simulation().random();
  Fate fate;
  fate.refused = random.chance(weather_.refuse_request);
  fate.request_lost = random.chance(weather_.drop_request);
  fate.reply_lost = random.chance(weather_.drop_reply);
  fate.again = random.chance(weather_.duplicate);
  fate.to_store = random.between(Duration{0}, weather_.delay_most);
  fate.in_queue = random.between(Duration{0}, weather_.queue_most);
  fate.to_caller = random.between(Duration{0}, weather_.delay_most);
  // A copy may overtake what its sender does next, or come after its sender has long gone on.
  fate.until_again =
      random.chance(0.5) ? random.between(Duration{0}, weather_.delay_most) : random.between(Duration{0}, 3 * timeout);
  if (random.chance(weather_.late_request)) {
    fate.to_store = timeout + random.between(Duration{0}, timeout);
    fate.reply_lost = true;
  }
  return fate;
}

void FaultyStore::note(std::string_view verb, std::string_view what) {
  Simulation& simulation = process_.simulation();
  if (simulation.trace().on())
    simulation.trace().write(simulation.now(), process_.name(), std::string(verb) + " " + std::string(what));
}

template <class Answer>
Answer FaultyStore::deliver(const StoreVerb& verb, Duration timeout, std::function<Answer()> apply) {
  process_.step();
  Simulation& simulation = process_.simulation();
  const Fate fate = draw_fate(timeout);
  if (fate.refused) {
    tally_.add(Count::refused_requests);
    note(verb.name, "refused");
    process_.delay(fate.to_store);
    process_.step();
    return fail(Code::unavailable, "the simulated store is not reached");
  }

  struct Exchange {
    std::optional<Answer> answer;
    std::shared_ptr<Event> answered;
  };
  const auto exchange = std::make_shared<Exchange>();
  exchange->answered = process_.make_event();
  const Instant give_up_at = process_.now() + timeout;
  if (fate.request_lost) {
    tally_.add(Count::lost_requests);
    note(verb.name, "request lost");
  } else {
    simulation.after(fate.to_store + fate.in_queue, [this, &simulation, apply, exchange, fate, verb, timeout] {
      if (!server_.is_up()) {
        tally_.add(Count::store_down);
        note(verb.name, "meets no store");
        if (fate.reply_lost) return;
        simulation.after(fate.to_caller, [exchange] {
          exchange->answer = fail(Code::unavailable, "the simulated store is down");
          exchange->answered->notify();
        });
        return;
      }
      Answer answer = apply();
      add_waited(answer, fate.in_queue);
      if (fate.again) {
        simulation.after(fate.until_again, [this, apply, verb] {
          if (!server_.is_up()) return;
          tally_.add(Count::duplicates);
          note(verb.name, "arrives again");
          apply();
        });
      }
      if (fate.reply_lost) {
        tally_.add(fate.to_store >= timeout ? Count::late_requests : Count::lost_replies);
        note(verb.name, fate.to_store >= timeout ? "arrived late" : "reply lost");
        return;
      }
      server_.answer([&simulation, fate, exchange, answer = std::move(answer)] {
        simulation.after(fate.to_caller, [exchange, answer] {
          exchange->answer = answer;
          exchange->answered->notify();
        });
      });
    });
  }
  exchange->answered->wait_until(give_up_at);
  process_.step();
  if (exchange->answer) return *exchange->answer;
  // What only reads cannot have happened.
  if (!verb.changes) return fail(Code::unavailable, "the simulated store did not answer");
  return fail(Code::in_doubt, "the simulated store did not answer in time");
}

template <class Answer, class... Parameters, class... Given>
Answer FaultyStore::around(const StoreVerb& verb, Answer (Store::*call)(Parameters...), const Given&... given) {
  return deliver<Answer>(verb, timeout_of(given...),
                         [this, call, ... given = given] { return (inner_.*call)(given...); });
}

std::unique_ptr<Watch> FaultyStore::watch(const WatchRequest& request, std::function<void()> on_change) {
  // A wake-up under way when the handle goes finds the callback gone.
  class FaultyWatch final : public Watch {
   public:
    std::shared_ptr<std::function<void()>> callback;
    std::unique_ptr<Watch> inner;
    ~FaultyWatch() override { *callback = nullptr; }
  };
  auto handle = std::make_unique<FaultyWatch>();
  handle->callback = std::make_shared<std::function<void()>>(std::move(on_change));
  handle->inner = inner_.watch(request, [this, callback = handle->callback] {
    Random& random = process_.simulation().random();
    if (random.chance(weather_.drop_wakeup)) {
      tally_.add(Count::lost_wakeups);
      return;
    }
    process_.simulation().after(random.between(Duration{0}, weather_.delay_most), [callback] {
      if (*callback) (*callback)();
    });
  });
  return handle;
}

}  // namespace fenceline::sim

template class fenceline::StoreAround<fenceline::sim::FaultyStore>;
