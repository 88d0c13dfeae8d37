// The tracker of the simulation behind GitHub's REST API, for the driver, for `gh` and for whole programs: faults on
// demand, by name. Prints its address, serves until it gets a signal.
//
//   github_server FOLDER OWNER/NAME [FAULT=VALUE]...
//
// FOLDER holds token.USER for each user it knows. Faults are those of TrackerFaults: stale_list=0.3 lag_most=5s; and
// seed=N, requests_an_hour=N (5000, of all accounts). POST /_faults with such words changes them while it runs.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "base/duration_text.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "runtime/thread_runtime.hpp"
#include "sim/runtime/random.hpp"
#include "sim/tracker/tracker_model.hpp"
#include "support/scripted_http.hpp"

namespace fenceline::tracker::test {
namespace {

using fenceline::test::HttpAsked;
using fenceline::test::ScriptedHttp;
using nlohmann::json;

struct Reply {
  int status = 200;
  json body;
  std::string headers;
};

Reply said(int status, const std::string& message) {
  return {status, json{{"message", message}, {"documentation_url", "https://docs.github.com/rest"}}, ""};
}

// What the model says no with, as GitHub would.
Reply said(const Trouble& trouble) {
  switch (trouble.kind) {
    case TroubleKind::limited: {
      Reply reply = said(403, "You have exceeded a secondary rate limit.");
      if (trouble.come_back)
        reply.headers =
            "Retry-After: " + std::to_string(std::chrono::ceil<std::chrono::seconds>(*trouble.come_back).count()) +
            "\r\n";
      return reply;
    }
    case TroubleKind::denied: return said(401, "Bad credentials");
    case TroubleKind::not_found: return said(404, "Not Found");
    case TroubleKind::unavailable: {
      Reply reply = said(503, "Service unavailable");
      reply.headers = "Retry-After: 1\r\n";
      return reply;
    }
    case TroubleKind::in_doubt: return said(502, "Server Error");
    default: return said(422, "Validation Failed");
  }
}

class GithubServer {
 public:
  GithubServer(std::string folder, std::string repository, const std::vector<std::string>& faults)
      : repository_(std::move(repository)),
        requests_an_hour_(number_of("requests_an_hour", faults, 5000)),
        random_(static_cast<std::uint64_t>(number_of("seed", faults, 1))),
        model_(clock_, random_, faults_from({}, faults)) {
    std::int64_t id = 100;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("token.")) continue;
      std::string token;
      std::ifstream(entry.path()) >> token;
      names_[name.substr(6)] = token;
    }
    for (const auto& [name, token] : names_) {
      const Account account{.id = std::to_string(++id), .name = name};
      users_[token] = {account, model_.door(account, name)};
      writers_.emplace(account.id, account);
    }
  }

  std::string answer(const HttpAsked& asked) {
    const std::lock_guard lock(mutex_);
    const Reply reply = asked.target == "/_faults" ? change_faults(asked.body) : route(asked);
    const std::string date = "Date: " + http_date(model_.now()) + "\r\n";
    std::string body = reply.body.is_null() ? std::string() : reply.body.dump();
    if (asked.method == "GET" && reply.status == 200) {
      const std::string etag = "W/\"" + sha256_hex(body + reply.headers).substr(0, 32) + "\"";
      if (asked.head.find("If-None-Match: " + etag) != std::string::npos)
        return ScriptedHttp::answer(304, "", date + "ETag: " + etag + "\r\n" + limit_headers(false));
      return ScriptedHttp::answer(200, body,
                                  date + "ETag: " + etag + "\r\nContent-Type: application/json; charset=utf-8\r\n" +
                                      limit_headers(true) + reply.headers);
    }
    return ScriptedHttp::answer(reply.status, body,
                                date + (body.empty() ? "" : "Content-Type: application/json; charset=utf-8\r\n") +
                                    limit_headers(true) + reply.headers);
  }

 private:
  struct User {
    Account account;
    std::unique_ptr<Tracker> door;
  };

  static std::int64_t number_of(const std::string& name, const std::vector<std::string>& words,
                                std::int64_t otherwise) {
    for (const std::string& word : words)
      if (word.starts_with(name + "=")) return std::stoll(word.substr(name.size() + 1));
    return otherwise;
  }

  static sim::TrackerFaults faults_from(sim::TrackerFaults faults, const std::vector<std::string>& words) {
    const std::map<std::string, double sim::TrackerFaults::*> parts{
        {"stale_list", &sim::TrackerFaults::stale_list},
        {"stale_read", &sim::TrackerFaults::stale_read},
        {"stale_part", &sim::TrackerFaults::stale_part},
        {"old_304", &sim::TrackerFaults::old_304},
        {"shifted_page", &sim::TrackerFaults::shifted_page},
        {"error_after_write", &sim::TrackerFaults::error_after_write},
        {"error_before_write", &sim::TrackerFaults::error_before_write},
        {"limit_says_when", &sim::TrackerFaults::limit_says_when}};
    for (const std::string& word : words) {
      const auto sign = word.find('=');
      if (sign == std::string::npos) throw std::runtime_error("a fault is NAME=VALUE, not '" + word + "'");
      const std::string name = word.substr(0, sign);
      const std::string value = word.substr(sign + 1);
      if (const auto part = parts.find(name); part != parts.end()) {
        faults.*part->second = std::stod(value);
      } else if (name == "lag_most") {
        faults.lag_most = parse_duration(value, kDelayRange).value();
      } else if (name == "writes_a_minute") {
        faults.writes_a_minute = std::stoi(value);
      } else if (name == "writes_an_hour") {
        faults.writes_an_hour = std::stoi(value);
      } else if (name != "seed" && name != "requests_an_hour") {
        throw std::runtime_error("there is no fault '" + name + "'");
      }
    }
    return faults;
  }

  Reply change_faults(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    model_.set_faults(faults_from(model_.faults(), words));
    return {204, nullptr, ""};
  }

  // "Mon, 16 Nov 2026 14:37:54 GMT"
  static std::string http_date(WallTime at) {
    const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char text[64];
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return text;
  }

  std::string limit_headers(bool charged) {
    if (charged) ++charged_;
    const auto reset =
        std::chrono::duration_cast<std::chrono::seconds>((model_.now() + std::chrono::hours{1}).time_since_epoch())
            .count();
    return "X-RateLimit-Limit: " + std::to_string(requests_an_hour_) +
           "\r\nX-RateLimit-Remaining: " + std::to_string(std::max<std::int64_t>(0, requests_an_hour_ - charged_)) +
           "\r\nX-RateLimit-Reset: " + std::to_string(reset) + "\r\n";
  }

  User* user_of(const HttpAsked& asked) {
    std::smatch found;
    static const std::regex kAuthorization("authorization: (?:bearer|token) ([^\r\n]+)\r\n", std::regex::icase);
    if (!std::regex_search(asked.head, found, kAuthorization)) return nullptr;
    const auto at = users_.find(found[1]);
    return at == users_.end() ? nullptr : &at->second;
  }

  static std::map<std::string, std::string> query_of(std::string_view target) {
    std::map<std::string, std::string> query;
    const auto mark = target.find('?');
    std::istringstream in(std::string(mark == std::string_view::npos ? "" : target.substr(mark + 1)));
    for (std::string pair; std::getline(in, pair, '&');) {
      const auto sign = pair.find('=');
      query[pair.substr(0, sign)] =
          sign == std::string::npos ? "" : percent_decoded(pair.substr(sign + 1)).value_or("");
    }
    return query;
  }

  Reply route(const HttpAsked& asked) {
    User* user = user_of(asked);
    if (user == nullptr) return said(401, "Bad credentials");
    const std::string path = asked.target.substr(0, asked.target.find('?'));
    const json body = asked.body.empty() ? json::object() : json::parse(asked.body, nullptr, false);
    if (body.is_discarded()) return said(400, "Problems parsing JSON");
    if (path == "/user") return {200, self_json(user->account), ""};
    const std::string prefix = "/repos/" + repository_;
    if (!path.starts_with(prefix)) return said(404, "Not Found");
    const std::string rest = path.substr(prefix.size());
    std::smatch part;
    static const std::regex kIssue("/issues/([0-9]+)");
    static const std::regex kComments("/issues/([0-9]+)/comments");
    static const std::regex kComment("/issues/comments/([0-9]+)");
    static const std::regex kLabels("/issues/([0-9]+)/labels");
    static const std::regex kLabel("/issues/([0-9]+)/labels/(.+)");
    static const std::regex kEvents("/issues/([0-9]+)/events");
    if (rest == "/issues" && asked.method == "GET") return list(*user, asked, prefix);
    if (rest == "/issues" && asked.method == "POST") return make(*user, body);
    if (std::regex_match(rest, part, kIssue))
      return asked.method == "PATCH" ? patch(*user, part[1], body) : issue(*user, part[1]);
    if (std::regex_match(rest, part, kComments))
      return asked.method == "POST" ? post(*user, part[1], body) : comments(*user, part[1], asked, prefix);
    if (std::regex_match(rest, part, kComment)) return one_comment(*user, part[1], asked.method, body);
    if (std::regex_match(rest, part, kLabels)) return labels(*user, part[1], asked.method, body);
    if (std::regex_match(rest, part, kLabel) && asked.method == "DELETE")
      return unlabel(*user, part[1], percent_decoded(std::string(part[2])).value_or(""));
    if (std::regex_match(rest, part, kEvents)) return events(*user, part[1], asked, prefix);
    return said(404, "Not Found");
  }

  // One page of them, with a link to the next.
  static Reply page_of(const json& all, const HttpAsked& asked) {
    const std::map<std::string, std::string> query = query_of(asked.target);
    const auto number = [&](const char* name, std::size_t otherwise) {
      return query.contains(name) ? std::stoul(query.at(name)) : otherwise;
    };
    const std::size_t size = std::clamp<std::size_t>(number("per_page", 30), 1, 100);
    const std::size_t page = std::max<std::size_t>(number("page", 1), 1);
    Reply reply{200, json::array(), ""};
    for (std::size_t i = (page - 1) * size; i < std::min(all.size(), page * size); ++i) reply.body.push_back(all[i]);
    if (page * size < all.size()) {
      std::string next = asked.target.substr(0, asked.target.find('?')) + "?per_page=" + std::to_string(size) +
                         "&page=" + std::to_string(page + 1);
      reply.headers = "Link: <" + next + ">; rel=\"next\"\r\n";
    }
    return reply;
  }

  Reply list(User& user, const HttpAsked& asked, const std::string& prefix) {
    const std::map<std::string, std::string> query = query_of(asked.target);
    const std::string state = query.contains("state") ? query.at("state") : "open";
    const std::string label = query.contains("labels") ? query.at("labels") : "";
    const std::string since = query.contains("since")
                                  ? query.at("since")
                                  : "";  // as we write times, so that the order of letters is that of time
    std::vector<ItemState> found;
    if (label.empty()) {
      for (const ItemId& id : model_.items()) found.push_back(*model_.truth(id).state);
    } else {
      const Answer<std::vector<ItemState>> answer = user.door->list({.stage = label, .closed = state == "closed"});
      if (!answer) return said(answer.error());
      found = answer->value;
    }
    json all = json::array();
    for (const ItemState& item : found)
      if ((state == "all" || item.open == (state == "open")) && utc_text(item.updated_at) >= since)
        all.push_back(issue_json(item, prefix));
    return page_of(all, asked);
  }

  Reply make(User& user, const json& body) {
    if (!body.contains("title") || !body["title"].is_string()) return said(422, "Validation Failed");
    const ItemId id = model_.make_item(user.account, body["title"], body.value("labels", std::vector<std::string>{}));
    return {201, issue_json(*model_.truth(id).state, "/repos/" + repository_), ""};
  }

  Reply issue(User& user, const std::string& id) {
    const Answer<Item> read = user.door->read({.item = id, .comments = false});
    if (!read) return said(read.error());
    return {200, issue_json(*read->value.state, "/repos/" + repository_), ""};
  }

  Reply patch(User& user, const std::string& id, const json& body) {
    if (body.contains("labels"))
      model_.replace_labels(user.account, id, body["labels"].get<std::vector<std::string>>());
    if (body.contains("state")) {
      const Answer<Nothing> answer = user.door->set_open(id, body["state"] == "open");
      if (!answer) return said(answer.error());
    }
    return {200, issue_json(*model_.truth(id).state, "/repos/" + repository_), ""};
  }

  Reply comments(User& user, const std::string& id, const HttpAsked& asked, const std::string& prefix) {
    const Answer<Item> read = user.door->read({.item = id, .state = false});
    if (!read) return said(read.error());
    json all = json::array();
    for (const Comment& comment : read->value.comments) all.push_back(comment_json(comment, id, prefix));
    return page_of(all, asked);
  }

  Reply post(User& user, const std::string& id, const json& body) {
    if (!body.contains("body") || !body["body"].is_string()) return said(422, "Validation Failed");
    const Answer<Comment> answer = user.door->post(id, body["body"]);
    if (!answer) return said(answer.error());
    return {201, comment_json(answer->value, id, "/repos/" + repository_), ""};
  }

  // GitHub's address of a comment does not name its issue.
  std::optional<ItemId> home_of(const CommentId& comment) {
    for (const ItemId& id : model_.items())
      for (const Comment& one : model_.truth(id).comments)
        if (one.id == comment) return id;
    return std::nullopt;
  }

  Reply one_comment(User& user, const std::string& id, const std::string& method, const json& body) {
    const std::optional<ItemId> home = home_of(id);
    if (!home) return said(404, "Not Found");
    if (method == "DELETE") {
      const Answer<Nothing> answer = user.door->erase(*home, id);
      return answer ? Reply{204, nullptr, ""} : said(answer.error());
    }
    if (method == "PATCH") {
      const Answer<Comment> answer = user.door->edit(*home, id, body.value("body", ""));
      return answer ? Reply{200, comment_json(answer->value, *home, "/repos/" + repository_), ""}
                    : said(answer.error());
    }
    for (const Comment& one : model_.truth(*home).comments)
      if (one.id == id) return {200, comment_json(one, *home, "/repos/" + repository_), ""};
    return said(404, "Not Found");
  }

  Reply labels(User& user, const std::string& id, const std::string& method, const json& body) {
    if (method == "PUT") {
      model_.replace_labels(user.account, id, body.value("labels", std::vector<std::string>{}));
      return {200, labels_json(model_.truth(id).state->labels), ""};
    }
    if (method == "POST") {
      const Answer<LabelsAfter> answer = user.door->add_labels(id, body.value("labels", std::vector<std::string>{}));
      if (!answer) return said(answer.error());
    }
    const Answer<Item> read = user.door->read({.item = id, .comments = false});
    if (!read) return said(read.error());
    return {200, labels_json(model_.truth(id).state->labels), ""};
  }

  Reply unlabel(User& user, const std::string& id, const std::string& label) {
    const Answer<Item> read = user.door->read({.item = id, .comments = false});
    if (!read) return said(read.error());
    if (std::ranges::count(model_.truth(id).state->labels, label) == 0) return said(404, "Label does not exist");
    const Answer<LabelsAfter> answer = user.door->remove_label(id, label);
    if (!answer) return said(answer.error());
    return {200, labels_json(model_.truth(id).state->labels), ""};
  }

  Reply events(User& user, const std::string& id, const HttpAsked& asked, const std::string& prefix) {
    const Answer<Item> read = user.door->read({.item = id, .state = false, .comments = false, .moves = true});
    if (!read) return said(read.error());
    json all = json::array();
    std::int64_t number = 0;
    for (const Move& move : *read->value.moves) {
      ++number;
      const char* event = move.kind == MoveKind::label_added     ? "labeled"
                          : move.kind == MoveKind::label_removed ? "unlabeled"
                          : move.kind == MoveKind::closed        ? "closed"
                                                                 : "reopened";
      json one{{"id", number},
               {"node_id", "E" + std::to_string(number)},
               {"url", prefix + "/issues/events/" + std::to_string(number)},
               {"event", event},
               {"actor", user_json(move.by)},
               {"commit_id", nullptr},
               {"commit_url", nullptr},
               {"created_at", utc_text(move.at)},
               {"performed_via_github_app", nullptr}};
      if (!move.what.empty()) one["label"] = {{"name", move.what}, {"color", "ededed"}};
      all.push_back(std::move(one));
    }
    return page_of(all, asked);
  }

  static json user_json(const Account& account) {
    const std::string url = "https://api.github.com/users/" + account.name;
    json user{{"login", account.name},
              {"id", std::stoll(account.id)},
              {"node_id", "U" + account.id},
              {"avatar_url", url},
              {"gravatar_id", ""},
              {"url", url},
              {"html_url", "https://github.com/" + account.name},
              {"type", "User"},
              {"site_admin", false}};
    for (const char* more : {"followers_url", "following_url", "gists_url", "starred_url", "subscriptions_url",
                             "organizations_url", "repos_url", "events_url", "received_events_url"})
      user[more] = url;
    return user;
  }

  // What an account is told of itself.
  static json self_json(const Account& account) {
    json user = user_json(account);
    for (const char* none : {"name", "company", "blog", "location", "email", "hireable", "bio"}) user[none] = nullptr;
    for (const char* number : {"public_repos", "public_gists", "followers", "following"}) user[number] = 0;
    user["created_at"] = user["updated_at"] = "2026-01-01T00:00:00Z";
    return user;
  }

  static json labels_json(const std::vector<std::string>& labels) {
    json all = json::array();
    for (const std::string& name : labels)
      all.push_back({{"id", 1},
                     {"node_id", "L"},
                     {"url", "https://api.github.com/labels"},
                     {"name", name},
                     {"description", nullptr},
                     {"color", "ededed"},
                     {"default", false}});
    return all;
  }

  static json issue_json(const ItemState& item, const std::string& prefix) {
    const std::string url = "https://api.github.com" + prefix + "/issues/" + item.id;
    return {{"id", std::stoll(item.id)},
            {"node_id", "I" + item.id},
            {"number", std::stoll(item.id)},
            {"url", url},
            {"repository_url", "https://api.github.com" + prefix},
            {"labels_url", url + "/labels{/name}"},
            {"comments_url", url + "/comments"},
            {"events_url", url + "/events"},
            {"html_url", "https://github.com" + prefix.substr(6) + "/issues/" + item.id},
            {"state", item.open ? "open" : "closed"},
            {"state_reason", item.open ? json(nullptr) : json("completed")},
            {"title", item.title},
            {"body", item.body},
            {"user", user_json(item.author)},
            {"labels", labels_json(item.labels)},
            {"assignee", nullptr},
            {"assignees", json::array()},
            {"milestone", nullptr},
            {"locked", false},
            {"comments", 0},
            {"author_association", "NONE"},
            {"closed_at", item.open ? json(nullptr) : json(utc_text(item.updated_at))},
            {"created_at", utc_text(item.updated_at)},
            {"updated_at", utc_text(item.updated_at)}};
  }

  static json comment_json(const Comment& comment, const ItemId& item, const std::string& prefix) {
    const std::string url = "https://api.github.com" + prefix;
    return {{"id", std::stoll(comment.id)},
            {"node_id", "C" + comment.id},
            {"url", url + "/issues/comments/" + comment.id},
            {"html_url", "https://github.com" + prefix.substr(6) + "/issues/" + item + "#issuecomment-" + comment.id},
            {"issue_url", url + "/issues/" + item},
            {"body", comment.text},
            {"user", user_json(comment.author)},
            {"author_association", "NONE"},
            {"created_at", utc_text(comment.created_at)},
            {"updated_at", utc_text(comment.edited_at.value_or(comment.created_at))}};
  }

  const std::string repository_;
  const std::int64_t requests_an_hour_;
  ThreadRuntime clock_;
  sim::Random random_;
  sim::TrackerModel model_;
  std::mutex mutex_;
  std::map<std::string, std::string> names_;
  std::map<std::string, User> users_;
  std::map<std::string, Account> writers_;
  std::int64_t charged_ = 0;
};

}  // namespace
}  // namespace fenceline::tracker::test

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "usage: github_server FOLDER OWNER/NAME [FAULT=VALUE]...\n");
    return 64;
  }
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  fenceline::tracker::test::GithubServer server(words[1], words[2], {words + 3, words + count});
  fenceline::test::ScriptedHttp http([&](const fenceline::test::HttpAsked& asked) { return server.answer(asked); });
  std::cout << http.url("") << std::endl;
  int signal = 0;
  sigwait(&ends, &signal);
  return 0;
}
