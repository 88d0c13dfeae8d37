// What makes a request about pipelines malformed, the same on every backend.
#include <set>

#include "base/duration_text.hpp"
#include "base/utf8.hpp"
#include "store/request_checks.hpp"
#include "store/store.hpp"

namespace fenceline {
namespace {

Result<void> check_text(std::string_view what, const std::string& text, std::size_t least, std::size_t most) {
  if (text.size() < least || text.size() > most)
    return fail(Code::invalid, std::string(what) + " must have " + std::to_string(least) + " to " +
                                   std::to_string(most) + " bytes; this has " + std::to_string(text.size()));
  if (!is_valid_utf8(text)) return fail(Code::invalid, std::string(what) + " must be valid UTF-8");
  return {};
}

Result<void> check_ids(const std::vector<JobId>& ids) {
  if (ids.empty() || ids.size() > static_cast<std::size_t>(kItemsAtOnceMax))
    return fail(Code::invalid, "1 to " + std::to_string(kItemsAtOnceMax) + " items in one call");
  std::set<JobId> seen;
  for (const JobId& id : ids)
    if (!seen.insert(id).second) return fail(Code::invalid, "job " + to_string(id) + " was named twice");
  return {};
}

Result<void> check_place(const Placement& place) {
  if (place.state == JobState::running) return fail(Code::invalid, "only a claim makes a job run");
  if (!place.stage.empty())
    if (auto ok = check_name("stage", place.stage); !ok) return ok;
  if (place.delay < Duration{0} || place.delay > kDelayRange.most)
    return fail(Code::invalid, "a delay must be 0 to 366d");
  if (place.result.size() > kResultBytesMax) return fail(Code::invalid, "a result has at most 1 MiB");
  return check_text("an error", place.error, 0, kErrorBytesMax);
}

Result<void> check_change(const ItemChange& change, const std::string& owner) {
  if (change.revision < 0) return fail(Code::invalid, "a revision is 0 or more");
  if (change.fence && owner.empty()) return fail(Code::invalid, "a holder's change needs its owner");
  if (change.fence && change.only)
    return fail(Code::invalid, "a holder's change names no expected state: its job is running");
  if (!change.fence && change.place && !change.place->result.empty())
    return fail(Code::invalid, "only a delivery has a result; a person's change has none");
  if (change.place)
    if (auto ok = check_place(*change.place); !ok) return ok;
  if (!change.about.empty())
    if (auto ok = check_key("the subject of an act", change.about); !ok) return ok;
  return first_error(check_text("a record", change.record, 1, kItemBytesMax), check_name("act", change.act),
                     check_act({.actor = "someone", .reason = change.reason}));
}

}  // namespace

Result<void> check_request(const PutPipelineRequest& request) {
  if (request.revision < 0) return fail(Code::invalid, "a revision is 0 or more");
  return first_error(check_name("namespace", request.ns), check_name("pipeline", request.name),
                     check_text("a pipeline", request.spec, 0, kPipelineBytesMax), check_act(request.act));
}

Result<void> check_request(const ItemsRequest& request) {
  return first_error(check_name("namespace", request.ns), check_ids(request.ids));
}

Result<void> check_request(const ChangeItemsRequest& request) {
  std::vector<JobId> ids;
  for (const ItemChange& change : request.changes) ids.push_back(change.id);
  if (!request.owner.empty())
    if (auto ok = check_id("owner", request.owner); !ok) return ok;
  if (auto ok = first_error(check_name("namespace", request.ns), check_id("request", request.request), check_ids(ids),
                            check_act(request.act));
      !ok)
    return ok;
  for (const ItemChange& change : request.changes)
    if (auto ok = check_change(change, request.owner); !ok) return ok;
  return {};
}

}  // namespace fenceline
