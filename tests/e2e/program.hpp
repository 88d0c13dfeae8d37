// The real program in a folder of its own: started, fed, waited for, and its store looked at from outside.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fenceline::e2e {

using Words = std::vector<std::string>;
using Json = nlohmann::json;

// How a process ended. A signal n is 128 + n, as in a shell.
struct Ended {
  int status = -1;
  std::string out;
  std::string err;
};

struct Setting {
  std::string input;                         // stdin; empty: /dev/null
  std::map<std::string, std::string> env{};  // beside the test's own, without its FENCELINE_ variables
  std::chrono::seconds patience{60};         // then it is killed, and the test fails
};

// A process under way, with its stdin held open. Killed and reaped if the test leaves it behind.
class Running {
 public:
  Running(const Words& argv, const Setting& setting, const std::filesystem::path& folder, bool hold_input);
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();

  void feed(const std::string& text) const;
  void close_input();
  void signal(int number) const;
  int pid() const { return pid_; }
  // What it has written so far.
  std::string out() const;
  std::string err() const;
  Ended wait();

 private:
  std::filesystem::path out_path_, err_path_;
  std::chrono::seconds patience_;
  int input_ = -1;
  int pid_ = -1;
};

// A private folder with a store in it, removed at the end.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  std::filesystem::path write(const std::string& name, const std::string& text) const;
  static std::string read(const std::filesystem::path& path);

  // Where FENCELINE_TEST_POSTGRES or FENCELINE_TEST_REDIS names a server (script/with_postgres, script/with_redis),
  // every place has a namespace of its own there instead.
  static bool on_postgres();
  std::string store_url() const;
  // What `fenceline` is told of that: for programs that are started in another way.
  const std::map<std::string, std::string>& env() const { return env_; }

  // `fenceline WORDS...` in the folder; its store is sqlite:fenceline.db there unless the words say otherwise.
  Ended fenceline(const Words& words, const Setting& setting = {}) const;
  // Any program; "fenceline" as its first word is ours.
  Ended run(const Words& argv, const Setting& setting = {}) const;
  // Ours, under way, stdin open.
  std::unique_ptr<Running> start(const Words& words, const Setting& setting = {}) const;

  // All that the store holds, as SQL, read from a copy so that looking changes nothing; "(none)" without a store.
  std::string dump(const std::string& store = "fenceline.db") const;
  // `jobs --all --json`, its list.
  Json jobs() const;

 private:
  Setting with_store(Setting setting) const;

  std::filesystem::path folder_;
  std::map<std::string, std::string> env_;
};

std::string program();
bool one_line(const std::string& text);
// Waits until `holds`, at most ten seconds; false if it never did.
bool eventually(const std::function<bool()>& holds);

}  // namespace fenceline::e2e
