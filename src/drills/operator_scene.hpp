// Where one fault of `drill operator` is played: a store of its own, real processes of this program on it, their
// metrics, and doctor. All of it goes with it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/places.hpp"
#include "cli/frame/command.hpp"
#include "cli/frame/own_process.hpp"
#include "drills/folder.hpp"
#include "drills/metrics_scrape.hpp"
#include "drills/server.hpp"
#include "runtime/child_process.hpp"

namespace fenceline::cli {

inline const std::string kSceneQueue = "mail";

// What `fenceline doctor --json` says of one check.
struct SceneFinding {
  std::string status;  // "ok", "warning", "bad"; empty: it says nothing
  std::string detail;
  std::string remedy;

  bool is_trouble() const { return status == "warning" || status == "bad"; }
};

// The first thing that goes wrong is kept, and after it nothing is done any more: a play reads as a list of acts. One
// thread uses it.
class OperatorScene {
 public:
  // All must outlive it. `server` is null for an embedded store.
  OperatorScene(const Invocation& invocation, std::string store_url, const DrillServer* server);
  // Ends every process, with what it started.
  ~OperatorScene();
  OperatorScene(const OperatorScene&) = delete;
  OperatorScene& operator=(const OperatorScene&) = delete;

  Runtime& runtime() const { return runtime_; }
  const DrillServer* server() const { return server_; }
  bench::StoreKind kind() const { return bench::kind_of(store_url_); }
  const std::string& store_url() const { return store_url_; }
  // Of an embedded store.
  std::string file() const;
  // Of the store's keys, on Redis.
  std::string prefix() const;
  const std::string& folder() const { return folder_.path(); }
  // Empty: all went well so far.
  const std::string& trouble() const { return trouble_; }
  void fail(std::string sentence);
  // The same, replacing earlier settings.
  void fail_with(std::string sentence) { trouble_ = std::move(sentence); }

  // `fenceline WORDS...` in the background; a number for it.
  int start(const std::vector<std::string>& words, const std::string& who);
  // The same for one with `--metrics`, once it is listening.
  int start_measured(const std::vector<std::string>& words, const std::string& who);
  // `fenceline work` for these queues with leases of a second and metrics, once it is listening; each job runs `line`
  // in a shell. Its number.
  int work(const std::vector<std::string>& queues, const std::string& line,
           const std::vector<std::string>& options = {});
  pid_t pid(int process) const;
  // To it alone, or to all that it started too.
  void signal(int process, int signal);
  void signal_all(int process, int signal);
  // Dead at once, without a goodbye. What it started is left to itself, as a crash leaves it.
  void kill(int process);

  // `fenceline WORDS...` to its end: its stdout. Anything but exit status 0 is trouble, unless `any_status`.
  std::string run(const std::vector<std::string>& words, bool any_status = false);
  // Whether it ends with 0; no trouble if not.
  bool succeeds(const std::vector<std::string>& words);
  // A line that a person would type, in a shell with this `fenceline` on its path, in the background. There is one at a
  // time.
  void type(const std::string& line);
  // Stops the typed command, if it still runs.
  void stop_typed();
  // Another program, in the background, until the scene ends.
  void outside(const std::string& line);
  // Has a client of the store's own make a change behind our back: SQL, or one command of Redis. Its answer.
  std::string by_hand(const std::vector<std::string>& words);

  // Runs when the scene ends, in any case: changes outside of it are undone. The last one first.
  void at_end(std::function<void()> put_back) { put_backs_.push_back(std::move(put_back)); }
  // All of that now.
  void put_back();

  // Waits until it is so; trouble if it is not within `most`.
  void until(const std::string& what, const std::function<bool()>& is_so, Duration most = std::chrono::seconds{60});
  // So many jobs of the namespace are in that state: a common thing to wait for.
  void until_jobs(std::size_t number, const std::string& state);
  // Whether it ended by itself or by a signal.
  bool has_ended(int process);

  // Whose metrics are looked at.
  void watch(int worker) { watched_ = worker; }
  int watched() const { return watched_; }
  std::optional<Scrape> scrape();
  // Whether anybody answers there.
  bool can_be_scraped() const;
  SceneFinding finding(const std::string& check);

 private:
  struct Started {
    std::unique_ptr<OwnProcess> process;
    std::string words;    // where its stderr goes
    std::string address;  // of its metrics
  };
  std::vector<std::pair<std::string, std::string>> variables() const;
  int run_to_end(const std::vector<std::string>& words, std::string& output);
  std::optional<ChildProcess> in_shell(const std::string& line);
  void end(const ChildProcess& child);
  bool interrupted() const;
  std::string last_words(const std::string& path) const;
  // What the event metrics_listening told; empty: nothing yet.
  static std::string address_in(const std::string& words);

  const Invocation& invocation_;
  Runtime& runtime_;
  const std::string store_url_;
  const DrillServer* server_;
  DrillFolder folder_;
  std::string trouble_;
  std::vector<Started> started_;
  std::optional<ChildProcess> typed_;
  std::vector<ChildProcess> outside_;
  int watched_ = -1;
  std::vector<std::function<void()>> put_backs_;
};

}  // namespace fenceline::cli
