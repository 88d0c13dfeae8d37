// What people ask: jobs one by one, ids, and the trail. Lists of jobs: listing.cpp.
#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/job_rows.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kEnter =
    "INSERT INTO trail (ns, at, actor, act, subject, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
constexpr const char* kTrail = R"sql(
  SELECT at, ns, actor, act, subject, reason FROM
    (SELECT * FROM trail WHERE ns IN ('', ?1) ORDER BY n DESC LIMIT ?2) ORDER BY n)sql";

}  // namespace

Result<std::optional<Job>> find_job(Call& call, const std::string& ns, const JobId& id) {
  const auto ns_id = call.names.find_namespace(ns);
  if (!ns_id) return std::nullopt;
  const auto seq = find_seq(call, *ns_id, id);
  if (!seq) return std::nullopt;
  return to_job(call, find_delivery(call, *seq), true);
}

Result<std::vector<JobId>> list_ids(Call& call, const IdsRequest& request) {
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return std::vector<JobId>{};
  const auto most = static_cast<std::size_t>(request.limit);
  if (request.suffix.empty()) return ids_between(call, *ns_id, request.first, request.last, most);
  std::vector<JobId> found = newest_ids_ending(call, *ns_id, request.suffix);
  std::erase_if(found, [&](const JobId& id) { return id < request.first || request.last < id; });
  if (found.size() > most) found.resize(most);
  return found;
}

Result<std::vector<TrailEntry>> trail(Call& call, const std::string& ns, int limit) {
  std::vector<TrailEntry> entries;
  auto rows = call.db.query(kTrail, ns, limit);
  while (rows.next())
    entries.push_back(
        {WallTime{Duration{rows.integer(0)}}, rows.text(1), rows.text(2), rows.text(3), rows.text(4), rows.text(5)});
  return entries;
}

Result<std::vector<std::string>> namespaces(Call& call) {
  std::vector<std::string> names;
  auto rows = call.db.query("SELECT name FROM namespace ORDER BY name LIMIT ?1", kNamespacesShown);
  while (rows.next()) names.push_back(rows.text(0));
  return names;
}

void enter_in_trail(Call& call, const std::string& ns, const Act& act, const std::string& what,
                    const std::string& subject) {
  call.db.execute(kEnter, ns, call.wall_us(), act.actor, what, subject, act.reason);
}

}  // namespace fenceline::sqlite
