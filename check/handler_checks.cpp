#include <algorithm>
#include <map>

#include "check/checks.hpp"
#include "check/limits.hpp"

namespace fenceline::audit {
namespace {

using Running = std::map<std::pair<std::uint32_t, std::int64_t>, const HandlerEvent*>;

std::string about(const Scene& scene, const HandlerEvent& event) {
  return "the handler of job " + scene.log.job_text(event.job) + " under fence " + std::to_string(event.fence) + " ";
}

// L5: whoever acts has its lease. A start proves nothing: its process may have been stopped after it had looked.
void check_trust(const Scene& scene, const HandlerEvent& event) {
  const Deliveries& deliveries = scene.deliveries;
  const Delivery* own = deliveries.find(event.job, event.fence);
  const Delivery* other = std::upper_bound(deliveries.begin(event.job), deliveries.end(event.job), event.fence,
                                           [](std::int64_t than, const Delivery& one) { return than < one.fence; });
  if (other != deliveries.end(event.job) && other->answered < event.at) {
    std::vector<CallNumber> calls{other->call};
    if (own != nullptr) calls.push_back(own->call);
    return scene.broken("L5",
                        about(scene, event) + "acted after fence " + std::to_string(other->fence) + " was granted",
                        calls, event.job, event.at, {&event});
  }
  if (own == nullptr || own->lease_most == kNever || event.at <= own->lease_most) return;
  scene.broken("L5", about(scene, event) + "acted after its lease had ended", {own->call}, event.job, event.at,
               {&event});
}

bool runs_alone(const Scene& scene, const HandlerEvent& event) {
  const Delivery* delivery = scene.deliveries.find(event.job, event.fence);
  return delivery != nullptr && scene.log.items[delivery->item].losses_in_row >= kLossesBeforeAlone;
}

// J5: a job that must run alone has its worker to itself. A process may have several: that of a pipeline looks after
// gates beside its own work.
void check_alone(const Scene& scene, const HandlerEvent& event, const Running& running) {
  for (const auto& [delivery, other] : running) {
    if (!runs_alone(scene, event) && !runs_alone(scene, *other)) continue;
    return scene.broken("J5", about(scene, event) + "was started beside a job that must run alone", {}, event.job,
                        event.at, {other, &event});
  }
}

}  // namespace

void check_handlers(const Scene& scene) {
  const CallLog& log = scene.log;
  // Handlers' events and words that a delivery has stopped, in the order of time.
  struct Moment {
    Time at;
    const HandlerEvent* handler;
    CallNumber stopped;
  };
  std::vector<Moment> moments;
  for (const HandlerEvent& event : log.handlers) moments.push_back({event.at, &event, kNoCall});
  for (CallNumber number = 0; number < log.calls.size(); ++number) {
    if (log.calls[number].verb == Verb::stopped) moments.push_back({log.calls[number].asked, nullptr, number});
  }
  // At one moment the lines of a recorder have their order.
  const auto line_of = [&](const Moment& moment) {
    return moment.handler != nullptr ? moment.handler->line : log.calls[moment.stopped].asked_line;
  };
  std::sort(moments.begin(), moments.end(),
            [&](const Moment& a, const Moment& b) { return a.at != b.at ? a.at < b.at : line_of(a) < line_of(b); });
  std::map<std::pair<Name, Name>, Running> running;  // by recorder and worker
  for (const Moment& moment : moments) {
    if (moment.handler == nullptr) {
      const Call& call = log.calls[moment.stopped];
      const Running& here = running[{call.by, call.owner}];
      for (std::uint32_t i = 0; i < call.item_count; ++i) {
        const Item& item = log.items[call.items + i];
        const auto found = here.find({item.job, item.fence});
        if (found == here.end()) continue;
        scene.broken("J7", "the slot of job " + log.job_text(item.job) + " was given free while its handler ran",
                     {moment.stopped}, item.job, moment.at, {found->second});
      }
      continue;
    }
    const HandlerEvent& event = *moment.handler;
    Running& here = running[{event.by, event.owner}];
    if (event.kind == Kind::acted) check_trust(scene, event);
    if (event.kind == Kind::started) {
      check_alone(scene, event, here);
      here.emplace(std::pair{event.job, event.fence}, &event);
    }
    if (event.kind == Kind::ended) here.erase({event.job, event.fence});
  }
}

}  // namespace fenceline::audit
