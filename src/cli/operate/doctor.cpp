// fenceline doctor: is all well? What the store says of itself, what src/doctor finds in its state, and a few looks of
// our own.
#include <algorithm>

#include "backends/sqlite/file_check.hpp"
#include "backends/trackers/open_tracker.hpp"
#include "base/duration_text.hpp"
#include "cli/frame/doctor_config.hpp"
#include "cli/frame/text.hpp"
#include "cli/operate/commands.hpp"
#include "cli/operate/doctor_view.hpp"
#include "cli/operate/tracker_doctor.hpp"
#include "cli/operate/workers.hpp"
#include "cli/pipelines/tracker_place.hpp"
#include "session/open_store.hpp"

namespace fenceline::cli {
namespace {

using Findings = std::vector<Finding>;

constexpr Duration kSlowRead = std::chrono::milliseconds{500};
constexpr std::size_t kNamespacesLooked = 100;
constexpr Duration kFileBudget = std::chrono::seconds{3};

// An error says "what; what to do": the two are a finding and its remedy.
Finding failed(std::string name, const Error& error) {
  constexpr std::string_view kCommand = "run: ";
  const bool away = error.code == Code::unavailable || error.code == Code::in_doubt;
  const std::string text = error_text(error);
  const std::size_t cut = text.rfind("; ");
  std::string remedy = cut == std::string::npos ? "" : text.substr(cut + 2);
  if (remedy.starts_with(kCommand)) remedy.erase(0, kCommand.size());
  return {away ? "store_away" : std::move(name),
          FindingStatus::bad,
          text.substr(0, cut),
          std::move(remedy),
          "nothing can be claimed, renewed or recorded meanwhile: workers stop their jobs and wait",
          {}};
}

// Fences are minted from the wall clock: one far behind mints small ones, one far ahead uses them up.
Finding clock_finding(WallTime now) {
  using namespace std::chrono;
  const bool sane = now > sys_days{year{2024} / 1 / 1} && now < sys_days{year{2200} / 1 / 1};
  return {"clock",
          sane ? FindingStatus::ok : FindingStatus::bad,
          "wall clock says " + format_time(now),
          sane ? "" : "timedatectl set-ntp true",
          sane ? "" : "fences are derived from the clock",
          {}};
}

Result<Finding> read_finding(const Invocation& invocation, Store& store) {
  const Instant asked = invocation.runtime->now();
  const Result<std::optional<Job>> reply = store.job(invocation.ns, JobId{});
  if (!reply) return std::unexpected(reply.error());
  const Duration took = invocation.runtime->now() - asked;
  const bool quick = took < kSlowRead;
  return Finding{"read",
                 quick ? FindingStatus::ok : FindingStatus::warning,
                 "one read took " + format_duration(took),
                 quick ? "" : "iostat -x 1",
                 quick ? "" : "claims and renewals are just as slow",
                 {}};
}

StateOptions options_for(const std::string& ns) {
  return {.ns = ns, .other_namespaces = true, .lives = lives_here, .stopped = stopped_here};
}

// A finding of the store takes precedence over our own check of the same name.
void add(Diagnosis& diagnosis, Findings more) {
  const std::size_t before = diagnosis.findings.size();
  for (Finding& finding : more) {
    const auto known = diagnosis.findings.begin() + static_cast<std::ptrdiff_t>(before);
    const bool told = std::find_if(diagnosis.findings.begin(), known,
                                   [&](const ToldFinding& one) { return one.finding.name == finding.name; }) != known;
    if (!told) diagnosis.findings.push_back({std::move(finding)});
  }
}

// Of the namespaces that are well nothing is told, but that they are.
Result<void> look_everywhere(const Invocation& invocation, Store& store, Diagnosis& diagnosis) {
  Result<std::vector<std::string>> names = store.namespaces();
  if (!names) return std::unexpected(names.error());
  if (std::ranges::find(*names, invocation.ns) == names->end()) names->push_back(invocation.ns);
  if (names->size() > kNamespacesLooked) {
    names->resize(kNamespacesLooked);
    diagnosis.cut = true;
  }
  std::vector<ToldFinding> wrong;
  for (const std::string& ns : *names) {
    StateOptions options = options_for(ns);
    options.other_namespaces = false;
    options.budget /= static_cast<Duration::rep>(names->size());
    Result<Looked> looked = look_at_state(*invocation.runtime, store, options);
    if (!looked) return std::unexpected(looked.error());
    diagnosis.cut = diagnosis.cut || looked->cut;
    for (Finding& finding : looked->findings) {
      if (finding.status != FindingStatus::ok) wrong.push_back({std::move(finding), ns});
    }
  }
  for (const std::string_view check : kStateChecks) {
    const std::size_t before = diagnosis.findings.size();
    for (ToldFinding& told : wrong) {
      if (told.finding.name == check) diagnosis.findings.push_back(std::move(told));
    }
    if (diagnosis.findings.size() == before)
      diagnosis.findings.push_back(
          {{std::string(check),
            FindingStatus::ok,
            "in " + std::to_string(names->size()) + (names->size() == 1 ? " namespace" : " namespaces"),
            "",
            "",
            {}}});
  }
  return {};
}

Result<void> look(const Invocation& invocation, Store& store, Diagnosis& diagnosis) {
  Result<Findings> examined = store.examine();
  if (!examined) return std::unexpected(examined.error());
  add(diagnosis, std::move(*examined));
  add(diagnosis, {clock_finding(invocation.runtime->wall_now())});
  Result<Finding> read = read_finding(invocation, store);
  if (!read) return std::unexpected(read.error());
  add(diagnosis, {std::move(*read)});
  constexpr std::string_view kFile = "sqlite:";
  if (const std::string url = from_any_folder(invocation.store_url); url.starts_with(kFile))
    add(diagnosis, {sqlite::check_file(*invocation.runtime, url.substr(kFile.size()), kFileBudget)});
  if (invocation.has("--all-namespaces")) return look_everywhere(invocation, store, diagnosis);
  Result<Looked> looked = look_at_state(*invocation.runtime, store, options_for(invocation.ns));
  if (!looked) return std::unexpected(looked.error());
  diagnosis.cut = looked->cut;
  add(diagnosis, std::move(looked->findings));
  Result<Findings> config = config_findings(invocation, store);
  if (!config) return std::unexpected(config.error());
  add(diagnosis, std::move(*config));
  return {};
}

Result<int> run_doctor(Invocation& invocation) {
  if (is_tracker_url(invocation.store_url)) return doctor_of_tracker(invocation);
  Diagnosis diagnosis{.store = shown_store_url(invocation.store_url), .profile = {}, .findings = {}};
  bool missing = false;
  if (const auto store = invocation.open_store(false); !store) {
    // Interrupted: no verdict.
    if (exit_code(store.error()) == kExitUsage || invocation.stop.stop_requested())
      return std::unexpected(store.error());
    // There is nothing to examine yet: one line, as any command says it.
    if (store.error().code == Code::not_found && !invocation.json) return std::unexpected(store.error());
    missing = store.error().code == Code::not_found;
    diagnosis.findings.push_back({failed("open", store.error())});
  } else {
    diagnosis.profile = (*store)->profile();
    diagnosis.store = diagnosis.profile->url;
    if (const Result<void> looked = look(invocation, **store, diagnosis); !looked)
      diagnosis.findings.push_back({failed("read", looked.error())});
  }
  for (ToldFinding& told : diagnosis.findings)
    told.finding.remedy = pasteable(invocation, std::move(told.finding.remedy), told.ns);
  print_diagnosis(invocation, diagnosis);
  if (missing) return kExitNotFound;
  return diagnosis.healthy() ? kExitOk : kExitFound;
}

}  // namespace

CommandSpec doctor_command() {
  return {.name = "doctor",
          .summary = "Find problems and name the command that fixes each",
          .details =
              "Checks the store, its settings, its workers and the work in it. Says what the store guarantees, since "
              "when each problem exists and why it matters.",
          .options = {{"--all", "", "also list the checks that are ok; pipes and --json always have them"},
                      {"--all-namespaces", "", "check every namespace, at most the first 100"},
                      pipeline_file_option()},
          .sections = {{"Exit status",
                        {{"0", "nothing is bad; there may be warnings, which may pass by themselves or be intended"},
                         {"1", "something is bad and needs a person"},
                         {"66", "there is no store yet"}}}},
          .examples = {{"fenceline doctor", "is everything all right?"},
                       {"fenceline doctor --require B", "also check that the store is safe enough"},
                       {"fenceline doctor --json | jq '.findings[] | select(.status != \"ok\")'",
                        "problems only, for a script"}},
          .run = run_doctor};
}

}  // namespace fenceline::cli
