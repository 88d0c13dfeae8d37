#include "cli/operate/doctor_view.hpp"

#include <algorithm>

#include "cli/frame/acts.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/table.hpp"
#include "cli/frame/text.hpp"
#include "doctor/text.hpp"
#include "session/open_store.hpp"

namespace fenceline::cli {
namespace {

std::string origin_of(const Invocation& invocation, std::string_view name) {
  const auto found = std::ranges::find(invocation.settings, name, &Setting::name);
  return found == invocation.settings.end() ? "" : found->origin;
}

std::string with_ns(const ToldFinding& told) {
  return (told.ns.empty() ? "" : "namespace " + told.ns + ": ") + told.finding.detail;
}

// The class, unless the store's own findings have it.
std::vector<std::vector<Cell>> class_rows(const Diagnosis& diagnosis) {
  const bool told =
      std::ranges::any_of(diagnosis.findings, [](const ToldFinding& one) { return one.finding.name == "class"; });
  if (told || !diagnosis.profile) return {};
  const std::string guarantee(1, letter(diagnosis.profile->guarantee));
  std::vector<std::string> reasons = diagnosis.profile->reasons;
  if (reasons.empty()) reasons.emplace_back();
  std::vector<std::vector<Cell>> rows;
  for (const std::string& reason : reasons) rows.push_back({"class", guarantee, reason, "", "", ""});
  return rows;
}

void print_rows(const Diagnosis& diagnosis) {
  Table table{{{"check"}, {"status"}, {"detail"}, {"remedy"}, {"since"}, {"why"}}, class_rows(diagnosis)};
  for (const ToldFinding& told : diagnosis.findings) {
    const Finding& finding = told.finding;
    table.rows.push_back({finding.name, std::string(status_name(finding.status)), with_ns(told), finding.remedy,
                          finding.since ? format_time(*finding.since) : "", finding.why});
  }
  print_table(table);
}

void print_json(const Diagnosis& diagnosis) {
  Json list = Json::array();
  for (const ToldFinding& told : diagnosis.findings) {
    const Finding& finding = told.finding;
    Json one{{"name", finding.name},     {"status", status_name(finding.status)},
             {"detail", finding.detail}, {"since", finding.since ? Json(format_time(*finding.since)) : Json(nullptr)},
             {"why", finding.why},       {"remedy", finding.remedy}};
    if (!told.ns.empty()) one["namespace"] = told.ns;
    list.push_back(std::move(one));
  }
  const std::optional<StoreProfile>& profile = diagnosis.profile;
  const Json out{{"store", diagnosis.store},
                 {"class", profile ? Json(std::string(1, letter(profile->guarantee))) : Json(nullptr)},
                 {"reasons", profile ? Json(profile->reasons) : Json::array()},
                 {"healthy", diagnosis.healthy()},
                 {"complete", !diagnosis.cut},
                 {"findings", list}};
  print_line(out.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::size_t number_of(const Diagnosis& diagnosis, FindingStatus status) {
  return static_cast<std::size_t>(std::ranges::count_if(
      diagnosis.findings, [&](const ToldFinding& told) { return told.finding.status == status; }));
}

// "bad  stale_jobs  since 12:03:11Z, 12s ago", what, why, and the command on a line of its own, whole, for who copies
// it.
std::string block(const ToldFinding& told, WallTime now, std::size_t width, bool colour, bool with_why) {
  constexpr std::size_t kIndent = 2;
  const Finding& finding = told.finding;
  const Column whole{.name = "", .whole = true};
  Table head{{whole, whole}, {{{std::string(status_name(finding.status)), status_tone(finding.status)}, finding.name}}};
  if (finding.since) {
    head.columns.push_back(whole);
    head.rows[0].emplace_back(
        "since " + doctor::moment(*finding.since, now) + ", " + doctor::rough(now - *finding.since) + " ago",
        Tone::faint);
  }
  std::string out = render_columns(head, static_cast<int>(width), colour, false);
  const std::string indent(kIndent, ' ');
  out += indent + folded(printable(with_ns(told)), kIndent, width);
  if (with_why && !finding.why.empty()) out += indent + folded("why: " + printable(finding.why), kIndent, width);
  if (!finding.remedy.empty()) out += indent + "fix: " + printable(finding.remedy) + "\n";
  return out;
}

// A line for the class and for each check that is ok.
std::string well_text(const Diagnosis& diagnosis, int width, bool colour) {
  Table well{{{.name = "", .whole = true}, {""}, {""}}, {}};
  for (const std::vector<Cell>& row : class_rows(diagnosis)) well.rows.push_back({row[0], row[1], row[2]});
  for (const ToldFinding& told : diagnosis.findings) {
    if (told.finding.status == FindingStatus::ok)
      well.rows.push_back({told.finding.name, {"ok", Tone::good}, with_ns(told)});
  }
  return well.rows.empty() ? "" : render_columns(well, width, colour, false);
}

}  // namespace

bool Diagnosis::healthy() const { return number_of(*this, FindingStatus::bad) == 0; }

std::string_view status_name(FindingStatus status) {
  switch (status) {
    case FindingStatus::ok: return "ok";
    case FindingStatus::warning: return "warning";
    case FindingStatus::bad: return "bad";
  }
  return "bad";
}

Tone status_tone(FindingStatus status) {
  switch (status) {
    case FindingStatus::ok: return Tone::good;
    case FindingStatus::warning: return Tone::warning;
    case FindingStatus::bad: return Tone::bad;
  }
  return Tone::bad;
}

std::string pasteable(const Invocation& invocation, std::string remedy, const std::string& ns) {
  constexpr std::string_view kProgram = "fenceline ";
  std::string options;
  // One that holds a secret is not shown, and could not be pasted.
  if (origin_of(invocation, "store") == "flag" && shown_store_url(invocation.store_url) == invocation.store_url)
    options += "--store " + doctor::shell_word(invocation.store_url) + " ";
  const bool names_ns = remedy.find("--namespace ") != std::string::npos;
  if (!names_ns && !ns.empty()) options += "--namespace " + ns + " ";
  else if (!names_ns && origin_of(invocation, "namespace") == "flag") options += "--namespace " + invocation.ns + " ";
  if (options.empty()) return remedy;
  for (std::size_t at = remedy.find(kProgram); at != std::string::npos;
       at = remedy.find(kProgram, at + kProgram.size())) {
    const bool begins = at == 0 || remedy.substr(0, at).ends_with("|| ") || remedy.substr(0, at).ends_with("&& ");
    if (begins) remedy.insert(at + kProgram.size(), options);
  }
  return remedy;
}

// The worst comes last, next to the prompt.
std::string diagnosis_text(const Diagnosis& diagnosis, WallTime now, int width, bool colour, bool all) {
  std::string out = all ? well_text(diagnosis, width, colour) : "";
  for (const FindingStatus status : {FindingStatus::warning, FindingStatus::bad}) {
    std::string last;
    for (const ToldFinding& told : diagnosis.findings) {
      if (told.finding.status != status) continue;
      out += (out.empty() ? "" : "\n") +
             block(told, now, static_cast<std::size_t>(width), colour, told.finding.name != last);
      last = told.finding.name;
    }
  }
  const std::size_t bad = number_of(diagnosis, FindingStatus::bad),
                    warnings = number_of(diagnosis, FindingStatus::warning);
  out += (out.empty() ? "" : "\n") + std::to_string(bad) + " bad, " +
         counted(static_cast<std::int64_t>(warnings), "warning") + ", " +
         std::to_string(number_of(diagnosis, FindingStatus::ok)) + " ok" +
         (diagnosis.profile ? "; class " + std::string(1, letter(diagnosis.profile->guarantee)) : "") +
         (all ? "" : "; --all lists each check") + "\n";
  if (diagnosis.cut)
    out += folded("Not everything was checked: a check stops at its limit.", 0, static_cast<std::size_t>(width));
  return out;
}

void print_diagnosis(const Invocation& invocation, const Diagnosis& diagnosis) {
  if (invocation.json) print_json(diagnosis);
  else if (stdout_is_terminal())
    print(diagnosis_text(diagnosis, invocation.runtime->wall_now(), terminal_width(), colour_allowed(),
                         invocation.has("--all")));
  else print_rows(diagnosis);
}

}  // namespace fenceline::cli
