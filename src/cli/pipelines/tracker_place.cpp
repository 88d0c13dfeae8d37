#include "cli/pipelines/tracker_place.hpp"

#include <cstdlib>

#include "backends/trackers/open_tracker.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/text.hpp"
#include "cli/pipelines/pipeline_file.hpp"

namespace fenceline::cli {
namespace {

// None at all is fine: then nothing is signed, and nothing renewed.
Result<std::string> signing_key() {
  constexpr const char* kKey = "FENCELINE_TRACKER_KEY";
  if (!from_environment(kKey) && !from_environment("FENCELINE_TRACKER_KEY_FILE")) return std::string();
  return secret_from({kKey}, this_environment);
}

// What a command of ours runs has no use for the workers' own secrets, and could write in their name with them.
void forget_secrets() {
  for (const char* name :
       {"FENCELINE_TRACKER_KEY", "FENCELINE_GITHUB_TOKEN", "FENCELINE_REDMINE_KEY", "FENCELINE_WEBHOOK_SECRET"}) {
    ::unsetenv(name);
    ::unsetenv((std::string(name) + "_FILE").c_str());
  }
}

}  // namespace

std::optional<std::string> this_environment(const std::string& name) { return from_environment(name.c_str()); }

OptionSpec pipeline_file_option() {
  return {"--pipeline", "FILE", "on an issue tracker: the pipeline's file, which says its stages and whom to trust"};
}

Error error_of(const tracker::Trouble& trouble) {
  using tracker::TroubleKind;
  switch (trouble.kind) {
    case TroubleKind::unavailable: return {Code::unavailable, trouble.message};
    case TroubleKind::in_doubt: return {Code::in_doubt, trouble.message};
    case TroubleKind::limited:
      return {Code::held,
              trouble.message +
                  (trouble.come_back
                       ? "; come back in " +
                             std::to_string(std::chrono::ceil<std::chrono::seconds>(*trouble.come_back).count()) + "s"
                       : "")};
    case TroubleKind::denied: return {Code::denied, trouble.message + "; look at the token and its rights"};
    case TroubleKind::refused: return {Code::refused, trouble.message};
    case TroubleKind::not_found: return {Code::not_found, trouble.message};
    case TroubleKind::conflict: return {Code::conflict, trouble.message};
  }
  return {Code::broken, trouble.message};
}

Result<TrackerPlace> open_tracker_place(const Invocation& invocation, const std::string& pipeline) {
  const std::optional<std::string> path = invocation.value("--pipeline");
  if (!path)
    return std::unexpected(usage_error("on an issue tracker a pipeline is a file; name it with --pipeline FILE"));
  const Result<DeclaredPipeline> file = read_pipeline_file(*path);
  if (!file) return std::unexpected(file.error());
  if (!pipeline.empty() && file->spec.name != pipeline)
    return fail(Code::invalid, printable(*path, 200) + " is about pipeline '" + file->spec.name + "', not '" +
                                   printable(pipeline, 40) + "'");
  Result<std::unique_ptr<tracker::Tracker>> opened =
      open_tracker(*invocation.runtime, invocation.store_url, this_environment);
  if (!opened) return std::unexpected(opened.error());
  Result<std::string> key = signing_key();
  if (!key) return std::unexpected(key.error());
  forget_secrets();
  TrackerPlace place{.tracker = std::move(*opened), .self = {}, .protocol = {.pipeline = file->spec}};
  const tracker::Answer<tracker::Account> self = place.tracker->who_am_i();
  if (!self) return std::unexpected(error_of(self.error()));
  place.self = self->value;
  place.protocol.signing = {.key = std::move(*key), .place = place.tracker->place()};
  // Whoever does not know the workers takes their markers for foreign ones, and works against them.
  if (file->tracker.workers.empty())
    return fail(Code::invalid,
                printable(*path, 200) +
                    " names no workers; write the ids of the accounts that they use into it: [tracker] workers = [\"" +
                    place.self.id + "\"] would be yours, " + place.self.name);
  place.protocol.workers = file->tracker.workers;
  place.protocol.people = file->tracker.people;
  place.protocol.claim_label = file->tracker.claim_label;
  place.protocol.can = place.tracker->capabilities();
  if (auto ok = tracker::check_protocol(place.protocol); !ok) return std::unexpected(ok.error());
  return place;
}

}  // namespace fenceline::cli
