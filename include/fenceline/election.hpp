// One leader at a time among those who campaign for a name. A term is a lease of that name; its number is the fence, so
// that a gate refuses what an earlier leader still writes.
//
//   fenceline::Election election(client->locks(), {.name = "billing"});
//   auto terms = election.run([](const fenceline::Term& term) { lead(term.number, term.stop); }, stop);
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "fenceline/lock_client.hpp"
#include "fenceline/result.hpp"

namespace fenceline {

struct ElectionOptions {
  std::string name;
  Duration ttl = std::chrono::seconds{15};
  int renewal_tries = kRenewalTries;
  Duration delay{0};  // after a leader was lost: how long no one leads once its lease has expired
};

// A term as its leader sees it.
struct Term {
  Fence number = 0;
  std::stop_token stop;  // the term ends: trust is about to, it was lost or broken, step_down() was called, or the
                         // campaign was told to stop
  const HeldLock& held;
};

struct Leader {
  Fence term = 0;
  std::string owner;
  std::string place;
  Duration left{};  // of its lease
};

enum class TermEnd {
  stepped_down,  // `lead` returned, and the name is free for the next
  lost,          // the lease was lost: another process may lead already
};

class Election {
 public:
  // `locks` must outlive it.
  Election(LockClient& locks, ElectionOptions options);

  // Campaigns, in turn with the others, until it is elected; calls `lead`, which leads until it returns; then steps
  // down. A store that is away is waited for. Errors: held (`stop` was requested before it was elected), invalid,
  // refused, denied, broken.
  Result<TermEnd> serve(const std::function<void(const Term&)>& lead, std::stop_token stop);

  // serve() again and again, until `stop`. Returns how many terms it served. Errors: those of serve() but held.
  Result<std::int64_t> run(const std::function<void(const Term&)>& lead, std::stop_token stop);

  // Ends the term that this very object serves, if any: its `stop` is set, and when `lead` has returned the next leader
  // is elected. From any thread.
  void step_down();

  // The current leader; empty: none. From any thread and any process. Errors: unavailable, broken.
  static Result<std::optional<Leader>> leader(LockClient& locks, const std::string& name);
  Result<std::optional<Leader>> leader() { return leader(locks_, options_.name); }

 private:
  LockClient& locks_;
  const ElectionOptions options_;
  std::mutex mutex_;
  std::stop_source term_;  // of the term that is served; guarded by the mutex
  bool serving_ = false;
};

}  // namespace fenceline
