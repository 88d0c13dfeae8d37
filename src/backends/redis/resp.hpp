// The protocol of a Redis server, RESP3 and RESP2: bytes in, values out. What a server sends is not trusted: depth,
// sizes and the total are bounded, so that garbage is an error and never memory without end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace fenceline::redis {

struct Value {
  enum class Kind {
    nil,
    integer,
    number,  // a double
    boolean,
    big_number,  // as text
    simple,      // a status: "OK"
    blob,
    verbatim,  // `text` without its three letters of format
    error,     // see error_word()
    array,
    set,
    map,   // key, value, key, value, ...
    push,  // nobody asked for it
  };

  Kind kind = Kind::nil;
  std::int64_t integer = 0;  // of an integer; of a boolean 0 or 1
  double number = 0;
  std::string text;          // of all that is text, errors included
  std::vector<Value> items;  // of array, set, map and push

  bool is_nil() const { return kind == Kind::nil; }
  bool is_error() const { return kind == Kind::error; }
  bool is_text() const { return kind == Kind::simple || kind == Kind::blob || kind == Kind::verbatim; }
  bool is_list() const { return kind == Kind::array || kind == Kind::set || kind == Kind::map || kind == Kind::push; }
  // "NOSCRIPT" of "NOSCRIPT No matching script"; empty unless an error.
  std::string_view error_word() const;

  bool operator==(const Value&) const = default;
};

// A whole number: an integer, or text that is one, as scripts answer what a Lua number would round. Nothing if it is
// anything else.
std::optional<std::int64_t> whole_number(const Value& value);

struct RespLimits {
  std::size_t blob_bytes_most = std::size_t{256} << 20;
  std::size_t line_bytes_most = std::size_t{64} << 10;   // an error may repeat what it was sent
  std::size_t items_most = std::size_t{2} << 20;         // of one answer, in all its lists together
  std::size_t answer_bytes_most = std::size_t{2} << 30;  // of one answer: a claim of a thousand jobs of 1 MiB
  int depth_most = 16;
};

class RespParser {
 public:
  explicit RespParser(RespLimits limits = {}) : limits_(limits) {}

  // Where the next bytes may be written: at least `least`. Then say how many there are.
  char* room(std::size_t least);
  std::size_t room_size() const { return buffer_.size() - end_; }
  void added(std::size_t bytes) { end_ += bytes; }
  void add(std::string_view bytes);

  // The next whole value, or nothing until more bytes come. Errors: broken, for ever: what follows cannot be told apart
  // any more.
  Result<std::optional<Value>> next();

  std::size_t waiting_bytes() const { return end_ - begin_; }

 private:
  struct Open {  // a list that is not whole yet
    Value value;
    std::size_t missing;
    bool is_attribute;  // said about the next value: read and dropped
  };

  std::unexpected<Error> garbage(std::string_view what);
  std::optional<std::string_view> line();
  // One element. Nothing: more bytes are needed or, if some were taken, a list began, which is in `open_`.
  Result<std::optional<Value>> element();
  Result<std::optional<Value>> sized_text(char type, std::string_view head, std::size_t head_bytes);
  Result<std::optional<Value>> list(char type, std::string_view head, std::size_t head_bytes);
  Result<std::optional<Value>> scalar(char type, std::string_view head, std::size_t head_bytes);
  void take(std::size_t bytes);

  RespLimits limits_;
  std::string buffer_;
  std::size_t begin_ = 0;      // of what is not read yet
  std::size_t end_ = 0;        // of what is there
  std::size_t line_seen_ = 0;  // so far from begin_ there is no end of a line
  std::vector<Open> open_;
  std::size_t items_ = 0;  // announced in the answer at hand
  std::size_t bytes_ = 0;  // of the answer at hand
  bool is_garbage_ = false;
};

// Appends "$5\r\nhello\r\n".
void append_blob(std::string& out, std::string_view text);
// Appends "*3\r\n".
void append_array_head(std::string& out, std::size_t items);

}  // namespace fenceline::redis
