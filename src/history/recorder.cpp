#include "history/recorder.hpp"

#include <utility>

namespace fenceline::history {

Recorder::Recorder(const Clock& clock, Sink& sink, RecorderOptions options)
    : clock_(clock), sink_(sink), by_(std::move(options.by)) {
  Event first{.kind = Kind::recorder,
              .version = kFormatVersion,
              .store = std::move(options.store),
              .guarantee = std::string(1, options.guarantee),
              .clock = clock.boot_id(),
              .store_clock = std::move(options.store_clock),
              .whole = options.whole,
              .repeats = options.repeats.count()};
  write(first);
}

void Recorder::write(Event& event) {
  event.by = by_;
  event.at = clock_.now().time_since_epoch().count();
  sink_.write(to_line(event));
}

std::int64_t Recorder::invoke(Event request) {
  request.kind = Kind::invoke;
  request.n = ++calls_;
  write(request);
  return request.n;
}

void Recorder::answer(std::int64_t call, Event reply) {
  reply.n = call;
  write(reply);
}

void Recorder::handler(Kind kind, const std::string& owner, const JobId& job, Fence fence, std::string_view outcome) {
  Event event{
      .kind = kind, .owner = owner, .jobs = {{.id = to_string(job), .fence = fence, .outcome = std::string(outcome)}}};
  write(event);
}

void Recorder::lock_work(Kind kind, const std::string& owner, const std::string& resource, Fence fence,
                         std::string_view outcome) {
  Event event{
      .kind = kind, .owner = owner, .locks = {{.id = resource, .fence = fence, .outcome = std::string(outcome)}}};
  write(event);
}

void Recorder::mark(Kind kind) {
  Event event{.kind = kind};
  write(event);
}

}  // namespace fenceline::history
