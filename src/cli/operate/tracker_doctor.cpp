#include "cli/operate/tracker_doctor.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "backends/trackers/open_tracker.hpp"
#include "cli/frame/text.hpp"
#include "cli/operate/doctor_view.hpp"
#include "cli/pipelines/tracker_place.hpp"
#include "doctor/finding_list.hpp"
#include "doctor/text.hpp"
#include "tracker/ledger.hpp"

namespace fenceline::cli {
namespace {

using doctor::FindingList;
using tracker::Served;

constexpr std::int64_t kBudgetLow = 500;  // GitHub: of 5000 an hour
constexpr std::size_t kItemsRead = 50;    // a request each: a doctor must leave the workers something
constexpr std::size_t kFindingsMost = 5;

Finding token_failed(const tracker::Trouble& trouble) {
  const bool denied = trouble.kind == tracker::TroubleKind::denied;
  const bool limited = trouble.kind == tracker::TroubleKind::limited;
  const std::string text = error_text(error_of(trouble));
  if (limited)
    return {"tracker_budget",
            FindingStatus::bad,
            text,
            "fenceline tracker whoami",
            "nothing is claimed, renewed or recorded until it recovers",
            {}};
  return {denied ? "tracker_token" : "store_away",
          FindingStatus::bad,
          text,
          "fenceline tracker whoami",
          "nothing is claimed, renewed or recorded while it lasts",
          {}};
}

// Whose token it is, and whether the pipeline's file counts that account among its workers.
Finding token_finding(const tracker::Account& self, const TrackerPlace* place) {
  const std::string who = "account " + printable(self.name, 60) + " (" + printable(self.id, 40) + ")";
  if (!place) return {"tracker_token", FindingStatus::ok, who, "", "", {}};
  if (place->protocol.is_worker(self))
    return {"tracker_token", FindingStatus::ok, who + ", one of the pipeline's workers", "", "", {}};
  if (place->protocol.is_trusted(self))
    return {"tracker_token", FindingStatus::ok, who + ", one of the pipeline's people", "", "", {}};
  return {"tracker_token",
          FindingStatus::warning,
          who + " is neither a worker nor one of the people of the pipeline's file",
          "fenceline tracker whoami",
          "what it writes does not count: a worker with this token would work in vain",
          {}};
}

Finding budget_finding(const std::optional<tracker::Limit>& limit) {
  if (!limit) return {"tracker_budget", FindingStatus::ok, "unknown: the tracker does not report it", "", "", {}};
  const std::string detail = std::to_string(limit->left) + " requests left, reset in " + doctor::rough(limit->whole_in);
  if (limit->left >= kBudgetLow) return {"tracker_budget", FindingStatus::ok, detail, "", "", {}};
  return {"tracker_budget",           limit->left == 0 ? FindingStatus::bad : FindingStatus::warning,         detail,
          "fenceline tracker whoami", "when it is used up, nothing is claimed or renewed, and leases expire", {}};
}

// Items that workers leave to people: contested ones, and those that a person holds.
tracker::Answer<std::vector<Finding>> items_findings(TrackerPlace& place, const std::string& pipeline_file, bool& cut,
                                                     std::optional<tracker::Limit>& limit) {
  FindingList contested("contested",
                        "no worker touches it: someone without permission moved it twice, and a person must decide",
                        "fenceline board --pipeline " + doctor::shell_word(pipeline_file));
  FindingList held("items_on_hold", "it does not continue until a person acts",
                   "fenceline board --pipeline " + doctor::shell_word(pipeline_file));
  std::set<tracker::ItemId> ids;
  Served served;
  for (const std::string& label : labels_of(place.protocol)) {
    const tracker::Answer<std::vector<tracker::ItemState>> items = place.tracker->list({.stage = label});
    if (!items) return std::unexpected(items.error());
    served = items->served;
    for (const tracker::ItemState& item : items->value) ids.insert(item.id);
  }
  std::size_t read = 0;
  for (const tracker::ItemId& id : ids) {
    if (read++ == kItemsRead) {
      cut = true;
      break;
    }
    const tracker::Answer<tracker::Item> item = place.tracker->read({.item = id});
    if (!item && item.error().kind == tracker::TroubleKind::not_found)
      continue;  // it went, or moved, since it was listed
    if (!item) return std::unexpected(item.error());
    served = item->served;
    const tracker::Ledger ledger =
        tracker::read_ledger(place.protocol, id, item->value.comments, place.self, served.now);
    const std::string file = " --pipeline " + doctor::shell_word(pipeline_file);
    if (ledger.contested)
      contested.add(FindingStatus::warning, "item " + id + " is contested: " + ledger.contested_why,
                    "fenceline stage release " + id + file, *ledger.contested);
    else if (ledger.held)
      held.add(FindingStatus::warning, "item " + id + " is on hold", "fenceline stage release " + id + file);
  }
  if (served.limit) limit = served.limit;
  std::vector<Finding> findings =
      std::move(contested).told(kFindingsMost, "none of " + std::to_string(ids.size()) + " items");
  std::ranges::move(std::move(held).told(kFindingsMost, "none"), std::back_inserter(findings));
  return tracker::Answered<std::vector<Finding>>{std::move(findings), served};
}

}  // namespace

Result<int> doctor_of_tracker(Invocation& invocation) {
  Diagnosis diagnosis{.store = invocation.store_url, .profile = {}, .findings = {}};
  const auto add = [&](Finding finding) { diagnosis.findings.push_back({std::move(finding)}); };
  const std::optional<std::string> file = invocation.value("--pipeline");
  // Asked here and not by who opens the place: a token that is refused is a finding, not an error.
  const Result<std::unique_ptr<tracker::Tracker>> opened =
      open_tracker(*invocation.runtime, invocation.store_url, this_environment);
  if (!opened && opened.error().code != Code::denied) return std::unexpected(opened.error());
  if (!opened) {
    add({"tracker_token",
         FindingStatus::bad,
         error_text(opened.error()),
         "fenceline tracker whoami",
         "the tracker cannot be asked anything",
         {}});
  } else if (const tracker::Answer<tracker::Account> self = (*opened)->who_am_i(); !self) {
    add(token_failed(self.error()));
  } else {
    std::optional<tracker::Limit> limit = self->served.limit;
    Result<TrackerPlace> place = file ? open_tracker_place(invocation, "") : fail(Code::invalid, "");
    if (file && !place) return std::unexpected(place.error());
    add(token_finding(self->value, place ? &*place : nullptr));
    std::vector<Finding> items{
        {"contested", FindingStatus::ok, "not checked: name the pipeline's file with --pipeline", "", "", {}}};
    if (place) {
      tracker::Answer<std::vector<Finding>> found = items_findings(*place, *file, diagnosis.cut, limit);
      if (found) items = std::move(found->value);
      else items = {token_failed(found.error())};
    }
    add(budget_finding(limit));
    for (Finding& finding : items) add(std::move(finding));
  }
  for (ToldFinding& told : diagnosis.findings)
    told.finding.remedy = pasteable(invocation, std::move(told.finding.remedy), "");
  print_diagnosis(invocation, diagnosis);
  return diagnosis.healthy() ? kExitOk : kExitFound;
}

}  // namespace fenceline::cli
