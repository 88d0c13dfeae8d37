#include "model/json_check.hpp"

#include <charconv>
#include <cstdint>
#include <system_error>
#include <vector>

#include "base/utf8.hpp"

namespace fenceline {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The value of a hexadecimal digit; -1: it is none.
constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Scanner {
 public:
  Scanner(std::string_view text, int depth_max) : text_(text), depth_max_(static_cast<std::size_t>(depth_max)) {}

  JsonCheck run() {
    if (!values()) return {why_, at_ + 1};
    skip_space();
    if (at_ != text_.size()) return {JsonVerdict::bad, at_ + 1};
    return {};
  }

 private:
  enum class Inside : std::uint8_t { array, object };

  bool fails(JsonVerdict why) {
    why_ = why;
    return false;
  }

  bool ended() const { return at_ >= text_.size(); }
  char here() const { return ended() ? '\0' : text_[at_]; }  // a NUL in the text is good for nothing either
  bool take(char wanted) {
    if (here() != wanted || ended()) return false;
    ++at_;
    return true;
  }
  bool take_all(std::string_view word) {
    for (const char c : word) {
      if (!take(c)) return false;
    }
    return true;
  }
  void skip_space() {
    while (!ended() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }

  // One value with all that is in it. A loop, since the text decides how deep it goes.
  bool values() {
    while (true) {
      skip_space();
      bool opened = false;
      if (!value(opened)) return false;
      if (opened) continue;
      while (true) {  // a value ended
        if (open_.empty()) return true;
        skip_space();
        if (take(',')) {
          skip_space();
          if (open_.back() == Inside::object && !name()) return false;
          break;
        }
        if (!take(open_.back() == Inside::object ? '}' : ']')) return false;
        open_.pop_back();
      }
    }
  }

  // `opened`: an array or object that is not empty begins; its first value is next.
  bool value(bool& opened) {
    switch (here()) {
      case '{': return open(Inside::object, '}', opened);
      case '[': return open(Inside::array, ']', opened);
      case '"': return string();
      case 't': return take_all("true");
      case 'f': return take_all("false");
      case 'n': return take_all("null");
      default: return number();
    }
  }

  bool open(Inside inside, char closing, bool& opened) {
    if (open_.size() == depth_max_) return fails(JsonVerdict::too_deep);
    ++at_;
    skip_space();
    if (take(closing)) return true;
    open_.push_back(inside);
    opened = true;
    return inside == Inside::array || name();
  }

  // The name of a member and its colon.
  bool name() {
    if (!string()) return false;
    skip_space();
    return take(':');
  }

  bool string() {
    if (!take('"')) return false;
    while (!ended()) {
      const char c = text_[at_];
      if (c == '"') return ++at_, true;
      if (c == '\\') {
        ++at_;
        if (!escape()) return false;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        return false;
      } else if (static_cast<unsigned char>(c) < 0x80) {
        ++at_;
      } else {
        const std::size_t length = utf8_sequence_length(text_.substr(at_));
        if (length == 0) return false;
        at_ += length;
      }
    }
    return false;
  }

  bool escape() {
    constexpr std::string_view kSimple = "\"\\/bfnrt";
    if (!ended() && kSimple.find(here()) != std::string_view::npos) return ++at_, true;
    if (!take('u')) return false;
    std::uint32_t unit = 0;
    if (!code_unit(unit)) return false;
    if (unit >= 0xdc00 && unit <= 0xdfff) return fails(JsonVerdict::half_of_a_pair);
    if (unit < 0xd800 || unit > 0xdbff) return true;
    std::uint32_t second = 0;
    const bool whole = take('\\') && take('u') && code_unit(second) && second >= 0xdc00 && second <= 0xdfff;
    return whole || fails(JsonVerdict::half_of_a_pair);
  }

  bool code_unit(std::uint32_t& unit) {
    for (int i = 0; i < 4; ++i, ++at_) {
      const int digit = hex_value(here());
      if (digit < 0) return false;
      unit = unit * 16 + static_cast<std::uint32_t>(digit);
    }
    return true;
  }

  bool digits() {
    if (!is_digit(here())) return false;
    while (is_digit(here())) ++at_;
    return true;
  }

  bool number() {
    constexpr std::size_t kSurelyFinite = 300;  // so many digits without an exponent
    const std::size_t begin = at_;
    take('-');
    if (!take('0') && !digits()) return false;
    bool exact = at_ - begin < kSurelyFinite;
    if (take('.') && !digits()) return false;
    if (here() == 'e' || here() == 'E') {
      exact = false;
      ++at_;
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    return exact || is_finite(text_.substr(begin, at_ - begin)) || fails(JsonVerdict::number_too_large);
  }

  // Too small is zero; too large would be infinite to whoever reads it.
  static bool is_finite(std::string_view number) {
    double value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    if (read.ec != std::errc::result_out_of_range) return true;
    const std::size_t e = number.find_first_of("eE");
    return e != std::string_view::npos && number.find('-', e) != std::string_view::npos;
  }

  std::string_view text_;
  std::size_t depth_max_;
  std::size_t at_ = 0;
  std::vector<Inside> open_;
  JsonVerdict why_ = JsonVerdict::bad;
};

}  // namespace

JsonCheck check_json(std::string_view text, int depth_max) { return Scanner(text, depth_max).run(); }

}  // namespace fenceline
