#include "backends/redis/msgpack.hpp"

#include <limits>

namespace fenceline::redis {

void MsgpackWriter::big_endian(std::uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) out_ += static_cast<char>(value >> shift & 0xff);
}

MsgpackWriter& MsgpackWriter::list(std::size_t items) {
  if (items < 16) {
    out_ += static_cast<char>(0x90 | items);
  } else if (items <= 0xffff) {
    out_ += '\xdc';
    big_endian(items, 2);
  } else {
    out_ += '\xdd';
    big_endian(items, 4);
  }
  return *this;
}

MsgpackWriter& MsgpackWriter::map(std::size_t pairs) {
  if (pairs < 16) {
    out_ += static_cast<char>(0x80 | pairs);
  } else {
    out_ += '\xdf';
    big_endian(pairs, 4);
  }
  return *this;
}

MsgpackWriter& MsgpackWriter::number(std::int64_t value) {
  if (value >= -32 && value < 128) {
    out_ += static_cast<char>(value);
  } else if (value >= std::numeric_limits<std::int16_t>::min() && value <= std::numeric_limits<std::int16_t>::max()) {
    out_ += '\xd1';
    big_endian(static_cast<std::uint64_t>(value), 2);
  } else if (value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max()) {
    out_ += '\xd2';
    big_endian(static_cast<std::uint64_t>(value), 4);
  } else {
    out_ += '\xd3';
    big_endian(static_cast<std::uint64_t>(value), 8);
  }
  return *this;
}

MsgpackWriter& MsgpackWriter::text(std::string_view value) {
  if (value.size() < 32) {
    out_ += static_cast<char>(0xa0 | value.size());
  } else if (value.size() <= 0xff) {
    out_ += '\xd9';
    big_endian(value.size(), 1);
  } else if (value.size() <= 0xffff) {
    out_ += '\xda';
    big_endian(value.size(), 2);
  } else {
    out_ += '\xdb';
    big_endian(value.size(), 4);
  }
  out_ += value;
  return *this;
}

std::uint8_t MsgpackReader::byte() { return static_cast<std::uint8_t>(big_endian(1)); }

std::uint64_t MsgpackReader::big_endian(int bytes) {
  if (failed_ || bytes_.size() - at_ < static_cast<std::size_t>(bytes)) {
    failed_ = true;
    return 0;
  }
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes_[at_++]);
  return value;
}

std::size_t MsgpackReader::sized(std::uint64_t size, std::size_t least_bytes_each) {
  if (failed_ || size > (bytes_.size() - at_) / least_bytes_each) {
    failed_ = true;
    return 0;
  }
  return static_cast<std::size_t>(size);
}

std::size_t MsgpackReader::list() {
  const std::uint8_t head = byte();
  if ((head & 0xf0) == 0x90) return sized(head & 0x0f, 1);
  if (head == 0xdc) return sized(big_endian(2), 1);
  if (head == 0xdd) return sized(big_endian(4), 1);
  failed_ = true;
  return 0;
}

std::size_t MsgpackReader::map() {
  const std::uint8_t head = byte();
  if ((head & 0xf0) == 0x80) return sized(head & 0x0f, 2);
  if (head == 0xde) return sized(big_endian(2), 2);
  if (head == 0xdf) return sized(big_endian(4), 2);
  if (head == 0x90) return 0;  // an empty table of Lua's says nothing of what it would hold
  failed_ = true;
  return 0;
}

std::int64_t MsgpackReader::number() {
  const std::uint8_t head = byte();
  if (failed_) return 0;
  if (head < 0x80) return head;
  if (head >= 0xe0) return static_cast<std::int8_t>(head);
  switch (head) {
    case 0xcc: return static_cast<std::int64_t>(big_endian(1));
    case 0xcd: return static_cast<std::int64_t>(big_endian(2));
    case 0xce: return static_cast<std::int64_t>(big_endian(4));
    case 0xcf: {
      const std::uint64_t value = big_endian(8);
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) break;
      return static_cast<std::int64_t>(value);
    }
    case 0xd0: return static_cast<std::int8_t>(big_endian(1));
    case 0xd1: return static_cast<std::int16_t>(big_endian(2));
    case 0xd2: return static_cast<std::int32_t>(big_endian(4));
    case 0xd3: return static_cast<std::int64_t>(big_endian(8));
    default: break;
  }
  failed_ = true;
  return 0;
}

std::string_view MsgpackReader::text() {
  const std::uint8_t head = byte();
  std::size_t size = 0;
  if ((head & 0xe0) == 0xa0) size = sized(head & 0x1f, 1);
  else if (head == 0xd9 || head == 0xc4) size = sized(big_endian(1), 1);
  else if (head == 0xda || head == 0xc5) size = sized(big_endian(2), 1);
  else if (head == 0xdb || head == 0xc6) size = sized(big_endian(4), 1);
  else failed_ = true;
  if (failed_) return {};
  const std::string_view value = bytes_.substr(at_, size);
  at_ += size;
  return value;
}

void MsgpackReader::skip() { skip(0); }

void MsgpackReader::skip(int depth) {
  if (failed_ || at_ == bytes_.size() || depth > kDepthMost) {
    failed_ = true;
    return;
  }
  const auto head = static_cast<std::uint8_t>(bytes_[at_]);
  const bool is_list = (head & 0xf0) == 0x90 || head == 0xdc || head == 0xdd;
  const bool is_map = (head & 0xf0) == 0x80 || head == 0xde || head == 0xdf;
  const bool is_text = (head & 0xe0) == 0xa0 || (head >= 0xd9 && head <= 0xdb) || (head >= 0xc4 && head <= 0xc6);
  if (is_list || is_map) {
    for (std::size_t left = is_list ? list() : 2 * map(); left > 0 && !failed_; --left) skip(depth + 1);
  } else if (is_text) {
    text();
  } else if (head >= 0xc0 && head <= 0xc3) {  // nil, true, false
    at_ += head == 0xc1 ? 0 : 1;
    failed_ = head == 0xc1;
  } else if (head == 0xca || head == 0xcb) {
    at_ += 1;
    big_endian(head == 0xca ? 4 : 8);
  } else {
    number();
  }
}

}  // namespace fenceline::redis
