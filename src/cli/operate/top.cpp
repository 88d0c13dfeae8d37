// fenceline top: the live view. One task looks, again and again; the main thread draws and hears keys, so that a store
// that hangs does not keep anybody from leaving.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "cli/frame/config.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/screen.hpp"
#include "cli/operate/commands.hpp"
#include "cli/operate/doctor_view.hpp"
#include "cli/operate/top_keys.hpp"
#include "cli/operate/top_state.hpp"
#include "cli/operate/top_view.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kEvery = std::chrono::seconds{2};
constexpr Duration kEveryLeast = std::chrono::milliseconds{100};
constexpr Duration kEveryMost = std::chrono::hours{1};

TopLook look_of(Invocation& invocation, Store& store) {
  return {*invocation.runtime, store, invocation.ns,
          [&invocation](std::string command) { return pasteable(invocation, std::move(command), ""); }};
}

// Looks beside the one who draws.
class Lookout {
 public:
  Lookout(Invocation& invocation, Store& store, Duration every)
      : look_(look_of(invocation, store)), wanted_(invocation.runtime->make_event()) {
    Runtime& runtime = *invocation.runtime;
    task_ = runtime.spawn("look", [this, &runtime, every](std::stop_token stop) {
      const std::stop_callback wake(stop, [this] { wanted_->notify(); });
      while (!stop.stop_requested()) {
        if (!paused_) {
          looking_ = true;
          TopState state = look_.look();
          looking_ = false;
          const std::lock_guard lock(mutex_);
          state_ = std::move(state);
        }
        Screen::wake();
        wanted_->wait_until(runtime.now() + every);
      }
    });
  }

  // The newest; empty: the first look is not over.
  std::optional<TopState> state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  void pause(bool paused) {
    if (paused_.exchange(paused) && !paused) wanted_->notify();
  }
  // It waits for the store just now.
  bool looking() const { return looking_; }

 private:
  TopLook look_;
  std::unique_ptr<Event> wanted_;
  std::atomic<bool> paused_ = false;
  std::atomic<bool> looking_ = false;
  mutable std::mutex mutex_;
  std::optional<TopState> state_;  // guarded by the mutex
  Task task_;
};

void show_live(Invocation& invocation, Store& store, Duration every) {
  Screen screen;
  const std::stop_callback leave(invocation.stop, [] { Screen::wake(); });
  Lookout lookout(invocation, store, every);
  TopModel model;
  TopState state{.store = store.profile().url,
                 .guarantee = std::string(1, letter(store.profile().guarantee)),
                 .ns = invocation.ns,
                 .at = invocation.runtime->wall_now()};
  std::string typed;
  for (bool over = false; !over && !invocation.stop.stop_requested();) {
    const Screen::Size size = screen.size();
    if (!model.paused) state = lookout.state().value_or(state);
    model.cursor = std::clamp(model.cursor, 0, std::max(0, top_rows(state, model) - 1));
    screen.draw(top_lines(state, model, {.width = size.width, .height = size.height, .colour = colour_allowed()}));
    const Screen::Typed keys = screen.wait();
    typed += keys.bytes;
    over = keys.over;
    for (const TopKey& key : top_keys(typed, keys.complete))
      over = over || press(model, key, std::max(1, size.height / 2));
    lookout.pause(model.paused);
  }
  if (!lookout.looking()) return;
  // Nothing here writes, so leaving loses nothing and need not wait for a store that does not answer.
  screen.leave();
  std::_Exit(kExitOk);
}

bool show_once(const TopState& state) {
  std::string text;
  for (const std::string& line : top_lines(
           state, {}, {.width = terminal_width(), .height = 0, .colour = stdout_is_terminal() && colour_allowed()}))
    text += line + "\n";
  return print(text) && flush_output();
}

Result<int> run_top(Invocation& invocation) {
  const Result<Duration> every = invocation.duration("--every", kEvery, kEveryLeast, kEveryMost);
  if (!every) return std::unexpected(every.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  if (!invocation.json && !invocation.has("--once") && Screen::usable()) {
    show_live(invocation, **store, *every);
    return kExitOk;
  }
  const bool once = !invocation.json || invocation.has("--once");
  TopLook look = look_of(invocation, **store);
  for (bool more = true; more;) {
    const TopState state = look.look();
    const bool read = invocation.json ? print_line(top_json(state)) && flush_output() : show_once(state);
    if (once && !state.away.empty()) return fail(Code::unavailable, state.away);
    more = read && !once && invocation.runtime->sleep_for(*every, invocation.stop);
  }
  return kExitOk;
}

}  // namespace

CommandSpec top_command() {
  return {.name = "top",
          .summary = "Live view of queues, workers, locks and schedules",
          .details = "Also shows current problems. Changes nothing.",
          .options = {{"--every", "DURATION", "refresh interval: 100ms to 1h; default 2s"},
                      {"--once", "", "print once and exit; the default without a terminal"}},
          .sections = {{"Keys",
                        {{"q", "quit"},
                         {"1 to 5, tab", "show one pane: queues, workers, locks, schedules, findings; 0: all"},
                         {"up, down", "select a row; the command to act on it is shown below"},
                         {"s, /, p", "change the order; filter by text; pause"},
                         {"?", "all keys"}}},
                       {"In a script",
                        {{"--json", "one object per line for each refresh, until a signal; with --once one"},
                         {"an unreachable store",
                          "is reported, with what was last seen, and retried; with --once exits with 69"}}}},
          .examples = {{"fenceline top", "until q"},
                       {"fenceline top --json | jq -c '.findings[] | select(.status != \"ok\")'", "for a script"}},
          .run = run_top};
}

}  // namespace fenceline::cli
