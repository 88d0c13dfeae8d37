// What careful clients do: repeat the very same request until it has an answer, after their own restart too.
#include <algorithm>

#include "sim/scenarios/process.hpp"
#include "sim/scenarios/world.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

// The same value in several spellings, and another value.
std::string payload_of(const std::string& key, std::size_t spelling, bool another) {
  const std::string value = another ? "2" : "1";
  switch (spelling) {
    case 0: return R"({"key":")" + key + R"(","value":)" + value + "}";
    case 1: return R"({ "value": )" + value + R"(.0, "key": ")" + key + R"(" })";
    default: return R"({"value":)" + value + R"(e0,"key":")" + key + R"("})";
  }
}

}  // namespace

void World::make_batches() {
  Random& random = simulation_.random();
  int poison_left = plan_.poison_count;
  for (int made = 0; made < plan_.jobs;) {
    Batch batch{.number = batches_.size()};
    batch.producer = static_cast<int>(random.below(static_cast<std::size_t>(plan_.producers)));
    if (random.chance(plan_.features.named)) batch.name = "file-" + std::to_string(batches_.size());
    const std::int64_t size = random.between(1, std::min(plan_.batch_most, plan_.jobs - made));
    for (std::int64_t i = 0; i < size; ++i, ++made) {
      batch.jobs.push_back(make_job(made));
      const bool for_sure = poison_left > 0 && random.below(static_cast<std::size_t>(plan_.jobs - made)) <
                                                   static_cast<std::size_t>(poison_left);
      if (for_sure) poison_left -= 1;
      if (for_sure || random.chance(plan_.poison)) poison_.insert(batch.jobs.back().id);
    }
    batches_.push_back(std::move(batch));
  }
}

NewJob World::make_job(int number) {
  Random& random = simulation_.random();
  if (!options_.jobs.empty()) {
    NewJob job = options_.jobs.at(static_cast<std::size_t>(number));
    const std::uint64_t words = random.next();
    job.id = make_uuid7(store_clock_.wall_now(), words, random.next());
    return job;
  }
  const Features& features = plan_.features;
  const auto one_of = [&](std::string_view name, int count) {
    return std::string(name) + std::to_string(random.below(static_cast<std::size_t>(count)));
  };
  NewJob job;
  const std::uint64_t high = random.next();
  job.id = make_uuid7(store_clock_.wall_now(), high, random.next());
  job.queue = some_queue();
  job.payload = std::to_string(number);
  job.priority = static_cast<int>(random.between(-1, 1));
  job.attempts_max = plan_.attempts_max;
  job.backoff = plan_.backoff;
  if (random.chance(plan_.delayed)) job.delay = random.between(Duration{0}, plan_.job_delay_most);
  if (job.delay != Duration{0} && random.chance(features.dated)) {
    job.at = store_clock_.wall_now() + job.delay;
    job.delay = Duration{0};
  }
  if (random.chance(features.keyed)) {
    job.key = one_of("key-", features.keys);
    const std::size_t spelling = random.below(3);
    job.payload = payload_of(job.key, spelling, random.chance(features.other_payload));
    if (features.key_for_most != Duration{0} && random.chance(0.5))
      job.key_for = random.between(Duration{0}, features.key_for_most);
  }
  if (random.chance(features.grouped)) job.group = one_of("group-", features.groups);
  if (random.chance(features.limited)) job.limit_key = one_of("limit-", features.limit_keys);
  if (random.chance(features.timed))
    job.timeout = random.between(Duration{1s}, std::max<Duration>(1s, features.timeout_most));
  return job;
}

std::string World::some_queue() {
  return queue_name(static_cast<int>(simulation_.random().below(static_cast<std::size_t>(plan_.queues))));
}

bool World::all_enqueued() const {
  return std::all_of(batches_.begin(), batches_.end(), [](const Batch& batch) { return batch.answered; });
}

void World::produce(Process& process, int producer, std::stop_token stop) {
  Random& random = simulation_.random();
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    if (batches_[i].producer != producer || batches_[i].answered) continue;
    send(process, batches_[i], stop);
    if (stop.stop_requested()) return;
    // A careless client sends one again that has had its answer.
    Batch& earlier = batches_[random.below(i + 1)];
    if (earlier.answered && random.chance(plan_.features.repeated)) {
      Batch again = earlier;
      again.answered = false;
      send(process, again, stop);
    }
  }
}

void World::send(Process& process, Batch& batch, std::stop_token stop) {
  while (!batch.answered) {
    if (stop.stop_requested()) return;
    if (!batch.name.empty() && !open_file(process, batch, stop)) continue;
    const Result<EnqueueReply> reply = process.store.enqueue(
        {.ns = std::string(kNamespace), .jobs = batch.jobs, .timeout = std::min<Duration>(plan_.ttl, 1min)});
    if (reply) {
      batch.answered = true;
      checks_->acknowledged(batch.jobs, reply->ids);
    } else if (reply.error().code == Code::conflict) {
      batch.answered = true;  // whether rightly, the checks have said
    } else if (reply.error().code != Code::in_doubt && reply.error().code != Code::unavailable) {
      violations_.add(
          "J1", "an enqueue was answered " + std::string(to_string(reply.error().code)) + ": " + reply.error().message);
      return;
    }
    const Duration pause =
        simulation_.random().between(Duration{0}, storm_ ? plan_.enqueue_pause_most : Duration{10ms});
    process.runtime.sleep_for(pause, stop);
  }
}

// The ids of a file's lines come from the moment at which the store first saw its name. False if that is not known yet,
// or if the file can no longer be repeated: then it is answered.
bool World::open_file(Process& process, Batch& batch, std::stop_token stop) {
  const Result<BatchReply> opened = process.store.open_batch(
      {.ns = std::string(kNamespace), .name = batch.name, .timeout = std::min<Duration>(plan_.ttl, 1min)});
  if (!opened) {
    if (opened.error().code == Code::refused) batch.answered = true;
    process.runtime.sleep_for(simulation_.random().between(Duration{0}, Duration{100ms}), stop);
    return false;
  }
  for (NewJob& job : batch.jobs) {
    const bool was_poison = poison_.erase(job.id) > 0;
    Random words(batch.number * 1000 + static_cast<std::uint64_t>(&job - batch.jobs.data()));
    const std::uint64_t high = words.next();
    job.id = make_uuid7(opened->first_seen, high, words.next());
    if (was_poison) poison_.insert(job.id);
  }
  return true;
}

}  // namespace fenceline::sim
