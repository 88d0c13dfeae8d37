#include "backends/postgres/job_arrays.hpp"

#include <vector>

#include "backends/postgres/json_wire.hpp"

namespace fenceline::postgres {

JobArrays::JobArrays(std::size_t count)
    : q_(Type::int4, count),
      ids_(Type::uuid, count),
      payloads_(Type::text, count),
      ranks_(Type::int2, count),
      delays_(Type::int8, count),
      ats_(Type::int8, count),
      attempts_(Type::int4, count),
      extras_(Type::jsonb, count) {}

Result<void> JobArrays::add(const NewJob& job) {
  q_.add_int4(places_.try_emplace({job.queue, job.stage}, static_cast<std::int32_t>(places_.size() + 1)).first->second);
  ids_.add_uuid(job.id);
  payloads_.add_bytes(job.payload);
  ranks_.add_int2(static_cast<std::int16_t>(-job.priority));
  delays_.add_int8(job.delay.count());
  if (job.at) ats_.add_int8(job.at->time_since_epoch().count());
  else ats_.add_null();
  attempts_.add_int4(job.attempts_max);
  const json more = extras_json(job);
  if (more.is_null()) {
    extras_.add_null();
    return {};
  }
  try {
    extras_.add_jsonb(more.dump());
  } catch (const json::exception&) {
    return fail(Code::invalid, "a text of job " + to_string(job.id) + " is not valid UTF-8");
  }
  return {};
}

void JobArrays::put_into(Params& params) const {
  std::vector<const std::pair<const std::pair<std::string, std::string>, std::int32_t>*> by_place(places_.size());
  for (const auto& place : places_) by_place[static_cast<std::size_t>(place.second - 1)] = &place;
  Array queues(Type::text, places_.size()), stages(Type::text, places_.size());
  for (const auto* place : by_place) {
    queues.add_bytes(place->first.first);
    stages.add_bytes(place->first.second);
  }
  params.array(queues)
      .array(stages)
      .array(q_)
      .array(ids_)
      .array(payloads_)
      .array(ranks_)
      .array(delays_)
      .array(ats_)
      .array(attempts_)
      .array(extras_);
}

}  // namespace fenceline::postgres
