// fenceline work on an issue tracker.
#include <algorithm>
#include <atomic>

#include "base/duration_text.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/measured.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/service.hpp"
#include "cli/frame/text.hpp"
#include "cli/frame/work_options.hpp"
#include "cli/pipelines/commands.hpp"
#include "cli/pipelines/sent_back.hpp"
#include "cli/pipelines/tracker_place.hpp"
#include "cli/pipelines/tracker_webhook.hpp"
#include "model/trust.hpp"
#include "runtime/process_tree.hpp"
#include "services/command_handler.hpp"
#include "tracker/tracker_worker.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kTermToKill = std::chrono::seconds{30};  // a ttl of ten minutes would make it 100 s

std::string counts_as_json(const tracker::TrackerWorkerCounts& counts) {
  return Json{{"claims", counts.claims},
              {"lost_races", counts.lost_races},
              {"claim_requests_most", counts.claim_requests_most},
              {"renewals", counts.renewals},
              {"renewal_requests_most", counts.renewal_requests_most},
              {"advances", counts.advances},
              {"void", counts.voided},
              {"lost", counts.lost},
              {"stopped_by_people", counts.stopped_by_people},
              {"repairs", counts.repairs},
              {"contested", counts.contested},
              {"sent_back", counts.sent_back},
              {"hints", counts.hints},
              {"hint_looks", counts.hint_looks},
              {"writes", counts.writes},
              {"limits", counts.limits},
              {"scans", counts.scans},
              {"idle_scan_requests", counts.scan_requests},
              {"idle_scan_charged", counts.scan_charged}}
      .dump();
}

std::string counts_as_words(const tracker::TrackerWorkerCounts& counts) {
  std::string text =
      "fenceline: " + std::to_string(counts.claims) + " claimed, " + std::to_string(counts.advances) + " advanced";
  const auto add = [&](std::int64_t number, std::string_view what) {
    if (number > 0) text += ", " + std::to_string(number) + " " + std::string(what);
  };
  add(counts.lost_races, "claimed by others first");
  add(counts.lost, "claims lost");
  add(counts.stopped_by_people, "stopped by people");
  add(counts.voided, "outcomes that did not count");
  add(counts.repairs, "repaired");
  add(counts.contested, "contested");
  add(counts.sent_back, "sent back");
  add(counts.limits, "times rate-limited");
  return text + "; " + std::to_string(counts.writes) + " writes";
}

Result<tracker::TrackerWorkerOptions> options_from(const Invocation& invocation, TrackerPlace& place) {
  tracker::TrackerWorkerOptions options{.protocol = place.protocol, .work = {}};
  const Result<std::int64_t> concurrency = invocation.number("--concurrency", 1, 1, 100);
  if (!concurrency) return std::unexpected(concurrency.error());
  options.concurrency = static_cast<int>(*concurrency);
  const Result<Duration> poll =
      invocation.duration("--poll", options.poll, std::chrono::seconds{1}, std::chrono::hours{1});
  if (!poll) return std::unexpected(poll.error());
  options.poll = *poll;
  options.fitness.idempotent = invocation.has("--idempotent");
  if (invocation.has("--expect")) {
    const Result<Duration> expected =
        invocation.duration("--expect", Duration{0}, std::chrono::seconds{1}, std::chrono::days{30});
    if (!expected) return std::unexpected(expected.error());
    options.fitness.work = *expected;
  }
  options.until_idle = invocation.has("--drain");
  const Result<Duration> grace =
      invocation.duration("--drain-timeout", options.drain_grace, kWaitRange.least, kWaitRange.most);
  if (!grace) return std::unexpected(grace.error());
  options.drain_grace = *grace;
  options.name = invocation.value("--name").value_or("");
  if (invocation.has("--name") && !tracker::is_worker_name(options.name))
    return std::unexpected(usage_error("--name must be 1 to " + std::to_string(tracker::kWorkerNameBytesMax) +
                                       " letters, digits, '.', '_' or '-': everybody can read it on the issue"));
  return options;
}

// Where a command at this stage may send its item back to.
std::vector<std::string> stages_before(const PipelineSpec& spec, std::size_t stage) {
  std::vector<std::string> names = spec.names();
  names.resize(stage);
  return names;
}

// The pipeline's file has the times of a claim.
Result<void> only_what_a_tracker_has(const Invocation& invocation) {
  for (const char* option : {"--ttl", "--history", "--strict", "--no-schedules"})
    if (invocation.has(option))
      return std::unexpected(usage_error(std::string(option) + " is for job stores; " +
                                         (std::string(option) == "--ttl"
                                              ? "on an issue tracker set ttl of the stage in the pipeline's file"
                                              : "leave it out on an issue tracker")));
  return {};
}

}  // namespace

Result<int> work_on_tracker(Invocation& invocation) {
  if (auto ok = only_what_a_tracker_has(invocation); !ok) return std::unexpected(ok.error());
  const std::vector<std::string>& queues = invocation.arguments["QUEUE"];
  if (queues.size() != 1)
    return std::unexpected(usage_error("a worker on an issue tracker serves one pipeline; name exactly one"));
  Service service(*invocation.runtime, Log(*invocation.log_sink), invocation.stop, tracker::kVerbTimeout);
  Result<MetricsPort> metrics_port = MetricsPort::open(invocation);
  if (!metrics_port) return std::unexpected(metrics_port.error());
  Result<WebhookPort> webhook = WebhookPort::open(invocation);
  if (!webhook) return std::unexpected(webhook.error());
  Result<TrackerPlace> place = open_tracker_place(invocation, queues.front());
  if (!place) return std::unexpected(place.error());
  Result<tracker::TrackerWorkerOptions> options = options_from(invocation, *place);
  if (!options) return std::unexpected(options.error());
  const Result<EndPolicy> ends = ends_from(invocation);
  if (!ends) return std::unexpected(ends.error());
  const std::string stage = invocation.value("--stage").value_or(place->protocol.pipeline.first().name);
  const std::optional<std::size_t> found = place->protocol.pipeline.find(stage);
  if (!found)
    return fail(Code::invalid, "pipeline '" + place->protocol.pipeline.name + "' has no stage '" +
                                   printable(stage, 60) + "'; its stages are " +
                                   joined(place->protocol.pipeline.names()));
  CommandOptions command{.command = invocation.command,
                         .store_url = invocation.store_url,
                         .ns = invocation.ns,
                         .ends = *ends,
                         .clean_env = invocation.has("--clean-env"),
                         .grace = std::min(LeaseTimes::of(place->protocol.ttl_of(stage)).grace, kTermToKill),
                         .owns_children = become_subreaper()};
  const Result<std::unique_ptr<SentBackFolder>> sent_back =
      SentBackFolder::make(stages_before(place->protocol.pipeline, *found));
  if (!sent_back) return std::unexpected(sent_back.error());
  CommandHandler handler(*invocation.runtime, command);
  // The worker outlives those who ask what it counted.
  std::optional<tracker::TrackerWorker> worker;
  std::atomic<bool> counts = false;
  Measured measured(invocation, *metrics_port, *invocation.log_sink, *place->tracker,
                    [&] { return counts ? worker->counts() : tracker::TrackerWorkerCounts{}; });
  ServiceHandler service_handler(measured.handler(handler));
  options->work.push_back({.place = stage, .handler = &service_handler, .sent_back = [&](const Job& job) {
                             return (*sent_back)->take(job);
                           }});
  const StageEntry& entry = place->protocol.pipeline.stages[*found].entry;
  std::optional<CommandHandler> check;
  std::optional<ServiceHandler> service_check;
  if (entry.kind == EntryKind::check && invocation.has("--run-checks")) {
    command.command = entry.command;
    command.ends = EndPolicy{};
    check.emplace(*invocation.runtime, command);
    service_check.emplace(*check);
    options->work.push_back({.place = std::string(tracker::kEntryPrefix) + stage, .handler = &*service_check});
  }
  worker.emplace(service.runtime(), measured.log(), measured.tracker(), *options);
  counts = true;
  const Result<Task> listens =
      webhook->listen(invocation, place->protocol.workers, [&](const tracker::ItemId& item) { worker->hint(item); });
  if (!listens) return std::unexpected(listens.error());
  service.ready();  // the tracker has said who we are
  const Task attending = service.attend([&] {
    return std::to_string(worker->counts().claims) + " claimed, " + std::to_string(worker->counts().advances) +
           " advanced";
  });
  const Result<void> worked = worker->run(invocation.stop);
  if (invocation.json) print_line(counts_as_json(worker->counts()));
  tell(counts_as_words(worker->counts()));
  // A precondition that does not hold is the caller's to fix, not the tracker's.
  if (!worked)
    return fail(worked.error().code == Code::refused ? Code::invalid : worked.error().code, worked.error().message);
  return kExitOk;
}

Result<int> run_tracker_sweep(Invocation& invocation) {
  Result<TrackerPlace> place = open_tracker_place(invocation, "");
  if (!place) return std::unexpected(place.error());
  tracker::TrackerWorkerOptions options{.protocol = place->protocol, .work = {}};
  options.fitness.idempotent = true;  // it does no work
  tracker::TrackerWorker worker(*invocation.runtime, Log(*invocation.log_sink), *place->tracker, options);
  const Result<void> swept = worker.sweep(invocation.stop);
  if (!swept) return std::unexpected(swept.error());
  const tracker::TrackerWorkerCounts counts = worker.counts();
  if (invocation.json) {
    print_line(Json{{"repairs", counts.repairs}, {"contested", counts.contested}, {"writes", counts.writes}}.dump());
  } else {
    print_line(std::to_string(counts.repairs) + " repaired, " + std::to_string(counts.contested) + " contested, " +
               std::to_string(counts.writes) + " writes");
  }
  return kExitOk;
}

CommandSpec tracker_sweep_command() {
  return {.name = "tracker sweep",
          .summary = "Repair what dead workers left on an issue tracker",
          .details =
              "Expired claims, wrong labels, and items that moved on without their labels. An idle worker does this "
              "once per ttl.",
          .options = {pipeline_file_option()},
          .examples = {{"fenceline tracker sweep --store github:acme/docs --pipeline docs.toml", "once, then it ends"}},
          .run = run_tracker_sweep};
}

}  // namespace fenceline::cli
