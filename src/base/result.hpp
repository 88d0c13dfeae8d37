// What a call answers when the world says no. Three kinds of trouble, three answers: the world said
// no (a Result), we have a bug (check()), a library throws (its adapter catches and returns an Error).
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace fenceline {

enum class Code {
  held,  // someone else has it: come back later
  lost,  // you can no longer be sure you hold it: stop now
  not_found,
  conflict,     // the key is taken by something else: the message names it
  refused,      // not allowed, or below the class that was asked for
  denied,       // credentials, rights or a certificate: we are not let in, or must not go in
  full,         // no room: nothing changed
  invalid,      // the request is wrong: repeating it cannot help
  unavailable,  // not reached, nothing changed: safe to retry
  in_doubt,     // the reply was lost, it may have happened: repeat only what is idempotent
  broken,       // the store's disk failed: what was under way may have happened, nothing more will
};

// The name as it stands in the enum: "in_doubt".
std::string_view to_string(Code code);

struct Error {
  Code code;
  std::string message;  // lower case, no full stop: "lease deploy is held by node-b"

  bool operator==(const Error&) const = default;
};

template <class T>
using Result = std::expected<T, Error>;

// return fail(Code::held, "lease deploy is held by node-b");
inline std::unexpected<Error> fail(Code code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

}  // namespace fenceline
