#include "cli/operate/top_keys.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>

#include "base/utf8.hpp"

namespace fenceline::cli {
namespace {

using Kind = TopKey::Kind;

constexpr std::size_t kFilterMost = 60;
constexpr int kLastRow = std::numeric_limits<int>::max() / 2;

// What terminals send, in both of their modes.
const std::map<std::string_view, Kind>& orders() {
  static const std::map<std::string_view, Kind> known{
      {"\x1b[A", Kind::up},       {"\x1bOA", Kind::up},         {"\x1b[B", Kind::down}, {"\x1bOB", Kind::down},
      {"\x1b[5~", Kind::page_up}, {"\x1b[6~", Kind::page_down}, {"\x1b[H", Kind::home}, {"\x1bOH", Kind::home},
      {"\x1b[1~", Kind::home},    {"\x1b[F", Kind::end},        {"\x1bOF", Kind::end},  {"\x1b[4~", Kind::end},
      {"\x1b[Z", Kind::back_tab}};
  return known;
}

// How long the order at the front is; empty: it may not be whole yet. 1: the key Escape.
std::optional<std::size_t> order_length(std::string_view bytes, bool complete) {
  if (bytes.size() == 1) return complete ? std::optional<std::size_t>(1) : std::nullopt;
  if (bytes[1] == 'O') {
    if (bytes.size() >= 3) return 3;
    return complete ? std::optional<std::size_t>(2) : std::nullopt;
  }
  if (bytes[1] != '[') return 1;
  for (std::size_t i = 2; i < bytes.size(); ++i) {
    if (bytes[i] >= '@' && bytes[i] <= '~') return i + 1;
  }
  return complete ? std::optional(bytes.size()) : std::nullopt;
}

void show(TopModel& model, int pane) {
  model.pane = static_cast<TopPane>((pane + kTopPanes) % kTopPanes);
  model.cursor = 0;
}

void type(TopModel& model, const TopKey& key) {
  switch (key.kind) {
    case Kind::enter: model.typing = false; break;
    case Kind::escape:
      model.typing = false;
      model.filter.clear();
      break;
    case Kind::backspace:
      while (!model.filter.empty() && (static_cast<unsigned char>(model.filter.back()) & 0xc0U) == 0x80U)
        model.filter.pop_back();
      if (!model.filter.empty()) model.filter.pop_back();
      break;
    case Kind::letter:
      if (model.filter.size() + key.letter.size() <= kFilterMost) model.filter += key.letter;
      break;
    default: break;
  }
  model.cursor = 0;
}

// Whether the program shall end.
bool press_letter(TopModel& model, const std::string& letter) {
  if (letter == "q" || letter == "Q") return true;
  if (letter == "?" || letter == "h") model.help = true;
  else if (letter == "p" || letter == " ") model.paused = !model.paused;
  else if (letter == "/") model.typing = true;
  else if (letter == "s")
    ++model.sort.at(static_cast<std::size_t>(model.pane == TopPane::all ? TopPane::queues : model.pane));
  else if (letter == "j") ++model.cursor;
  else if (letter == "k") --model.cursor;
  else if (letter >= "0" && letter <= "5" && letter.size() == 1) show(model, letter[0] - '0');
  return false;
}

}  // namespace

std::vector<TopKey> top_keys(std::string& bytes, bool complete) {
  std::vector<TopKey> keys;
  while (!bytes.empty()) {
    std::size_t length = 1;
    const char first = bytes.front();
    if (first == '\x1b') {
      const std::optional<std::size_t> order = order_length(bytes, complete);
      if (!order) break;
      length = *order;
      if (length == 1) keys.push_back({Kind::escape});
      else if (const auto found = orders().find(std::string_view(bytes).substr(0, length)); found != orders().end())
        keys.push_back({found->second});
    } else if (first == '\r' || first == '\n') {
      keys.push_back({Kind::enter});
    } else if (first == '\t') {
      keys.push_back({Kind::tab});
    } else if (first == '\x7f' || first == '\b') {
      keys.push_back({Kind::backspace});
    } else if (static_cast<unsigned char>(first) >= 0x20) {
      length = utf8_sequence_length(bytes);
      if (length == 0 && !complete && bytes.size() < 4 && static_cast<unsigned char>(first) >= 0xc2)
        break;  // the rest of a letter may follow
      if (length > 0) keys.push_back({Kind::letter, bytes.substr(0, length)});
      length = std::max<std::size_t>(1, length);
    }
    bytes.erase(0, length);
  }
  return keys;
}

bool press(TopModel& model, const TopKey& key, int page) {
  if (model.typing) {
    type(model, key);
    return false;
  }
  if (model.help) {  // any key ends it
    model.help = false;
    return key == TopKey{Kind::letter, "q"};
  }
  switch (key.kind) {
    case Kind::letter: return press_letter(model, key.letter);
    case Kind::tab: show(model, static_cast<int>(model.pane) + 1); break;
    case Kind::back_tab: show(model, static_cast<int>(model.pane) - 1); break;
    case Kind::escape:
      if (!model.filter.empty()) model.filter.clear();
      else show(model, 0);
      break;
    case Kind::up: --model.cursor; break;
    case Kind::down: ++model.cursor; break;
    case Kind::page_up: model.cursor -= page; break;
    case Kind::page_down: model.cursor += page; break;
    case Kind::home: model.cursor = 0; break;
    case Kind::end: model.cursor = kLastRow; break;
    case Kind::enter:
    case Kind::backspace: break;
  }
  return false;
}

}  // namespace fenceline::cli
