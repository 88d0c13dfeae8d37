// The loop pattern: many replicas try every so often, one of them sweeps in each window. The lease is held to its end
// (L6): a sweep that was done early is not done again by a replica whose clock is behind, and one whose replica died is
// done again when its window is over.
//
//   fenceline::LockOptions options = *fenceline::lock_preset("loop");
//   options.names = {"cleanup"};
//   fenceline::LoopLock sweep(client->locks(), options);
//   auto times = sweep.run([](const fenceline::HeldLock& held) { clean_up(held.stop()); }, stop);
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

#include "fenceline/lock_client.hpp"
#include "fenceline/result.hpp"

namespace fenceline {

class LoopLock {
 public:
  // Of a class whose pattern is loop: one name, its ttl the window, `every` how often it is tried (0: half of the
  // window). `locks` must outlive it.
  LoopLock(LockClient& locks, LockOptions options);

  // One try. True if the body ran: it is told to stop before the window ends. Errors: those of LockClient::acquire but
  // held; lost (the body took longer than its window).
  Result<bool> run_once(const std::function<void(const HeldLock&)>& body, std::stop_token stop = {});

  // Tries now and every `every` until `stop`. A store that is away is logged, and tried again at the next turn. Returns
  // how often the body ran. Errors: invalid, refused, denied, broken.
  Result<std::int64_t> run(const std::function<void(const HeldLock&)>& body, std::stop_token stop);

 private:
  LockClient& locks_;
  const LockOptions options_;
};

}  // namespace fenceline
