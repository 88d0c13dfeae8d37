#include "backends/trackers/redmine.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/trackers/lenient_json.hpp"
#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "fenceline/version.hpp"

namespace fenceline::tracker {
namespace {

using nlohmann::json;

constexpr int kRedminePage = 100;
constexpr std::int64_t kProbes = 32;
constexpr std::string_view kEmptied = "(withdrawn)";

struct Status {
  std::int64_t id = 0;
  std::string name;
  bool closed = false;
};

Account redmine_account(const json& user) {
  return {.id = std::to_string(number_at(user, "id")), .name = text_at(user, "name")};
}

class Redmine final : public Tracker {
 public:
  Redmine(const Clock& clock, RedmineOptions options)
      : clock_(clock),
        project_(std::move(options.project)),
        place_{.tracker = "redmine",
               .base = std::move(options.base),
               .headers = {{"X-Redmine-API-Key", std::move(options.key)}, {"Accept", "application/json"}},
               .client = http::Client(
                   {.user_agent = "fenceline/" + std::string(kVersion), .ca_file = std::move(options.ca_file)})} {}

  Capabilities capabilities() const override {
    // Redmine 5.0 does not say when a journal was edited.
    return {.labels = false, .ordered_ids = true, .edit_times = false, .edits = true, .moves = true, .swap = true};
  }
  std::string place() const override { return "redmine+" + lower_case(place_.base) + "/" + lower_case(project_); }

  Answer<Account> who_am_i() override {
    HttpVerb verb(place_, clock_, "account of the key");
    const auto response = verb.get("/users/current.json");
    if (!response) return std::unexpected(response.error());
    if (response->status != 200) return verb.fail(*response);
    const auto body = verb.json(*response);
    if (!body) return std::unexpected(body.error());
    const json user = member(*body, "user");
    if (number_at(user, "id") <= 0) return verb.fail(TroubleKind::unavailable, "its answer does not name a user");
    return verb.answer(Account{.id = std::to_string(number_at(user, "id")), .name = text_at(user, "login")});
  }

  Answer<std::vector<ItemState>> list(const ListRequest& request) override {
    HttpVerb verb(place_, clock_, request.stage.empty() ? std::string("issues") : "issues at " + request.stage);
    std::map<std::int64_t, ItemState> found;  // by id: pages may shift while they are read
    std::string which = request.closed ? "closed" : "open";
    if (!request.stage.empty()) {
      const auto status = status_named(verb, request.stage);
      if (!status) return std::unexpected(status.error());
      if ((*status)->closed != request.closed) return verb.answer(std::vector<ItemState>{});
      which = std::to_string((*status)->id);
    }
    if (request.changed_after) which += "&updated_on=" + http::escaped(">=" + utc_text(*request.changed_after));
    const std::string path = "/issues.json?project_id=" + http::escaped(project_) +
                             "&subproject_id=%21%2A&status_id=" + which +
                             "&sort=id&limit=" + std::to_string(kRedminePage) + "&offset=";
    for (int offset = 0; offset < kItemsMax; offset += kRedminePage) {
      const auto response = verb.get(path + std::to_string(offset));
      if (!response) return std::unexpected(response.error());
      if (response->status != 200) return verb.fail(*response);
      const auto body = verb.json(*response);
      if (!body) return std::unexpected(body.error());
      const json issues = member(*body, "issues");
      for (const json& issue : issues)
        if (issue.is_object()) found.insert_or_assign(number_at(issue, "id"), state_of(issue));
      if (!issues.is_array() || offset + kRedminePage >= number_at(*body, "total_count")) break;
    }
    std::vector<ItemState> items;
    for (auto& [id, item] : found) items.push_back(std::move(item));
    return verb.answer(std::move(items));
  }

  Answer<Item> read(const ReadRequest& request) override {
    HttpVerb verb(place_, clock_, "issue " + request.item);
    auto item = read_issue(verb, request.item);
    if (!item) return std::unexpected(item.error());
    return verb.answer(std::move(item->item));
  }

  Answer<LabelsAfter> add_labels(const ItemId&, const std::vector<std::string>&) override {
    return trouble(TroubleKind::refused, "redmine has no labels");
  }
  Answer<LabelsAfter> remove_label(const ItemId&, const std::string&) override {
    return trouble(TroubleKind::refused, "redmine has no labels");
  }

  Answer<Nothing> set_status(const ItemId& item, const std::string& status) override {
    HttpVerb verb(place_, clock_, "set status " + status + " of issue " + item);
    const auto wanted = status_named(verb, status);
    if (!wanted) return std::unexpected(wanted.error());
    return put_status(verb, item, **wanted);
  }

  Answer<Nothing> set_open(const ItemId& item, bool open) override {
    HttpVerb verb(place_, clock_, (open ? "reopen issue " : "close issue ") + item);
    const auto known = statuses(verb);
    if (!known) return std::unexpected(known.error());
    const auto read = read_issue(verb, item);
    if (!read) return std::unexpected(read.error());
    if (read->item.state->open == open) return verb.answer(Nothing{});
    const auto status = std::ranges::find(**known, !open, &Status::closed);
    if (status == (*known)->end())
      return verb.fail(TroubleKind::refused,
                       open ? "there is no open issue status" : "there is no issue status that counts as closed");
    return put_status(verb, item, *status);
  }

  Answer<Comment> post(const ItemId& item, const std::string& text) override {
    HttpVerb verb(place_, clock_, "comment on issue " + item);
    const auto response = verb.change("PUT", issue_path(item), json{{"issue", {{"notes", text}}}}.dump());
    if (!response) return std::unexpected(response.error());
    // Two updates at once: Redmine took the other one.
    if (is_stale(*response))
      return verb.fail(TroubleKind::unavailable, "somebody else updated the issue at the same time");
    if (response->status != 204 && response->status != 200) return verb.fail(*response);
    const auto read = read_issue(verb, item);
    if (!read) return verb.fail(TroubleKind::in_doubt, "it was accepted, but could not be read back");
    const std::vector<Comment>& comments = read->item.comments;
    const auto ours = std::ranges::find(comments.rbegin(), comments.rend(), text_of(text), &Comment::text);
    if (ours == comments.rend()) return verb.fail(TroubleKind::in_doubt, "it was accepted, but is not there");
    return verb.answer(*ours);
  }

  Answer<Comment> edit(const ItemId& item, const CommentId& comment, const std::string& text) override {
    HttpVerb verb(place_, clock_, "comment " + comment + " on issue " + item);
    if (const auto written = write_journal(verb, comment, text); !written) return std::unexpected(written.error());
    return verb.answer(Comment{.id = comment, .author = {}, .text = text_of(text)});
  }

  Answer<Nothing> erase(const ItemId& item, const CommentId& comment) override {
    HttpVerb verb(place_, clock_, "comment " + comment + " on issue " + item);
    if (const auto written = write_journal(verb, comment, std::string(kEmptied)); !written) {
      if (written.error().kind == TroubleKind::not_found) return verb.answer(Nothing{});
      return std::unexpected(written.error());
    }
    return verb.answer(Nothing{});
  }

  Answer<Swapped> swap(const SwapRequest& request) override {
    HttpVerb verb(place_, clock_, "update issue " + request.item + " at version " + request.version);
    if (request.version.empty() || request.version.size() > 15 ||
        request.version.find_first_not_of("0123456789") != std::string::npos)
      return verb.fail(TroubleKind::refused, "the version is not a number");
    json issue = json::object();
    if (!request.comment.empty()) issue["notes"] = request.comment;
    if (request.status || request.open) {
      const auto status = status_for(verb, request);
      if (!status) return std::unexpected(status.error());
      issue["status_id"] = *status;
    }
    const std::int64_t reckoned = std::stoll(request.version);
    Answer<Swapped> swapped = swap_under(verb, request.item, issue, reckoned);
    if (swapped || swapped.error().kind != TroubleKind::conflict) return swapped;
    const auto found = find_version(verb, request.item, reckoned);
    if (!found) return swapped;
    swapped = swap_under(verb, request.item, issue, found->version);
    // Our own update has left a journal.
    if (swapped) remember(request.item, found->version + 1 - (found->journals + 1 + 1));
    return swapped;
  }

 private:
  struct ReadIssue {
    Item item;
    std::int64_t journals = 0;
  };
  using Statuses = std::shared_ptr<const std::vector<Status>>;

  static std::string issue_path(const ItemId& item) { return "/issues/" + http::escaped(item) + ".json"; }
  // Redmine 5.0 says 422 without an error for an update that came too late; later ones say 409.
  static bool is_stale(const http::Response& response) {
    if (response.status == 409) return true;
    if (response.status != 422) return false;
    const json body = json::parse(response.body, nullptr, false);
    return !body.is_discarded() && body.is_object() && member(body, "errors").is_array() &&
           member(body, "errors").empty();
  }

  std::expected<Statuses, Trouble> statuses(HttpVerb& verb) {
    {
      const std::lock_guard lock(mutex_);
      if (statuses_) return statuses_;
    }
    return fresh_statuses(verb);
  }

  std::expected<Statuses, Trouble> fresh_statuses(HttpVerb& verb) {
    const auto response = verb.get("/issue_statuses.json");
    if (!response) return std::unexpected(response.error());
    if (response->status != 200) return verb.fail(*response);
    const auto body = verb.json(*response);
    if (!body) return std::unexpected(body.error());
    auto read = std::make_shared<std::vector<Status>>();
    for (const json& status : member(*body, "issue_statuses"))
      if (status.is_object())
        read->push_back(
            {.id = number_at(status, "id"), .name = text_at(status, "name"), .closed = flag_at(status, "is_closed")});
    const std::lock_guard lock(mutex_);
    statuses_ = read;
    return statuses_;
  }

  // One that is not there may have been made since: then all are read again.
  std::expected<std::shared_ptr<const Status>, Trouble> status_named(HttpVerb& verb, const std::string& name) {
    for (const bool again : {false, true}) {
      const auto known = again ? fresh_statuses(verb) : statuses(verb);
      if (!known) return std::unexpected(known.error());
      const auto found = std::ranges::find(**known, name, &Status::name);
      if (found != (*known)->end()) return std::shared_ptr<const Status>(*known, &*found);
    }
    return verb.fail(TroubleKind::refused,
                     "there is no issue status '" + name + "'; an administrator has to create it");
  }

  std::expected<std::int64_t, Trouble> status_for(HttpVerb& verb, const SwapRequest& request) {
    if (request.open == false) {
      const auto known = statuses(verb);
      if (!known) return std::unexpected(known.error());
      const auto closing = std::ranges::find(**known, true, &Status::closed);
      if (closing == (*known)->end())
        return verb.fail(TroubleKind::refused, "there is no issue status that counts as closed");
      return closing->id;
    }
    if (!request.status) return verb.fail(TroubleKind::refused, "a status is needed to reopen an issue");
    const auto named = status_named(verb, *request.status);
    if (!named) return std::unexpected(named.error());
    return (*named)->id;
  }

  // Redmine takes a status that the workflow has no way to without a word, so the answer is read back.
  Answer<Nothing> put_status(HttpVerb& verb, const ItemId& item, const Status& status) {
    const auto response = verb.change("PUT", issue_path(item), json{{"issue", {{"status_id", status.id}}}}.dump());
    if (!response) return std::unexpected(response.error());
    if (is_stale(*response))
      return verb.fail(TroubleKind::unavailable, "somebody else updated the issue at the same time");
    if (response->status != 204 && response->status != 200) return verb.fail(*response);
    const auto read = read_issue(verb, item);
    if (!read) return verb.fail(TroubleKind::in_doubt, "it was accepted, but could not be read back");
    if (read->item.state->status != status.name)
      return verb.fail(TroubleKind::refused,
                       "the workflow does not allow this account the status '" + status.name + "'");
    return verb.answer(Nothing{});
  }

  std::expected<void, Trouble> write_journal(HttpVerb& verb, const CommentId& comment, const std::string& text) {
    const auto response = verb.change("PUT", "/journals/" + http::escaped(comment) + ".json",
                                      json{{"journal", {{"notes", text}}}}.dump());
    if (!response) return std::unexpected(response.error());
    if (response->status != 204 && response->status != 200) return verb.fail(*response);
    return {};
  }

  ItemState state_of(const json& issue) const {
    const json status = member(issue, "status");
    const std::string id = std::to_string(number_at(issue, "id"));
    return {.id = id,
            .title = text_at(issue, "subject"),
            .body = text_of(text_at(issue, "description")),
            .url = place_.base + "/issues/" + id,
            .author = redmine_account(member(issue, "author")),
            .labels = {},
            .status = text_at(status, "name"),
            .open = !flag_at(status, "is_closed"),
            .version = {},
            .updated_at = time_of(text_at(issue, "updated_on"))};
  }

  std::expected<ReadIssue, Trouble> read_issue(HttpVerb& verb, const ItemId& item) {
    const auto known = statuses(verb);
    if (!known) return std::unexpected(known.error());
    const auto response = verb.get(issue_path(item) + "?include=journals");
    if (!response) return std::unexpected(response.error());
    if (response->status != 200) return verb.fail(*response);
    const auto body = verb.json(*response);
    if (!body) return std::unexpected(body.error());
    const json issue = member(*body, "issue");
    ReadIssue read{.item = {.state = state_of(issue), .comments = {}, .moves = std::vector<Move>{}}};
    for (const json& journal : member(issue, "journals")) {
      if (!journal.is_object()) continue;
      ++read.journals;
      take_journal(journal, **known, read.item);
    }
    if (read.item.comments.size() > static_cast<std::size_t>(kCommentsMax))
      return verb.fail(TroubleKind::refused, "the issue has more than " + std::to_string(kCommentsMax) + " comments");
    read.item.state->version = std::to_string(read.journals + 1 + beyond(item));
    return read;
  }

  static void take_journal(const json& journal, const std::vector<Status>& known, Item& item) {
    const Account by = redmine_account(member(journal, "user"));
    const WallTime at = time_of(text_at(journal, "created_on"));
    if (const std::string notes = text_at(journal, "notes"); !notes.empty() && notes != kEmptied)
      item.comments.push_back({.id = std::to_string(number_at(journal, "id")),
                               .author = by,
                               .text = text_of(notes),
                               .created_at = at,
                               .edited_at = std::nullopt});
    for (const json& detail : member(journal, "details")) {
      if (!detail.is_object() || text_at(detail, "name") != "status_id") continue;
      const std::string id = text_at(detail, "new_value");
      const auto status = std::ranges::find_if(known, [&](const Status& one) { return std::to_string(one.id) == id; });
      item.moves->push_back(
          {.kind = MoveKind::status_set, .what = status != known.end() ? status->name : "#" + id, .by = by, .at = at});
    }
  }

  // How many updates of this issue left no journal.
  std::int64_t beyond(const ItemId& item) {
    const std::lock_guard lock(mutex_);
    const auto at = beyond_.find(item);
    return at == beyond_.end() ? 0 : at->second;
  }

  struct Found {
    std::int64_t version = 0;
    std::int64_t journals = 0;
  };

  Answer<Swapped> swap_under(HttpVerb& verb, const ItemId& item, json issue, std::int64_t version) {
    issue["lock_version"] = version;
    const auto response = verb.change("PUT", issue_path(item), json{{"issue", issue}}.dump());
    if (!response) return std::unexpected(response.error());
    if (response->status == 204 || response->status == 200)
      return verb.answer(Swapped{.version = std::to_string(version + 1), .comment = std::nullopt});
    if (is_stale(*response)) return verb.fail(TroubleKind::conflict, "the issue has another version now");
    return verb.fail(*response);
  }

  // After a refused swap: if nothing changed since the version was reckoned, it was reckoned wrong. An update that
  // changes nothing is taken under the right number alone, and adds one to it; if no journal came meanwhile, that is
  // the version now. Never less than one more than there are journals. A vain search goes on where it ended.
  std::optional<Found> find_version(HttpVerb& verb, const ItemId& item, std::int64_t refused) {
    const auto before = read_issue(verb, item);
    if (!before || before->item.state->version != std::to_string(refused)) return std::nullopt;
    const std::int64_t least = before->journals + 1;
    const std::int64_t first = std::max(least, searched_to(item, least));
    for (std::int64_t version = first; version < first + kProbes; ++version) {
      if (version == refused) continue;
      const auto response = verb.change("PUT", issue_path(item), json{{"issue", {{"lock_version", version}}}}.dump());
      if (!response) return std::nullopt;
      if (response->status != 204 && response->status != 200) continue;
      remember(item, version + 1 - least);
      const auto after = read_issue(verb, item);
      if (!after || after->journals != before->journals) {
        remember(item, 0);
        return std::nullopt;
      }
      return Found{version + 1, after->journals};
    }
    const std::lock_guard lock(mutex_);
    searched_[item] = first + kProbes;
    beyond_.erase(item);
    return std::nullopt;
  }

  void remember(const ItemId& item, std::int64_t updates_without_journal) {
    const std::lock_guard lock(mutex_);
    searched_.erase(item);
    if (updates_without_journal > 0) beyond_[item] = updates_without_journal;
    else beyond_.erase(item);
  }
  std::int64_t searched_to(const ItemId& item, std::int64_t otherwise) {
    const std::lock_guard lock(mutex_);
    const auto at = searched_.find(item);
    return at == searched_.end() ? otherwise : at->second;
  }

  const Clock& clock_;
  const std::string project_;
  HttpPlace place_;
  std::mutex mutex_;
  Statuses statuses_;
  std::map<ItemId, std::int64_t> beyond_;
  std::map<ItemId, std::int64_t> searched_;
};

}  // namespace

std::unique_ptr<Tracker> open_redmine(const Clock& clock, RedmineOptions options) {
  return std::make_unique<Redmine>(clock, std::move(options));
}

}  // namespace fenceline::tracker
