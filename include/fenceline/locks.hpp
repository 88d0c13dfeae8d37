// Locks for C++ programs: leases of names, each with a fence that a write gate can check.
//
//   auto done = client->lock("deploy", {.ttl = 30s, .wait = 1min}, [](const fenceline::HeldLock& held) {
//     deploy(held.fence(), held.stop());   // end soon once stop is set: the lease could not be renewed
//   });
//   if (!done) std::cerr << done.error().message << "\n";   // held: another process has it
//
// A lock class is a LockOptions: ttl, renewals, waiting, what happens when the store is away. The work under a lock is
// told before trust in its lease ends. A lock alone does not make a late write harmless: send the fence along, and let
// a gate check it (docs/locks.md).
//
// For more than one function call: Client::acquire_lock() gives a handle, which must be released; Election serves terms
// of a leader; Singleton runs a job of your own scheduler on one replica at a time; LoopLock sweeps once in each
// window.
#pragma once

#include "fenceline/election.hpp"
#include "fenceline/held_lock.hpp"
#include "fenceline/lock_client.hpp"
#include "fenceline/lock_options.hpp"
#include "fenceline/loop_lock.hpp"
#include "fenceline/singleton.hpp"
