#include "cli/pipelines/tracker_place.hpp"

#include <cstdlib>

#include "backends/trackers/open_tracker.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/text.hpp"
#include "cli/pipelines/pipeline_file.hpp"

namespace fenceline::cli {
namespace {

constexpr std::size_t kKeyBytesLeast = 32;

// Without one nothing is signed, and no claim is renewed.
Result<std::string> signing_key() {
  constexpr const char* kKey = "FENCELINE_TRACKER_KEY";
  if (!from_environment(kKey) && !from_environment("FENCELINE_TRACKER_KEY_FILE")) return std::string();
  Result<std::string> key = secret_from({kKey}, this_environment);
  if (key && key->size() < kKeyBytesLeast)
    return fail(Code::invalid, "the key in FENCELINE_TRACKER_KEY has " + std::to_string(key->size()) +
                                   " bytes, and at least " + std::to_string(kKeyBytesLeast) +
                                   " are needed; make one with: fenceline tracker key --out FILE");
  return key;
}

// Handlers do not need the workers' secrets, and could write in their name with them.
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
  return {"--pipeline", "FILE", "on an issue tracker: the pipeline's file, with its stages and whom to trust"};
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
                       ? "; retry in " +
                             std::to_string(std::chrono::ceil<std::chrono::seconds>(*trouble.come_back).count()) + "s"
                       : "")};
    case TroubleKind::denied: return {Code::denied, trouble.message + "; check the token and its rights"};
    case TroubleKind::refused: return {Code::refused, trouble.message};
    case TroubleKind::not_found: return {Code::not_found, trouble.message};
    case TroubleKind::conflict: return {Code::conflict, trouble.message};
  }
  return {Code::broken, trouble.message};
}

Result<TrackerPlace> open_tracker_place(const Invocation& invocation, const std::string& pipeline) {
  const std::optional<std::string> path = invocation.value("--pipeline");
  if (!path) return std::unexpected(usage_error("an issue tracker needs the pipeline's file; pass --pipeline FILE"));
  const Result<DeclaredPipeline> file = read_pipeline_file(*path);
  if (!file) return std::unexpected(file.error());
  if (!pipeline.empty() && file->spec.name != pipeline)
    return fail(Code::invalid, printable(*path, 200) + " describes pipeline '" + file->spec.name + "', not '" +
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
  // A worker that does not know the others ignores their claims, and works against them.
  if (file->tracker.workers.empty())
    return fail(Code::invalid,
                printable(*path, 200) +
                    " lists no worker accounts; add the ids of the accounts that workers use, for example yours (" +
                    place.self.name + "): [tracker] workers = [\"" + place.self.id + "\"]");
  place.protocol.workers = file->tracker.workers;
  place.protocol.people = file->tracker.people;
  place.protocol.claim_label = file->tracker.claim_label;
  if (!file->tracker.claimed.empty()) place.protocol.claimed = file->tracker.claimed;
  place.protocol.in_progress = file->tracker.in_progress;
  place.protocol.can = place.tracker->capabilities();
  // What is wrong with the file is for its author to mend: bad input.
  if (auto ok = tracker::check_protocol(place.protocol); !ok)
    return fail(Code::invalid, printable(*path, 200) + ": " + ok.error().message);
  return place;
}

}  // namespace fenceline::cli
