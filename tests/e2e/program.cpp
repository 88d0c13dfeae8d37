#include "program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

extern char** environ;  // NOLINT: POSIX

namespace fenceline::e2e {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPostgres = "FENCELINE_TEST_POSTGRES";

std::vector<std::string> environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (!name.starts_with("FENCELINE_") && !added.contains(name)) out.push_back(text);
  }
  for (const auto& [name, value] : added) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

fs::path fresh_path(const std::string& name) {
  static std::atomic<int> count = 0;
  return fs::path(testing::TempDir()) /
         ("fenceline-e2e-" + std::to_string(::getpid()) + "-" + std::to_string(++count) + "-" + name);
}

}  // namespace

std::string program() { return FENCELINE_PROGRAM; }

bool one_line(const std::string& text) {
  return text.size() > 1 && text.ends_with('\n') && std::ranges::count(text, '\n') == 1;
}

bool eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return false;
}

Running::Running(const Words& argv, const Setting& setting, const fs::path& folder, bool hold_input)
    : out_path_(fresh_path("out")), err_path_(fresh_path("err")), patience_(setting.patience) {
  Words words = argv;
  if (words.at(0) == "fenceline") words[0] = program();
  std::vector<std::string> env = environment(setting.env);
  const fs::path input_path = fresh_path("in");
  int ends[2] = {-1, -1};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (hold_input) {
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
  } else {
    std::ofstream(input_path, std::ios::binary) << setting.input;
    posix_spawn_file_actions_addopen(&actions, 0, setting.input.empty() ? "/dev/null" : input_path.c_str(), O_RDONLY,
                                     0);
  }
  posix_spawn_file_actions_addopen(&actions, 1, out_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  // In a session of its own: where a process is stopped, the kernel may hang up on its whole group, and that must not
  // be ours.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  const int problem =
      ::posix_spawnp(&pid_, words[0].c_str(), &actions, &attributes, pointers(words).data(), pointers(env).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (hold_input) {
    ::close(ends[0]);
    input_ = ends[1];
  }
  if (problem != 0) {
    pid_ = -1;
    ADD_FAILURE() << words[0] << " could not be started: " << std::strerror(problem);
  }
  std::error_code ignored;
  fs::remove(input_path, ignored);
}

Running::~Running() {
  close_input();
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  fs::remove(out_path_, ignored);
  fs::remove(err_path_, ignored);
}

void Running::feed(const std::string& text) const {
  ASSERT_EQ(::write(input_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

void Running::close_input() {
  if (input_ >= 0) ::close(input_);
  input_ = -1;
}

void Running::signal(int number) const { ::kill(pid_, number); }
std::string Running::out() const { return Workplace::read(out_path_); }
std::string Running::err() const { return Workplace::read(err_path_); }

Ended Running::wait() {
  Ended ended;
  if (pid_ <= 0) return ended;
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd ready{handle, POLLIN, 0};
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(patience_).count();
  if (::poll(&ready, 1, static_cast<int>(patience)) == 0) {
    ADD_FAILURE() << "still running after " << patience << " ms: killed";
    ::kill(pid_, SIGKILL);
  }
  ::close(handle);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  ended.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  ended.out = out();
  ended.err = err();
  return ended;
}

Workplace::Workplace() : folder_(fresh_path("place")) {
  fs::create_directories(folder_);
  const char* const server = on_postgres() ? std::getenv(kPostgres) : std::getenv("FENCELINE_TEST_REDIS");
  if (server == nullptr) return;
  env_ = {{"FENCELINE_STORE", server},
          {"FENCELINE_NAMESPACE", folder_.filename().string()},
          {"FENCELINE_GATES", file("gates").string()}};
  // Made by the first, so that nobody is told of it.
  static const int made = fenceline({"lock", "made", "--", "true"}).status;
  EXPECT_EQ(made, 0);
}

bool Workplace::on_postgres() { return std::getenv(kPostgres) != nullptr; }

std::string Workplace::store_url() const {
  return env_.empty() ? "sqlite:" + file("fenceline.db").string() : env_.at("FENCELINE_STORE");
}

Setting Workplace::with_store(Setting setting) const {
  setting.env.insert(env_.begin(), env_.end());
  return setting;
}

Workplace::~Workplace() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

fs::path Workplace::write(const std::string& name, const std::string& text) const {
  std::ofstream(file(name), std::ios::binary) << text;
  return file(name);
}

std::string Workplace::read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Ended Workplace::run(const Words& argv, const Setting& setting) const {
  return Running(argv, with_store(setting), folder_, false).wait();
}

Ended Workplace::fenceline(const Words& words, const Setting& setting) const {
  Words argv{"fenceline"};
  argv.insert(argv.end(), words.begin(), words.end());
  return run(argv, setting);
}

std::unique_ptr<Running> Workplace::start(const Words& words, const Setting& setting) const {
  Words argv{"fenceline"};
  argv.insert(argv.end(), words.begin(), words.end());
  return std::make_unique<Running>(argv, with_store(setting), folder_, true);
}

std::string Workplace::dump(const std::string& store) const {
  if (!fs::exists(file(store))) return "(none)";
  const Workplace copy;
  // Not the -shm: SQLite makes it from the WAL.
  for (const char* suffix : {"", "-wal"}) {
    if (fs::exists(file(store + suffix)))
      fs::copy_file(file(store + suffix), copy.file(std::string("copy.db") + suffix));
  }
  const Ended ended = copy.run({"sqlite3", "copy.db", "PRAGMA user_version; PRAGMA integrity_check;", ".dump"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  return ended.out;
}

Json Workplace::jobs() const {
  const Ended ended = fenceline({"jobs", "--all", "--sort", "oldest", "--json"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const Json answer = Json::parse(ended.out, nullptr, false);
  EXPECT_FALSE(answer.is_discarded()) << ended.out;
  return answer.is_object() ? answer["jobs"] : Json::array();
}

}  // namespace fenceline::e2e
