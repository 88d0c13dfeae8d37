// MessagePack, as far as scripts and their callers speak it: whole numbers, texts, lists and maps. Redis's own cmsgpack
// reads and writes the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fenceline::redis {

class MsgpackWriter {
 public:
  // Writes behind what is in `out` already.
  explicit MsgpackWriter(std::string& out) : out_(out) {}

  // So many items follow; of a map, so many pairs.
  MsgpackWriter& list(std::size_t items);
  MsgpackWriter& map(std::size_t pairs);
  MsgpackWriter& number(std::int64_t value);
  MsgpackWriter& text(std::string_view value);

 private:
  void big_endian(std::uint64_t value, int bytes);

  std::string& out_;
};

// What was stored is not trusted: one that reads something else than it asks for has failed for good, answers nothing
// but empty values from then on, and never reads past the end. Texts are views of what it reads.
class MsgpackReader {
 public:
  explicit MsgpackReader(std::string_view bytes) : bytes_(bytes) {}

  // How many items follow: never more than there are bytes left.
  std::size_t list();
  std::size_t map();
  std::int64_t number();
  std::string_view text();
  // The next value, whatever it is, with all that is in it.
  void skip();

  bool has_failed() const { return failed_; }
  bool is_at_end() const { return at_ == bytes_.size(); }
  std::string_view rest() const { return bytes_.substr(at_); }

 private:
  static constexpr int kDepthMost = 16;

  std::uint64_t big_endian(int bytes);
  std::size_t sized(std::uint64_t size, std::size_t least_bytes_each);
  std::uint8_t byte();
  void skip(int depth);

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace fenceline::redis
