// New jobs as the arrays that enqueue_jobs takes on the server, and all who enqueue by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "backends/postgres/wire.hpp"
#include "base/result.hpp"
#include "model/job.hpp"

namespace fenceline::postgres {

class JobArrays {
 public:
  explicit JobArrays(std::size_t count);

  // Errors: invalid (a text that is not UTF-8).
  Result<void> add(const NewJob& job);
  // queues, stages, q, ids, payloads, ranks, delays, ats, attempts, extras. Once all are added.
  void put_into(Params& params) const;

 private:
  std::map<std::pair<std::string, std::string>, std::int32_t> places_;  // of a queue and stage, from 1
  Array q_, ids_, payloads_, ranks_, delays_, ats_, attempts_, extras_;
};

}  // namespace fenceline::postgres
