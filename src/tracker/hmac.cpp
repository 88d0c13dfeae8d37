#include "tracker/hmac.hpp"

namespace fenceline::tracker {
namespace {

constexpr std::size_t kBlockBytes = 64;

std::string_view bytes_of(const Sha256& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

}  // namespace

Sha256 hmac_sha256(std::string_view key, std::string_view text) {
  std::string block(key);
  if (block.size() > kBlockBytes) block = bytes_of(sha256(key));
  block.resize(kBlockBytes, '\0');
  std::string inner = block;
  std::string outer = block;
  for (char& byte : inner) byte = static_cast<char>(byte ^ 0x36);
  for (char& byte : outer) byte = static_cast<char>(byte ^ 0x5c);
  inner += text;
  outer += bytes_of(sha256(inner));
  return sha256(outer);
}

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const std::uint8_t byte : hmac_sha256(key, text)) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

bool same_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

}  // namespace fenceline::tracker
