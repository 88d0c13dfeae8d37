#include "cli/jobs/act_report.hpp"

#include <algorithm>

#include "cli/frame/acts.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"

namespace fenceline::cli {
namespace {

Json refusal_as_json(const std::vector<ActRefusal>& refusals) {
  Json out = Json::array();
  for (const ActRefusal& refusal : refusals) {
    out.push_back({{"id", to_string(refusal.id)},
                   {"reason", to_string(refusal.reason)},
                   {"holder", refusal.holder ? Json(to_string(*refusal.holder)) : Json(nullptr)}});
  }
  return out;
}

}  // namespace

Error refusal_error(const ActRefusal& refusal, const std::string& ns) {
  const std::string id = to_string(refusal.id);
  if (refusal.reason == Reason::not_found) return no_such_job(refusal.id, ns);
  if (refusal.reason == Reason::key_taken) {
    const std::string holder = refusal.holder ? to_string(*refusal.holder) : "another job";
    return {Code::conflict, "job " + id + " cannot be retried: job " + holder +
                                " has its unique key; wait until that job finishes, or cancel it"};
  }
  if (refusal.reason == Reason::effect_in_doubt)
    return {Code::conflict, "job " + id +
                                " cannot be retried: one of its effects is in doubt; 'fenceline job explain " + id +
                                "' names the effect and how to resolve it"};
  if (refusal.reason == Reason::finished)
    return {Code::conflict, "job " + id + " has already finished; see 'fenceline job show " + id + "'"};
  return {Code::conflict, "job " + id + " cannot be changed: " + std::string(meaning_of(refusal.reason)) +
                              "; see 'fenceline job explain " + id + "'"};
}

Result<int> report_act(const Invocation& invocation, const std::vector<JobId>& ids, const ActReply& reply,
                       std::string_view done) {
  const auto refused = [&](const JobId& id) {
    return std::ranges::find(reply.refused, id, &ActRefusal::id) != reply.refused.end();
  };
  Json changed = Json::array();
  for (const JobId& id : ids) {
    if (refused(id)) continue;
    if (invocation.json) changed.push_back(to_string(id));
    else print_line(to_string(id));
  }
  if (invocation.json) print_line(Json{{"ids", changed}, {"refused", refusal_as_json(reply.refused)}}.dump());
  flush_output();
  if (reply.refused.empty()) return kExitOk;
  if (ids.size() > 1)
    tell("fenceline: " + counted(static_cast<std::int64_t>(ids.size() - reply.refused.size()), "job") + " " +
         std::string(done));
  for (const ActRefusal& refusal : reply.refused)
    tell("fenceline: " + error_text(refusal_error(refusal, invocation.ns)));
  return exit_code(refusal_error(reply.refused.front(), invocation.ns));
}

std::string refusals_json(const std::vector<ActRefusal>& refusals) { return refusal_as_json(refusals).dump(); }

}  // namespace fenceline::cli
