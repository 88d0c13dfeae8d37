// How bad the world is: data of a scenario. All zero is fine weather: everything arrives at once and lives on.
#pragma once

#include "base/time.hpp"

namespace fenceline::sim {

struct Weather {
  // Of each message between a process and the store.
  double drop_request = 0;    // never arrives: in doubt at the caller's timeout
  double refuse_request = 0;  // unavailable at once
  double drop_reply = 0;      // applied, and in doubt at the caller's timeout
  double late_request = 0;    // applied after the caller's timeout
  double duplicate = 0;       // applied again, at once or later
  double drop_wakeup = 0;     // a watcher is not told
  Duration delay_most{0};     // of a request, and of a reply
  Duration queue_most{0};     // how long the store keeps a request waiting, which it says in `waited`

  // Of processes, each about that often for the whole fleet; zero: never.
  Duration kill_every{0};
  Duration pause_every{0};
  Duration pause_most{0};
  Duration suspend_every{0};    // a machine with all its processes, as long as a pause
  Duration terminate_every{0};  // a graceful stop, then a new start
  Duration wall_jump_every{0};  // of a machine's or the store's wall clock, either way
  Duration wall_jump_most{0};
  Duration wall_leap_every{0};  // of the store's wall clock, only ahead: days pass
  Duration wall_leap_most{0};
  Duration fleet_every{0};   // all workers are killed at once, or asked to stop at once
  Duration restart_most{0};  // until a process is there again
  double twin = 0;           // of a pause: a new incarnation starts beside the paused one

  // Of the store, each about that often; zero: never.
  Duration crash_every{0};    // it goes down, and what it lost is what its class may lose
  Duration unsaved_most{0};   // how long before a crash the calls came that it may lose
  Duration down_most{0};      // until it is there again
  Duration restore_every{0};  // an old snapshot is put in its place
  Duration restore_age_most{0};
  Duration amnesia_every{0};    // it comes back empty
  Duration wall_back_every{0};  // its wall clock is set back, and stays so
  Duration wall_back_most{0};
  Duration server_ahead_every{0};  // the clock that its leases run on is set ahead, and set right soon after
  Duration server_ahead_most{0};

  // At each step of a process.
  double kill_at_step = 0;
  double pause_at_step = 0;
  double delay_at_step = 0;
  Duration step_delay_most{0};
};

}  // namespace fenceline::sim
