#include "backends/trackers/github.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/trackers/lenient_json.hpp"
#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "fenceline/version.hpp"

namespace fenceline::tracker {
namespace {

using nlohmann::json;

constexpr int kGithubPage = 100;
constexpr Duration kSecondaryPause = std::chrono::minutes{1};  // GitHub asks for at least that if it does not say more

Account github_account(const json& user) {
  return {.id = std::to_string(number_at(user, "id")), .name = text_at(user, "login")};
}

std::string message_of(const http::Response& response) {
  const json body = json::parse(response.body, nullptr, false);
  return body.is_object() ? text_at(body, "message") : std::string();
}

// Both limits come as 403 or 429: the primary one with nothing left, the secondary one with Retry-After or in words
// alone.
std::optional<Trouble> limit_of(const http::Response& response, const Served& served) {
  if (response.status != 403 && response.status != 429) return std::nullopt;
  const std::optional<std::string> after = response.header("retry-after");
  const bool used_up = response.header("x-ratelimit-remaining") == "0";
  const std::string message = message_of(response);
  const bool secondary =
      message.find("secondary rate limit") != std::string::npos || message.find("abuse detection") != std::string::npos;
  if (!after && !used_up && !secondary && response.status != 429) return std::nullopt;
  Trouble limited{.kind = TroubleKind::limited,
                  .message = used_up ? "the primary rate limit is used up" : "the secondary rate limit is reached",
                  .come_back = std::nullopt,
                  .served = served};
  if (after) {
    limited.come_back = std::chrono::seconds{std::strtoll(after->c_str(), nullptr, 10)};
  } else if (used_up && served.limit) {
    limited.come_back = served.limit->whole_in;
  } else {
    limited.come_back = kSecondaryPause;
  }
  return limited;
}

// `Link: <https://…?page=2>; rel="next", …`
bool has_next(const http::Response& response) {
  const std::optional<std::string> link = response.header("link");
  return link && link->find("rel=\"next\"") != std::string::npos;
}

std::vector<std::string> labels_of(const json& labels) {
  std::vector<std::string> names;
  for (const json& label : labels) {
    std::string name = label.is_string() ? label.get<std::string>() : text_at(label, "name");
    if (!name.empty()) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

ItemState state_of(const json& issue) {
  return {.id = std::to_string(number_at(issue, "number")),
          .title = text_at(issue, "title"),
          .body = text_of(text_at(issue, "body")),
          .url = text_at(issue, "html_url"),
          .author = github_account(member(issue, "user")),
          .labels = labels_of(member(issue, "labels")),
          .status = {},
          .open = text_at(issue, "state") == "open",
          .version = {},
          .updated_at = time_of(text_at(issue, "updated_at"))};
}

Comment comment_of(const json& comment) {
  Comment read{.id = std::to_string(number_at(comment, "id")),
               .author = github_account(member(comment, "user")),
               .text = text_of(text_at(comment, "body")),
               .created_at = time_of(text_at(comment, "created_at")),
               .edited_at = std::nullopt};
  if (const WallTime updated = time_of(text_at(comment, "updated_at")); updated > read.created_at)
    read.edited_at = updated;
  return read;
}

std::optional<Move> move_of(const json& event) {
  constexpr std::array<std::pair<std::string_view, MoveKind>, 4> kKinds{{{"labeled", MoveKind::label_added},
                                                                         {"unlabeled", MoveKind::label_removed},
                                                                         {"closed", MoveKind::closed},
                                                                         {"reopened", MoveKind::reopened}}};
  const std::string name = text_at(event, "event");
  const auto kind = std::ranges::find(kKinds, name, &std::pair<std::string_view, MoveKind>::first);
  if (kind == kKinds.end()) return std::nullopt;
  return Move{.kind = kind->second,
              .what = text_at(member(event, "label"), "name"),
              .by = github_account(member(event, "actor")),
              .at = time_of(text_at(event, "created_at"))};
}

class Github final : public Tracker {
 public:
  Github(const Clock& clock, GithubOptions options)
      : clock_(clock),
        repository_(std::move(options.repository)),
        place_{.tracker = "github",
               .base = std::move(options.base),
               .headers = {{"Authorization", "Bearer " + options.token},
                           {"Accept", "application/vnd.github+json"},
                           {"X-GitHub-Api-Version", "2022-11-28"}},
               .client = http::Client(
                   {.user_agent = "fenceline/" + std::string(kVersion), .ca_file = std::move(options.ca_file)})} {}

  Capabilities capabilities() const override {
    return {.labels = true, .ordered_ids = true, .edit_times = true, .edits = true, .moves = true, .swap = false};
  }
  std::string place() const override { return "github:" + lower_case(repository_); }

  Answer<Account> who_am_i() override {
    HttpVerb verb = asking("account of the token");
    const auto response = verb.get("/user");
    if (!response) return std::unexpected(response.error());
    if (response->status != 200) return verb.fail(*response);
    const auto body = verb.json(*response);
    if (!body) return std::unexpected(body.error());
    if (number_at(*body, "id") <= 0) return verb.fail(TroubleKind::unavailable, "its answer does not name a user");
    return verb.answer(github_account(*body));
  }

  Answer<std::vector<ItemState>> list(const ListRequest& request) override {
    HttpVerb verb = asking(request.stage.empty() ? std::string("issues") : "issues with " + request.stage);
    std::map<std::int64_t, ItemState> found;  // by number: pages may shift while they are read
    const std::string labels = request.stage.empty() ? "" : "labels=" + http::escaped(request.stage) + "&";
    const std::string since = request.changed_after ? "&since=" + http::escaped(utc_text(*request.changed_after)) : "";
    const std::string path = repository_path() + "/issues?" + labels + "state=" + (request.closed ? "closed" : "open") +
                             "&sort=created&direction=asc" + since;
    const auto all = every_page(verb, path, kItemsMax, [&](const json& issue) {
      if (!issue.contains("pull_request")) found.insert_or_assign(number_at(issue, "number"), state_of(issue));
    });
    if (!all) return std::unexpected(all.error());
    std::vector<ItemState> items;
    for (auto& [number, item] : found) items.push_back(std::move(item));
    return verb.answer(std::move(items));
  }

  Answer<Item> read(const ReadRequest& request) override {
    HttpVerb verb = asking("issue " + request.item);
    Item item;
    if (request.state) {
      const auto response = verb.get(issue_path(request.item));
      if (!response) return std::unexpected(response.error());
      if (response->status != 200) return verb.fail(*response);
      const auto body = verb.json(*response);
      if (!body) return std::unexpected(body.error());
      item.state = state_of(*body);
    }
    if (request.comments) {
      const auto all = every_page(verb, issue_path(request.item) + "/comments?", kCommentsMax + kGithubPage,
                                  [&](const json& comment) { item.comments.push_back(comment_of(comment)); });
      if (!all) return std::unexpected(all.error());
      if (item.comments.size() > static_cast<std::size_t>(kCommentsMax))
        return verb.fail(TroubleKind::refused, "the issue has more than " + std::to_string(kCommentsMax) + " comments");
    }
    if (request.moves) {
      item.moves.emplace();
      const auto all = every_page(verb, issue_path(request.item) + "/events?", kItemsMax, [&](const json& event) {
        if (std::optional<Move> move = move_of(event)) item.moves->push_back(std::move(*move));
      });
      if (!all) return std::unexpected(all.error());
    }
    return verb.answer(std::move(item));
  }

  Answer<LabelsAfter> add_labels(const ItemId& item, const std::vector<std::string>& labels) override {
    HttpVerb verb = asking("add labels to issue " + item);
    return labels_after(verb, verb.change("POST", issue_path(item) + "/labels", json{{"labels", labels}}.dump()));
  }

  Answer<LabelsAfter> remove_label(const ItemId& item, const std::string& label) override {
    HttpVerb verb = asking("remove label " + label + " from issue " + item);
    auto response = verb.change("DELETE", issue_path(item) + "/labels/" + http::escaped(label), "");
    // Not on it, or no such issue.
    if (response && response->status == 404) {
      const auto there = verb.get(issue_path(item));
      if (!there) return std::unexpected(there.error());
      if (there->status == 200) return verb.answer(LabelsAfter{});
    }
    return labels_after(verb, std::move(response));
  }

  Answer<Nothing> set_status(const ItemId&, const std::string&) override {
    return trouble(TroubleKind::refused, "github has labels, not statuses");
  }

  Answer<Nothing> set_open(const ItemId& item, bool open) override {
    HttpVerb verb = asking((open ? "reopen issue " : "close issue ") + item);
    const json body = open ? json{{"state", "open"}} : json{{"state", "closed"}, {"state_reason", "completed"}};
    const auto response = verb.change("PATCH", issue_path(item), body.dump());
    if (!response) return std::unexpected(response.error());
    if (response->status != 200) return verb.fail(*response);
    return verb.answer(Nothing{});
  }

  Answer<Comment> post(const ItemId& item, const std::string& text) override {
    HttpVerb verb = asking("comment on issue " + item);
    return comment_from(verb, verb.change("POST", issue_path(item) + "/comments", json{{"body", text}}.dump()), 201);
  }

  Answer<Comment> edit(const ItemId& item, const CommentId& comment, const std::string& text) override {
    HttpVerb verb = asking("comment " + comment + " on issue " + item);
    return comment_from(verb, verb.change("PATCH", comment_path(comment), json{{"body", text}}.dump()), 200);
  }

  Answer<Nothing> erase(const ItemId& item, const CommentId& comment) override {
    HttpVerb verb = asking("comment " + comment + " on issue " + item);
    const auto response = verb.change("DELETE", comment_path(comment), "");
    if (!response) return std::unexpected(response.error());
    if (response->status != 204 && response->status != 404) return verb.fail(*response);
    return verb.answer(Nothing{});
  }

  Answer<Swapped> swap(const SwapRequest&) override {
    return trouble(TroubleKind::refused, "github has no compare-and-swap");
  }

 private:
  HttpVerb asking(std::string what) { return HttpVerb(place_, clock_, std::move(what), limit_of); }
  std::string repository_path() const { return "/repos/" + repository_; }
  std::string issue_path(const ItemId& item) const { return repository_path() + "/issues/" + http::escaped(item); }
  std::string comment_path(const CommentId& comment) const {
    return repository_path() + "/issues/comments/" + http::escaped(comment);
  }

  // `path` has a query, if only its question mark.
  std::expected<void, Trouble> every_page(HttpVerb& verb, const std::string& path, int most,
                                          const std::function<void(const json&)>& take) {
    for (int page = 1; (page - 1) * kGithubPage < most; ++page) {
      const auto response = verb.get(path + (path.ends_with('?') ? "" : "&") +
                                     "per_page=" + std::to_string(kGithubPage) + "&page=" + std::to_string(page));
      if (!response) return std::unexpected(response.error());
      if (response->status != 200) return verb.fail(*response);
      const auto body = verb.json(*response);
      if (!body) return std::unexpected(body.error());
      if (!body->is_array()) return verb.fail(TroubleKind::unavailable, "its answer is not a list");
      for (const json& one : *body)
        if (one.is_object()) take(one);
      if (!has_next(*response)) break;
    }
    return {};
  }

  Answer<LabelsAfter> labels_after(const HttpVerb& verb, std::expected<http::Response, Trouble> response) const {
    if (!response) return std::unexpected(response.error());
    if (response->status != 200) return verb.fail(*response);
    const auto body = verb.json(*response);
    if (!body || !body->is_array()) return verb.answer(LabelsAfter{});
    return verb.answer(LabelsAfter{.labels = labels_of(*body)});
  }

  Answer<Comment> comment_from(const HttpVerb& verb, std::expected<http::Response, Trouble> response,
                               int expected) const {
    if (!response) return std::unexpected(response.error());
    if (response->status != expected) return verb.fail(*response);
    const auto body = verb.json(*response);
    if (!body) return std::unexpected(body.error());
    return verb.answer(comment_of(*body));
  }

  const Clock& clock_;
  const std::string repository_;
  HttpPlace place_;
};

}  // namespace

std::unique_ptr<Tracker> open_github(const Clock& clock, GithubOptions options) {
  return std::make_unique<Github>(clock, std::move(options));
}

}  // namespace fenceline::tracker
