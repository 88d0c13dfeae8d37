#include "drills/operator_scene.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/postgres/dsn.hpp"
#include "backends/redis/redis_address.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "runtime/collected_child.hpp"
#include "runtime/poll_until.hpp"
#include "runtime/process_tree.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSceneEndMost = 15s;
constexpr Duration kBetweenSceneLooks = 50ms;
constexpr std::size_t kAnswerMost = 1 << 20;

nlohmann::json parsed(const std::string& text) { return nlohmann::json::parse(text, nullptr, false); }

std::string password_in(const std::string& store_url) {
  if (bench::kind_of(store_url) == bench::StoreKind::redis) {
    const Result<redis::Address> address = redis::parse_address(store_url);
    return address ? address->password : "";
  }
  if (bench::kind_of(store_url) != bench::StoreKind::postgres) return {};
  const Result<postgres::Dsn> dsn = postgres::parse_dsn(store_url);
  if (!dsn) return {};
  const auto found = std::ranges::find(dsn->options, "password", &std::pair<std::string, std::string>::first);
  return found == dsn->options.end() ? "" : found->second;
}

}  // namespace

OperatorScene::OperatorScene(const Invocation& invocation, std::string store_url, const DrillServer* server)
    : invocation_(invocation), runtime_(*invocation.runtime), store_url_(std::move(store_url)), server_(server) {
  std::error_code failed;
  std::filesystem::create_directory(folder() + "/bin", failed);
  std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe", failed), folder() + "/bin/fenceline",
                                  failed);
  if (failed) fail("cannot write to the drill's folder: " + failed.message());
}

OperatorScene::~OperatorScene() {
  stop_typed();
  for (const ChildProcess& child : outside_) end(child);
  for (const Started& one : started_) {
    if (one.process->pid() <= 0) continue;
    for (const pid_t pid : descendants_of(one.process->pid())) ::kill(pid, SIGKILL);
  }
  put_back();
}

void OperatorScene::put_back() {
  // Whatever went wrong before: this is done all the same.
  std::string before = std::exchange(trouble_, {});
  for (; !put_backs_.empty(); put_backs_.pop_back()) put_backs_.back()();
  if (!before.empty()) trouble_ = std::move(before);
}

std::string OperatorScene::file() const { return store_url_.substr(kEmbedded.size()); }

std::string OperatorScene::prefix() const {
  const Result<redis::Address> address = redis::parse_address(store_url_);
  return address ? address->prefix : "";
}

void OperatorScene::fail(std::string sentence) {
  if (trouble_.empty()) trouble_ = std::move(sentence);
}

bool OperatorScene::interrupted() const { return was_interrupted(invocation_.stop); }

std::vector<std::pair<std::string, std::string>> OperatorScene::variables() const {
  const char* const path = std::getenv("PATH");
  std::vector<std::pair<std::string, std::string>> all{
      {"FENCELINE_STORE", store_url_},
      {"FENCELINE_NAMESPACE", "default"},
      {"FENCELINE_GATES", folder() + "/gates"},
      {"FENCELINE_LOG", "info"},
      {"PATH", folder() + "/bin:" + (path != nullptr ? path : "/usr/bin:/bin")}};
  // No command that doctor gives has a password in it.
  const std::string password = password_in(store_url_);
  if (!password.empty()) all.emplace_back(kind() == bench::StoreKind::redis ? "REDISCLI_AUTH" : "PGPASSWORD", password);
  return all;
}

int OperatorScene::start(const std::vector<std::string>& words, const std::string& who) {
  if (!trouble_.empty()) return -1;
  const auto ours = variables();
  const std::string said = folder() + "/" + who + "-" + std::to_string(started_.size());
  auto process = OwnProcess::start(runtime_, words, {ours.begin(), ours.end()}, said);
  if (!process) {
    fail(process.error().message);
    return -1;
  }
  started_.push_back({std::move(*process), said, ""});
  return static_cast<int>(started_.size()) - 1;
}

int OperatorScene::work(const std::vector<std::string>& queues, const std::string& line,
                        const std::vector<std::string>& options) {
  std::vector<std::string> words{"work"};
  words.insert(words.end(), queues.begin(), queues.end());
  words.insert(words.end(), {"--metrics", "127.0.0.1:0", "--concurrency", "2"});
  if (std::ranges::find(options, "--ttl") == options.end()) words.insert(words.end(), {"--ttl", "1s"});
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "/bin/sh", "-c", line});
  return start_measured(words, "worker");
}

int OperatorScene::start_measured(const std::vector<std::string>& words, const std::string& who) {
  const int number = start(words, who);
  if (number < 0) return number;
  Started& one = started_[static_cast<std::size_t>(number)];
  until("a " + who + " reports the address of its metrics", [&] {
    one.address = address_in(one.words);
    if (one.address.empty() && has_ended(number))
      fail("a " + who + " ended before it worked: " + last_words(one.words));
    return !one.address.empty();
  });
  return number;
}

std::string OperatorScene::address_in(const std::string& words) {
  std::ifstream lines(words);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json event = parsed(line);
    if (event.is_object() && event.value("event", "") == "metrics_listening") return event.value("address", "");
  }
  return {};
}

std::string OperatorScene::last_words(const std::string& path) const {
  std::ifstream lines(path);
  std::string last;
  for (std::string line; std::getline(lines, line);) last = line;
  return last.empty() ? "it printed nothing" : printable(last, 300);
}

pid_t OperatorScene::pid(int process) const {
  return process < 0 ? -1 : started_.at(static_cast<std::size_t>(process)).process->pid();
}

void OperatorScene::signal(int process, int signal) {
  if (pid(process) > 0) ::kill(pid(process), signal);
}

void OperatorScene::signal_all(int process, int signal) {
  if (pid(process) <= 0) return;
  // The first one begins the others: after it none is added.
  ::kill(pid(process), signal);
  for (const pid_t one : descendants_of(pid(process))) ::kill(one, signal);
}

void OperatorScene::kill(int process) {
  if (pid(process) <= 0) return;
  ::kill(pid(process), SIGKILL);
  started_[static_cast<std::size_t>(process)].process->finish(runtime_.now());
}

bool OperatorScene::has_ended(int process) {
  if (pid(process) <= 0) return true;
  std::ifstream status("/proc/" + std::to_string(pid(process)) + "/stat");
  std::string all;
  std::getline(status, all);
  const std::size_t name_end = all.rfind(')');
  return name_end == std::string::npos || all.substr(name_end, 3) == ") Z";
}

int OperatorScene::run_to_end(const std::vector<std::string>& words, std::string& output) {
  if (!trouble_.empty()) return kExitBug;
  const auto ours = variables();
  auto process = OwnProcess::start(runtime_, words, {ours.begin(), ours.end()}, folder() + "/" + words.front());
  if (process) return (*process)->finish(runtime_.now() + kProcessMost, &output).status;
  fail(process.error().message);
  return kExitBug;
}

std::string OperatorScene::run(const std::vector<std::string>& words, bool any_status) {
  std::string output;
  const int status = run_to_end(words, output);
  if (status != kExitOk && !any_status)
    fail("fenceline " + words.front() + " ended with " + std::to_string(status) + ": " +
         last_words(folder() + "/" + words.front()));
  return output;
}

bool OperatorScene::succeeds(const std::vector<std::string>& words) {
  std::string output;
  return run_to_end(words, output) == kExitOk;
}

std::optional<ChildProcess> OperatorScene::in_shell(const std::string& line) {
  if (!trouble_.empty()) return std::nullopt;
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd said(::open((folder() + "/typed").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  Result<ChildProcess> child = spawn_child(
      {.program = "/bin/sh",
       .arguments = {"sh", "-c", line},
       .environment = environment_with(variables()),
       .descriptors = {{nothing.get(), STDIN_FILENO}, {said.get(), STDOUT_FILENO}, {said.get(), STDERR_FILENO}},
       .dies_with_us = true});
  if (child) return std::move(*child);
  fail("cannot start a shell: " + child.error().message);
  return std::nullopt;
}

void OperatorScene::end(const ChildProcess& child) {
  const auto over_within = [&](Duration most) {
    return poll_until(runtime_, child.exited.get(), POLLIN, runtime_.now() + most);
  };
  if (!over_within(0s)) {
    ::kill(-child.pid, SIGTERM);
    if (!over_within(kSceneEndMost)) {
      for (const pid_t one : descendants_of(child.pid)) ::kill(one, SIGKILL);
    }
  }
  ::kill(-child.pid, SIGKILL);
  reap(child);
}

void OperatorScene::type(const std::string& line) {
  stop_typed();
  typed_ = in_shell(line);
}

void OperatorScene::stop_typed() {
  if (typed_) end(*typed_);
  typed_.reset();
}

void OperatorScene::outside(const std::string& line) {
  if (std::optional<ChildProcess> child = in_shell(line)) outside_.push_back(std::move(*child));
}

std::string OperatorScene::by_hand(const std::vector<std::string>& words) {
  if (!trouble_.empty()) return {};
  if (server_ != nullptr) {
    Result<std::string> answer = server_->by_hand(runtime_, store_url_, words);
    if (!answer) fail("by hand: " + answer.error().message);
    return answer.value_or("");
  }
  std::vector<std::string> command{"sqlite3", file(), ".timeout 5000"};
  command.insert(command.end(), words.begin(), words.end());
  const Result<Collected> told =
      collect({.command = command, .variables = {}, .takes_input = false, .bytes_max = kAnswerMost});
  if (!told) fail("by hand: " + told.error().message + "; install the package sqlite3");
  else if (told->status != ExitStatus{}) fail("by hand: sqlite3 ended with " + to_string(told->status));
  return told ? told->output : "";
}

void OperatorScene::until(const std::string& what, const std::function<bool()>& is_so, Duration most) {
  const Instant deadline = runtime_.now() + most;
  while (trouble_.empty() && !is_so()) {
    if (interrupted()) fail("interrupted");
    else if (runtime_.now() >= deadline) fail("timed out waiting until " + what);
    else runtime_.sleep_for(kBetweenSceneLooks, invocation_.stop);
  }
}

void OperatorScene::until_jobs(std::size_t number, const std::string& state) {
  until(std::to_string(number) + " jobs are " + state, [&] {
    const nlohmann::json listed = parsed(run({"jobs", "--state", state, "--json"}));
    return listed.is_object() && listed.value("jobs", nlohmann::json::array()).size() == number;
  });
}

std::optional<Scrape> OperatorScene::scrape() {
  if (!trouble_.empty() || watched_ < 0) return std::nullopt;
  Result<Scrape> told = cli::scrape(started_[static_cast<std::size_t>(watched_)].address);
  if (told) return std::move(*told);
  fail(told.error().message);
  return std::nullopt;
}

bool OperatorScene::can_be_scraped() const {
  return watched_ >= 0 && cli::scrape(started_[static_cast<std::size_t>(watched_)].address).has_value();
}

SceneFinding OperatorScene::finding(const std::string& check) {
  const nlohmann::json told = parsed(run({"doctor", "--json"}, true));
  if (!trouble_.empty()) return {};
  if (!told.is_object() || !told.contains("findings")) {
    fail("doctor did not answer: " + last_words(folder() + "/doctor"));
    return {};
  }
  // One check may have several findings: the worst one counts.
  SceneFinding worst;
  for (const nlohmann::json& one : told["findings"]) {
    if (one.value("name", "") != check) continue;
    SceneFinding found{one.value("status", ""), one.value("detail", ""), one.value("remedy", "")};
    if (worst.status.empty() || (found.is_trouble() && !worst.is_trouble()) ||
        (found.status == "bad" && worst.status != "bad"))
      worst = std::move(found);
  }
  return worst;
}

}  // namespace fenceline::cli
