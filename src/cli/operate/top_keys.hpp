// The keys of `fenceline top`, and what they change of what is shown.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace fenceline::cli {

enum class TopPane { all, queues, workers, locks, schedules, findings };
inline constexpr int kTopPanes = 6;

struct TopModel {
  TopPane pane = TopPane::all;
  int cursor = 0;                     // the row that is pointed at, of the pane that is shown alone
  std::array<int, kTopPanes> sort{};  // of each pane, how often the next order was asked for
  std::string filter;                 // only what has this in it
  bool typing = false;                // it is being typed
  bool paused = false;                // the display is paused
  bool help = false;

  bool operator==(const TopModel&) const = default;
};

struct TopKey {
  enum class Kind {
    letter,
    enter,
    escape,
    backspace,
    tab,
    back_tab,
    up,
    down,
    page_up,
    page_down,
    home,
    end
  } kind = Kind::letter;
  std::string letter = {};  // of Kind::letter: one character of UTF-8

  bool operator==(const TopKey&) const = default;
};

// What a terminal sent, key by key. Orders that it does not know are left out; what may be the beginning of one stays
// in `bytes`, unless `complete` (nothing follows).
std::vector<TopKey> top_keys(std::string& bytes, bool complete);

// Whether the program shall end. `page` is how many rows a page has.
bool press(TopModel& model, const TopKey& key, int page);

}  // namespace fenceline::cli
