// What is sent to the server: a command and its arguments, or a script and its keys and arguments.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace fenceline::redis {

// Functions that a server defines once and keeps under this name, until somebody removes them or it forgets all it had.
struct Library {
  std::string name;
  std::string text;
};

std::string sha1_hex(std::string_view text);

// Lua, known to the server by the SHA-1 of its text, or by the name of a function that does the same. Made once, at the
// start of the program, and kept to its end.
class Script {
 public:
  explicit Script(std::string text, std::string function = {}, const Library* library = nullptr);
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  const std::string& text() const { return text_; }
  const std::string& sha() const { return sha_; }
  const std::string& function() const { return function_; }
  // That has the function; none if it is a script alone.
  const Library* library() const { return library_; }
  // Counts the scripts of this process from 0.
  std::size_t number() const { return number_; }

 private:
  std::string text_;
  std::string sha_;
  std::string function_;
  const Library* library_;
  std::size_t number_;
};

// Command(claim).key("fl:{mail}:ready").arg(owner).arg(30'000), or Command("HDEL").key(lock).arg(field). All keys come
// before the first argument.
class Command {
 public:
  explicit Command(std::string_view word);
  explicit Command(const Script& script) : script_(&script) {}

  Command& key(std::string_view name);
  Command& arg(std::string_view value);
  Command& arg(const char* value) { return arg(std::string_view(value)); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) Command& arg(T number) { return arg(std::string_view(std::to_string(number))); }
  // For many arguments: room for so many bytes of them.
  Command& reserve(std::size_t bytes);

  // The same with the text of its script instead of a name: it runs whatever the server has forgotten.
  Command in_full() const;

  // That the server must know; none if there is none or its text is sent along.
  const Script* script() const { return is_full_ ? nullptr : script_; }
  // By its function, if it has one and `by_function` says so; else by its SHA-1.
  void append_to(std::string& out, bool by_function = false) const;
  std::size_t size() const { return body_.size(); }

 private:
  const Script* script_ = nullptr;
  bool is_full_ = false;
  std::string body_;  // encoded, without the head
  std::size_t keys_ = 0;
  std::size_t words_ = 0;
};

}  // namespace fenceline::redis
