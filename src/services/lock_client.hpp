// How a lock client is made; the client itself is public: fenceline/lock_client.hpp. Plain blocking code on the two
// seams, so that the simulator runs this very class.
//
//   LockClient locks(make_lock_parts(runtime, log, store, {.ns = "default", .place = "host:4711"}));
//   locks.with({.names = {"deploy"}, .ttl = 30s, .wait = 10s}, [](const HeldLock& held) { deploy(held.fence()); });
#pragma once

#include <memory>
#include <string>

#include "base/log.hpp"
#include "base/time.hpp"
#include "fenceline/lock_client.hpp"
#include "handler/handler.hpp"
#include "model/trust.hpp"
#include "runtime/runtime.hpp"
#include "services/lock_options.hpp"
#include "store/store.hpp"

namespace fenceline {

struct LockClientOptions {
  std::string ns = "default";
  std::string place = {};  // for people: "host:pid"
  Duration tidy_every =
      std::chrono::minutes{10};  // after releases: how often free locks are removed at the store; 0: never
};

// For the constructor of a LockClient. All references must outlive it.
std::shared_ptr<LockParts> make_lock_parts(Runtime& runtime, Log log, Store& store, LockClientOptions options);

// Until when the holder may act; whoever runs a command for it passes each move on (TrustDeadline::listen). A lock that
// was broken is cut.
TrustDeadline& trust_of(const HeldLock& held);
const LeaseTimes& times_of(const HeldLock& held);

}  // namespace fenceline
