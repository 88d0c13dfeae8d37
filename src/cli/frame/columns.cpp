#include "cli/frame/columns.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/utf8.hpp"

namespace fenceline::cli {
namespace {

struct Range {
  char32_t first, last;
};

// After Unicode's EastAsianWidth.txt (W and F) and its marks, in the blocks that names are written in.
constexpr std::array<Range, 17> kWide{{{0x1100, 0x115f},
                                       {0x231a, 0x231b},
                                       {0x2e80, 0x303e},
                                       {0x3041, 0x33ff},
                                       {0x3400, 0x4dbf},
                                       {0x4e00, 0x9fff},
                                       {0xa000, 0xa4cf},
                                       {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff},
                                       {0xfe30, 0xfe6f},
                                       {0xff00, 0xff60},
                                       {0xffe0, 0xffe6},
                                       {0x1f300, 0x1f64f},
                                       {0x1f680, 0x1f6ff},
                                       {0x1f900, 0x1f9ff},
                                       {0x20000, 0x2fffd},
                                       {0x30000, 0x3fffd}}};
constexpr std::array<Range, 8> kNone{{{0x0300, 0x036f},
                                      {0x0483, 0x0489},
                                      {0x0591, 0x05bd},
                                      {0x064b, 0x065f},
                                      {0x200b, 0x200f},
                                      {0x20d0, 0x20ff},
                                      {0xfe00, 0xfe0f},
                                      {0xfe20, 0xfe2f}}};

template <std::size_t N>
bool among(const std::array<Range, N>& ranges, char32_t letter) {
  return std::ranges::any_of(ranges, [&](const Range& range) { return letter >= range.first && letter <= range.last; });
}

struct Piece {
  std::size_t bytes = 1;
  int columns = 1;
};

// The first letter, or the first order about colours.
Piece first_piece(std::string_view text) {
  if (text.starts_with("\x1b[")) {
    const std::size_t end = text.find('m');
    if (end != std::string_view::npos) return {end + 1, 0};
  }
  const std::size_t length = utf8_sequence_length(text);
  if (length < 2) return {};
  constexpr std::array<unsigned char, 5> kFirst{0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t letter = static_cast<unsigned char>(text[0]) & kFirst.at(length);
  for (std::size_t i = 1; i < length; ++i) letter = letter << 6U | (static_cast<unsigned char>(text[i]) & 0x3fU);
  return {length, among(kNone, letter) ? 0 : among(kWide, letter) ? 2 : 1};
}

}  // namespace

int columns_of(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Piece piece = first_piece(text);
    columns += piece.columns;
    text.remove_prefix(piece.bytes);
  }
  return columns;
}

std::vector<std::string> wrapped_to_columns(std::string_view text, int width) {
  const int room = std::max(width, 2);  // the widest letter has two columns
  std::vector<std::string> lines{""};
  int taken = 0;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, blank);
    text.remove_prefix(std::min(blank + 1, text.size()));
    const int columns = columns_of(word);
    if (word.empty()) continue;
    if (taken > 0 && taken + 1 + columns > room) {
      lines.emplace_back();
      taken = 0;
    }
    if (taken > 0) {
      lines.back() += ' ';
      taken += 1;
    }
    while (!word.empty()) {
      const Piece piece = first_piece(word);
      if (taken + piece.columns > room) {
        lines.emplace_back();
        taken = 0;
      }
      lines.back().append(word.substr(0, piece.bytes));
      taken += piece.columns;
      word.remove_prefix(piece.bytes);
    }
  }
  return lines;
}

std::string cut_to_columns(std::string_view text, int width, std::string_view end) {
  if (columns_of(text) <= width) return std::string(text);
  const int room = std::max(0, width - columns_of(end));
  std::string out;
  int taken = 0;
  bool steered = false;
  while (!text.empty()) {
    const Piece piece = first_piece(text);
    if (taken + piece.columns > room) break;
    steered = steered || text.front() == '\x1b';
    out.append(text.substr(0, piece.bytes));
    taken += piece.columns;
    text.remove_prefix(piece.bytes);
  }
  out += end.substr(0, static_cast<std::size_t>(std::max(0, width)));
  return steered ? out + "\x1b[0m" : out;
}

}  // namespace fenceline::cli
