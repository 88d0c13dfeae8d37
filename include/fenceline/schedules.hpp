// Schedules for C++ programs: ticks that enqueue a job each, once, whoever leads (docs/schedules.md).
//
//   fenceline::ScheduleSpec nightly;
//   nightly.cron = "30 2 * * *";
//   nightly.zone = "Europe/Berlin";
//   nightly.queue = "reports";
//   client->schedules().put("nightly", nightly);   // adds it, edits it, or leaves it as it is
//
// Every Client::work() of the namespace takes part in firing. What a schedule may say is a ScheduleSpec
// (model/schedule.hpp); what can be done to one, ScheduleActs (services/schedule_acts.hpp).
#pragma once

#include "model/schedule.hpp"
#include "services/schedule_acts.hpp"
