// How every call answers: a Result is a value or an Error, and nothing throws for what the world does.
//
//   fenceline::Result<fenceline::JobId> id = client->enqueue("mail", payload);
//   if (!id) return std::cerr << to_string(id.error().code) << ": " << id.error().message << "\n", 1;
//   use(*id);
//
// A Code says what to do next; a message is for people.
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

// The name of the enumerator: "in_doubt".
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
