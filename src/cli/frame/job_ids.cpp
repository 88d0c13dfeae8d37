#include "cli/frame/job_ids.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/uuid.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

constexpr std::size_t kShortLength = 8;
constexpr std::size_t kCandidatesListed = 5;
constexpr std::string_view kFirstId = "00000000-0000-0000-0000-000000000000";
constexpr std::string_view kLastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";
constexpr int kAsked = static_cast<int>(kCandidatesListed) + 1;  // one more tells that there are others

// Ids that begin with the text; nothing if none can.
std::optional<IdsRequest> ids_beginning(const std::string& text, const std::string& ns) {
  const std::size_t length = std::min(text.size(), kFirstId.size());
  const std::optional<JobId> first = parse_uuid(text + std::string(kFirstId.substr(length)));
  const std::optional<JobId> last = parse_uuid(text + std::string(kLastId.substr(length)));
  if (!first || !last) return std::nullopt;
  return IdsRequest{.ns = ns, .first = *first, .last = *last, .limit = kAsked};
}

// Ids that end with the text; nothing if none can.
std::optional<IdsRequest> ids_ending(const std::string& text, const std::string& ns) {
  const std::size_t before = kFirstId.size() - std::min(text.size(), kFirstId.size());
  if (!parse_uuid(std::string(kFirstId.substr(0, before)) + text)) return std::nullopt;
  std::string digits;
  for (const char c : text) {
    if (c != '-') digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return IdsRequest{
      .ns = ns, .first = *parse_uuid(kFirstId), .last = *parse_uuid(kLastId), .suffix = digits, .limit = kAsked};
}

Error several_match(const std::string& text, const std::set<JobId>& found) {
  std::vector<std::string> listed;
  for (const JobId& id : found) {
    if (listed.size() < kCandidatesListed) listed.push_back(to_string(id));
  }
  return {Code::conflict, "'" + text + "' matches more than one job: " + joined(listed, ", ") +
                              (found.size() > listed.size() ? " and others" : "") + "; type more of the id"};
}

}  // namespace

std::string short_id(const JobId& id) {
  const std::string whole = to_string(id);
  return whole.substr(whole.size() - kShortLength);
}

std::string with_short_ids(std::string_view text) {
  constexpr std::size_t kWhole = 36;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view word = text.substr(at, kWhole);
    const std::optional<JobId> id = word.size() == kWhole ? parse_uuid(word) : std::nullopt;
    out += id ? short_id(*id) : std::string(1, text[at]);
    at += id ? kWhole : 1;
  }
  return out;
}

Cell id_cell(const JobId& id) {
  Cell cell(to_string(id));
  cell.brief = short_id(id);
  return cell;
}

Result<JobId> find_id(const std::string& text, const std::string& ns, Store& store) {
  if (const std::optional<JobId> id = parse_uuid(text)) return *id;
  const std::optional<IdsRequest> ending = ids_ending(text, ns);
  const std::optional<IdsRequest> beginning = ids_beginning(text, ns);
  if (text.size() < kShortLength || (!ending && !beginning))
    return fail(Code::invalid, in_quotes(text) +
                                   " is not a job id; use one that enqueue or jobs printed, or its last 8 characters "
                                   "or more");
  std::set<JobId> found;
  for (const std::optional<IdsRequest>& request : {ending, beginning}) {
    if (!request) continue;
    const Result<std::vector<JobId>> ids = store.ids(*request);
    if (!ids) return std::unexpected(ids.error());
    found.insert(ids->begin(), ids->end());
  }
  if (found.size() > 1) return std::unexpected(several_match(text, found));
  if (!found.empty()) return *found.begin();
  return fail(Code::not_found,
              "no job in namespace " + ns + " has an id that ends with " + text +
                  " (the newest 100,000 were searched) or begins with it; 'fenceline jobs' lists jobs with their ids");
}

Error no_such_job(const JobId& id, const std::string& ns) {
  return {Code::not_found, "no job " + to_string(id) + " in namespace " + ns + "; 'fenceline jobs' lists them"};
}

}  // namespace fenceline::cli
