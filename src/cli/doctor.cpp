// fenceline doctor: is all well? A list of checks, each a small function; later work adds to kChecks.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/duration_text.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"
#include "cli/text.hpp"
#include "cli/workers.hpp"
#include "library/open_store.hpp"

namespace fenceline::cli {
namespace {

using Json = nlohmann::ordered_json;
using Findings = std::vector<Finding>;

constexpr Duration kSlowRead = std::chrono::milliseconds{500};
constexpr int kPagesLookedAt = 20;  // of 1000 running jobs: a doctor must come to an end

// An error says "what; what to do": the two are a finding and its remedy.
Finding failed(std::string name, const Error& error) {
  constexpr std::string_view kCommand = "run: ";
  const std::string text = error_text(error);
  const std::size_t cut = text.rfind("; ");
  std::string remedy = cut == std::string::npos ? "" : text.substr(cut + 2);
  if (remedy.starts_with(kCommand)) remedy.erase(0, kCommand.size());
  return {std::move(name), FindingStatus::bad, text.substr(0, cut), std::move(remedy)};
}

// Fences are minted from the wall clock: one far behind mints small ones, one far ahead uses them up.
Findings clock_is_sane(Invocation& invocation, Store&) {
  using namespace std::chrono;
  const WallTime now = invocation.runtime->wall_now();
  const bool sane = now > sys_days{year{2024} / 1 / 1} && now < sys_days{year{2200} / 1 / 1};
  return {{"clock", sane ? FindingStatus::ok : FindingStatus::bad, "wall clock says " + format_time(now),
           sane ? "" : "set the clock: timedatectl set-ntp true"}};
}

Findings read_is_quick(Invocation& invocation, Store& store) {
  const Instant asked = invocation.runtime->now();
  const Result<JobsReply> reply = store.jobs({.ns = invocation.ns, .limit = 1});
  if (!reply) return {failed("read", reply.error())};
  const Duration took = invocation.runtime->now() - asked;
  const bool quick = took < kSlowRead;
  return {{"read", quick ? FindingStatus::ok : FindingStatus::warning, "one read took " + format_duration(took),
           quick ? "" : "look at the disk: iostat -x 1"}};
}

Findings workers_are_seen(Invocation& invocation, Store& store) {
  const Result<std::vector<WorkerRow>> rows = store.workers(invocation.ns);
  if (!rows) return {failed("workers", rows.error())};
  Findings findings;
  for (const WorkerRow& row : *rows) {
    if (!is_gone(row)) continue;
    findings.push_back({"workers", FindingStatus::warning,
                        "worker " + row.report.owner + " on " + row.report.host + " (pid " + std::to_string(row.report.pid) +
                            ") was not seen for " + format_duration(std::chrono::ceil<std::chrono::seconds>(row.unseen)),
                        "fenceline workers list"});
  }
  if (findings.empty())
    findings.push_back({"workers", FindingStatus::ok, std::to_string(rows->size()) + " registered, all seen within their ttl", ""});
  return findings;
}

Findings leases_are_alive(Invocation& invocation, Store& store) {
  JobsRequest request{.ns = invocation.ns, .state = JobState::running, .limit = 1000};
  std::int64_t running = 0, expired = 0;
  std::string queue;
  for (int page = 0; page < kPagesLookedAt; ++page) {
    const Result<JobsReply> reply = store.jobs(request);
    if (!reply) return {failed("leases", reply.error())};
    for (const Job& job : reply->jobs) {
      ++running;
      if (!job.lease_left || *job.lease_left > Duration{0}) continue;
      ++expired;
      queue = job.queue;
    }
    if (!reply->next) break;
    request.after = *reply->next;
  }
  if (expired == 0) return {{"leases", FindingStatus::ok, std::to_string(running) + " running, all under a live lease", ""}};
  return {{"leases", FindingStatus::warning, std::to_string(expired) + (expired == 1 ? " job" : " jobs") + " whose lease ran out and nobody took over",
           "fenceline work " + queue + " -- CMD"}};
}

// Whether or not their jobs wait: of a job that was cancelled, or died otherwise, nobody would be told else.
Findings effects_are_known(Invocation& invocation, Store& store) {
  const Result<EffectsReply> doubts = store.effects({.ns = invocation.ns, .in_doubt = true, .limit = 1000});
  if (!doubts) return {failed("effects", doubts.error())};
  const std::size_t number = doubts->effects.size();
  if (number == 0) return {{"effects", FindingStatus::ok, "none is in doubt", ""}};
  const auto held = std::ranges::count_if(doubts->effects, &Effect::held);
  return {{"effects", FindingStatus::warning,
           (doubts->next ? "more than " : "") + std::to_string(number) + " in doubt, " + std::to_string(held) + " of them with a job that waits for an operator",
           "fenceline effects list --in-doubt"}};
}

Findings store_is_well(Invocation&, Store& store) {
  const Result<Findings> findings = store.examine();
  return findings ? *findings : Findings{failed("store", findings.error())};
}

using Check = Findings (*)(Invocation&, Store&);
constexpr std::array<Check, 6> kChecks{store_is_well, clock_is_sane, read_is_quick, workers_are_seen, leases_are_alive, effects_are_known};

std::string_view status_name(FindingStatus status) {
  switch (status) {
    case FindingStatus::ok: return "ok";
    case FindingStatus::warning: return "warning";
    case FindingStatus::bad: return "bad";
  }
  return "bad";
}

Tone tone_of(FindingStatus status) {
  switch (status) {
    case FindingStatus::ok: return Tone::good;
    case FindingStatus::warning: return Tone::warning;
    case FindingStatus::bad: return Tone::bad;
  }
  return Tone::bad;
}

void print_json(const std::optional<StoreProfile>& profile, const std::string& url, const Findings& findings, bool healthy) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back(
        {{"name", finding.name}, {"status", status_name(finding.status)}, {"detail", finding.detail}, {"remedy", finding.remedy}});
  }
  const Json guarantee = profile ? Json(std::string(1, letter(profile->guarantee))) : Json(nullptr);
  const Json out{{"store", url},
                 {"class", guarantee},
                 {"reasons", profile ? Json(profile->reasons) : Json::array()},
                 {"healthy", healthy},
                 {"findings", list}};
  print_line(out.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void print_text(const std::optional<StoreProfile>& profile, const Findings& findings) {
  // For people the remedy stands behind the finding: beside it both would be cut.
  const bool for_people = stdout_is_terminal();
  Table table{{{.name = "check", .whole = true}, {"status"}, {.name = "detail", .whole = true}, {.name = "remedy", .wide_only = true}}, {}};
  if (profile) {
    const std::string guarantee(1, letter(profile->guarantee));
    if (profile->reasons.empty()) table.rows.push_back({"class", guarantee, "", ""});
    for (const std::string& reason : profile->reasons) table.rows.push_back({"class", guarantee, reason, ""});
  }
  for (const Finding& finding : findings) {
    const std::string detail = for_people && !finding.remedy.empty() ? finding.detail + "; try: " + finding.remedy : finding.detail;
    table.rows.push_back({finding.name, {std::string(status_name(finding.status)), tone_of(finding.status)}, detail, finding.remedy});
  }
  print_table(table);
}

// What the store says of a thing stands; a check of ours about the same thing is left out.
void add(Findings& findings, Findings more) {
  const std::size_t before = findings.size();
  for (Finding& finding : more) {
    const auto known = findings.begin() + static_cast<std::ptrdiff_t>(before);
    if (std::ranges::find(findings.begin(), known, finding.name, &Finding::name) == known) findings.push_back(std::move(finding));
  }
}

bool is_bad(const Finding& finding) { return finding.status == FindingStatus::bad; }

Result<int> run(Invocation& invocation) {
  const auto store = invocation.open_store(false);
  std::optional<StoreProfile> profile;
  Findings findings;
  if (!store) {
    // Whoever stops it wants no verdict.
    if (exit_code(store.error()) == kExitUsage || invocation.stop.stop_requested()) return std::unexpected(store.error());
    findings.push_back(failed("open", store.error()));
  } else {
    profile = (*store)->profile();
    for (const Check& check : kChecks) add(findings, check(invocation, **store));
  }
  const bool healthy = std::ranges::none_of(findings, is_bad);
  if (invocation.json) print_json(profile, profile ? profile->url : shown_store_url(invocation.store_url), findings, healthy);
  else print_text(profile, findings);
  return healthy ? kExitOk : kExitFound;
}

}  // namespace

CommandSpec doctor_command() {
  return {.name = "doctor",
          .summary = "Checks the store, the clock, the workers and the leases; says what the store guarantees. Exit 1 if something is bad.",
          .examples = {{"fenceline doctor", "is all well?"}, {"fenceline doctor --require B", "and is the store as safe as we need?"}},
          .run = run};
}

}  // namespace fenceline::cli
