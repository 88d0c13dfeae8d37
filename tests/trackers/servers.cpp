#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/trackers/github.hpp"
#include "backends/trackers/redmine.hpp"
#include "driver_suite.hpp"
#include "http/http_client.hpp"
#include "runtime/thread_runtime.hpp"

namespace fenceline::tracker::test {
namespace {

using nlohmann::json;

const Clock& clock() {
  static ThreadRuntime runtime;
  return runtime;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string first_word(const std::string& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

// See script/with_redmine.
std::unique_ptr<Server> redmine() {
  const std::string project = environment("FENCELINE_TEST_REDMINE");
  const std::string folder = environment("FENCELINE_TEST_REDMINE_FOLDER");
  if (project.empty()) return nullptr;
  const std::string base = project.substr(0, project.find("/projects/"));
  const auto key_of = [folder](const std::string& user) { return first_word(folder + "/key." + user); };
  auto server = std::make_unique<Server>();
  server->driver = "redmine";
  server->name = "Redmine of Debian";
  server->as = [=](const std::string& user) {
    return open_redmine(clock(), {.base = base, .project = "backlog", .key = key_of(user)});
  };
  server->with_wrong_key = [=] {
    return open_redmine(clock(), {.base = base, .project = "backlog", .key = "wrong-key"});
  };
  server->new_item = [=](const std::string& title) {
    static http::Client client;
    static const json statuses = json::parse(
        client.send({.url = base + "/issue_statuses.json", .headers = {{"X-Redmine-API-Key", key_of("admin")}}})->body);
    int ready = 0;
    for (const json& status : statuses["issue_statuses"])
      if (status["name"] == "ready") ready = status["id"];
    const auto made = client.send(
        {.method = "POST",
         .url = base + "/issues.json",
         .headers = {{"X-Redmine-API-Key", key_of("ana")}, {"Content-Type", "application/json"}},
         .body = json{{"issue", {{"project_id", "backlog"}, {"subject", title}, {"status_id", ready}}}}.dump()});
    return std::to_string(json::parse(made->body)["issue"]["id"].get<int>());
  };
  return server;
}

// See script/with_github.
std::unique_ptr<Server> github() {
  const std::string base = environment("FENCELINE_TEST_GITHUB");
  const std::string repository = environment("FENCELINE_TEST_GITHUB_REPOSITORY");
  const std::string folder = environment("FENCELINE_TEST_GITHUB_FOLDER");
  if (base.empty()) return nullptr;
  const auto token_of = [folder](const std::string& user) { return first_word(folder + "/token." + user); };
  auto server = std::make_unique<Server>();
  server->driver = "github";
  server->name = environment("FENCELINE_TEST_GITHUB_SERVER");
  server->as = [=](const std::string& user) {
    return open_github(clock(), {.base = base, .repository = repository, .token = token_of(user)});
  };
  server->new_item = [=](const std::string& title) {
    static http::Client client;
    const auto made =
        client.send({.method = "POST",
                     .url = base + "/repos/" + repository + "/issues",
                     .headers = {{"Authorization", "Bearer " + token_of("ana")}, {"Content-Type", "application/json"}},
                     .body = json{{"title", title}, {"labels", {"stage:ready"}}}.dump()});
    return std::to_string(json::parse(made->body)["number"].get<int>());
  };
  return server;
}

}  // namespace

const Server* server() {
  static const std::unique_ptr<Server> found = environment("FENCELINE_TEST_GITHUB").empty() ? redmine() : github();
  return found.get();
}

}  // namespace fenceline::tracker::test
