#include "backends/redis/command.hpp"

#include <openssl/evp.h>

#include <array>
#include <atomic>

#include "backends/redis/resp.hpp"
#include "base/check.hpp"

namespace fenceline::redis {
namespace {

std::size_t next_number() {
  static std::atomic<std::size_t> made{0};
  return made++;
}

constexpr std::size_t kScriptWords = 3;  // EVALSHA, the script, and how many keys

}  // namespace

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  check(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1 && size == 20,
        "OpenSSL has SHA-1");
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4];
    hex += "0123456789abcdef"[digest[i] & 15];
  }
  return hex;
}

Script::Script(std::string text, std::string function, const Library* library)
    : text_(std::move(text)),
      sha_(sha1_hex(text_)),
      function_(std::move(function)),
      library_(library),
      number_(next_number()) {}

Command::Command(std::string_view word) { arg(word); }

Command& Command::key(std::string_view name) {
  check(!script_ || keys_ == words_, "keys come before arguments");
  ++keys_;
  return arg(name);
}

Command& Command::arg(std::string_view value) {
  ++words_;
  append_blob(body_, value);
  return *this;
}

Command& Command::reserve(std::size_t bytes) {
  body_.reserve(body_.size() + bytes);
  return *this;
}

Command Command::in_full() const {
  Command copy = *this;
  copy.is_full_ = script_ != nullptr;
  return copy;
}

void Command::append_to(std::string& out, bool by_function) const {
  if (!script_) {
    append_array_head(out, words_);
  } else {
    append_array_head(out, kScriptWords + words_);
    by_function = by_function && !is_full_ && script_->library();
    append_blob(out, is_full_ ? "EVAL" : by_function ? "FCALL" : "EVALSHA");
    append_blob(out, is_full_ ? script_->text() : by_function ? script_->function() : script_->sha());
    append_blob(out, std::to_string(keys_));
  }
  out += body_;
}

}  // namespace fenceline::redis
