#include "backends/redis/resp.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace fenceline::redis {
namespace {

constexpr std::size_t kRoomFirst = std::size_t{16} << 10;
constexpr std::size_t kRoomKept = std::size_t{1} << 20;  // after a large answer
constexpr std::size_t kReserveMost = 1024;               // items: what a server announces may never come
constexpr std::size_t kEndOfLine = 2;

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<double> parse_double(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_big_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Value text_value(Value::Kind kind, std::string_view text) {
  Value value;
  value.kind = kind;
  value.text = text;
  return value;
}

void append_number(std::string& out, std::size_t number) {
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, end);
}

}  // namespace

std::string_view Value::error_word() const {
  if (!is_error()) return {};
  return std::string_view(text).substr(0, text.find(' '));
}

std::optional<std::int64_t> whole_number(const Value& value) {
  if (value.kind == Value::Kind::integer) return value.integer;
  return value.is_text() || value.kind == Value::Kind::big_number ? parse_integer(value.text) : std::nullopt;
}

void append_blob(std::string& out, std::string_view text) {
  out += '$';
  append_number(out, text.size());
  out += "\r\n";
  out += text;
  out += "\r\n";
}

void append_array_head(std::string& out, std::size_t items) {
  out += '*';
  append_number(out, items);
  out += "\r\n";
}

char* RespParser::room(std::size_t least) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (buffer_.size() > kRoomKept) {
      buffer_.clear();
      buffer_.shrink_to_fit();
    }
  }
  if (room_size() < least && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (room_size() < least) buffer_.resize(std::max({kRoomFirst, buffer_.size() * 2, end_ + least}));
  return buffer_.data() + end_;
}

void RespParser::add(std::string_view bytes) {
  if (bytes.empty()) return;
  std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
  added(bytes.size());
}

std::unexpected<Error> RespParser::garbage(std::string_view what) {
  is_garbage_ = true;
  return fail(Code::broken, "the server's reply is malformed: " + std::string(what));
}

void RespParser::take(std::size_t bytes) {
  begin_ += bytes;
  bytes_ += bytes;
  line_seen_ = 0;
}

Result<std::optional<Value>> RespParser::next() {
  if (is_garbage_) return garbage("it was garbage before");
  for (;;) {
    const std::size_t before = begin_;
    Result<std::optional<Value>> found = element();
    if (!found) return found;
    if (bytes_ > limits_.answer_bytes_most) return garbage("it is too large");
    if (!*found) {
      if (begin_ != before) continue;  // a list began
      return found;
    }
    // What is whole may make whole what it is in.
    for (;;) {
      if (open_.empty()) {
        items_ = bytes_ = 0;
        return found;
      }
      Open& list = open_.back();
      if (!list.is_attribute) list.value.items.push_back(std::move(**found));
      if (--list.missing > 0) break;
      const bool is_attribute = list.is_attribute;
      *found = std::move(list.value);
      open_.pop_back();
      if (is_attribute) break;
    }
  }
}

// Without its end; nothing if that has not come yet.
std::optional<std::string_view> RespParser::line() {
  const std::string_view there(buffer_.data() + begin_, end_ - begin_);
  const std::size_t end = there.find('\n', line_seen_);
  if (end == std::string_view::npos) {
    line_seen_ = there.size();
    return std::nullopt;
  }
  return there.substr(0, end);
}

Result<std::optional<Value>> RespParser::element() {
  if (begin_ == end_) return std::nullopt;
  const char type = buffer_[begin_];
  if (std::strchr("+-:$*_#,(!=~%>|", type) == nullptr || type == '\0')
    return garbage("it begins with none of the known types");
  const std::optional<std::string_view> whole = line();
  if (!whole) {
    if (end_ - begin_ > limits_.line_bytes_most) return garbage("a line has no end");
    return std::nullopt;
  }
  if (whole->size() > limits_.line_bytes_most) return garbage("a line is too long");
  if (!whole->ends_with('\r') || whole->find('\r') != whole->size() - 1) return garbage("a line has no proper end");
  const std::string_view head = whole->substr(1, whole->size() - 2);
  const std::size_t head_bytes = whole->size() + 1;
  switch (type) {
    case '$':
    case '!':
    case '=': return sized_text(type, head, head_bytes);
    case '*':
    case '~':
    case '%':
    case '>':
    case '|': return list(type, head, head_bytes);
    default: return scalar(type, head, head_bytes);
  }
}

Result<std::optional<Value>> RespParser::sized_text(char type, std::string_view head, std::size_t head_bytes) {
  if (type == '$' && head == "-1") {
    take(head_bytes);
    return Value{};
  }
  const std::optional<std::int64_t> size = parse_integer(head);
  if (!size || *size < 0) return garbage("a text has no proper size");
  const auto bytes = static_cast<std::size_t>(*size);
  if (bytes > limits_.blob_bytes_most) return garbage("a text is too large");
  const std::size_t all = head_bytes + bytes + kEndOfLine;
  if (end_ - begin_ < all) return std::nullopt;
  const std::string_view body(buffer_.data() + begin_ + head_bytes, bytes + kEndOfLine);
  if (!body.ends_with("\r\n")) return garbage("a text does not end where it should");
  std::string_view text = body.substr(0, bytes);
  if (type == '=') {
    if (bytes < 4 || text[3] != ':') return garbage("a text has no format");
    text.remove_prefix(4);
  }
  Value value = text_value(type == '$'   ? Value::Kind::blob
                           : type == '!' ? Value::Kind::error
                                         : Value::Kind::verbatim,
                           text);
  take(all);
  return value;
}

Result<std::optional<Value>> RespParser::list(char type, std::string_view head, std::size_t head_bytes) {
  if (type == '*' && head == "-1") {
    take(head_bytes);
    return Value{};
  }
  const std::optional<std::int64_t> size = parse_integer(head);
  if (!size || *size < 0) return garbage("a list has no proper size");
  const bool is_paired = type == '%' || type == '|';
  if (static_cast<std::uint64_t>(*size) > limits_.items_most) return garbage("a list is too long");
  const std::size_t items = static_cast<std::size_t>(*size) * (is_paired ? 2 : 1);
  items_ += items;
  if (items_ > limits_.items_most) return garbage("a list is too long");
  if (open_.size() >= static_cast<std::size_t>(limits_.depth_most)) return garbage("its lists are too deep");
  Value value;
  value.kind = type == '~'                  ? Value::Kind::set
               : type == '%' || type == '|' ? Value::Kind::map
               : type == '>'                ? Value::Kind::push
                                            : Value::Kind::array;
  take(head_bytes);
  if (items == 0 && type != '|') return value;
  if (items == 0) return std::nullopt;  // nothing is said about what follows
  const std::size_t reserved = std::min(items, kReserveMost);
  open_.push_back({std::move(value), items, type == '|'});
  if (type != '|') open_.back().value.items.reserve(reserved);
  return std::nullopt;
}

Result<std::optional<Value>> RespParser::scalar(char type, std::string_view head, std::size_t head_bytes) {
  Value value;
  switch (type) {
    case '+': value = text_value(Value::Kind::simple, head); break;
    case '-': value = text_value(Value::Kind::error, head); break;
    case ':': {
      const std::optional<std::int64_t> number = parse_integer(head);
      if (!number) return garbage("an integer is none");
      value.kind = Value::Kind::integer;
      value.integer = *number;
      break;
    }
    case ',': {
      const std::optional<double> number = parse_double(head);
      if (!number) return garbage("a number is none");
      value.kind = Value::Kind::number;
      value.number = *number;
      break;
    }
    case '#':
      if (head != "t" && head != "f") return garbage("a boolean is none");
      value.kind = Value::Kind::boolean;
      value.integer = head == "t" ? 1 : 0;
      break;
    case '(':
      if (!is_big_number(head)) return garbage("a big number is none");
      value = text_value(Value::Kind::big_number, head);
      break;
    default:
      if (!head.empty()) return garbage("a nil has a value");
  }
  take(head_bytes);
  return value;
}

}  // namespace fenceline::redis
