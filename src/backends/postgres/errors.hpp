// What the server says no with, in our words. Messages are one line and hold no secret.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/text.hpp"

struct pg_result;  // of libpq

namespace fenceline::postgres {

// Whether a call that stayed without an answer may have changed something. A claim is a change that most often finds
// nothing; a release one that may be lost.
enum class CallKind { look, change, claim, release };

struct ServerError {
  std::string state;  // SQLSTATE; empty: the connection broke
  std::string message;
  std::string constraint = {};  // that was violated
};

// What an answer of libpq says; the message may be empty.
ServerError server_error_in(const pg_result* result);

// In place of an SQLSTATE: the server's certificate is not one that the URL trusts.
inline constexpr std::string_view kNotBelieved = "FLTLS";

// Rolled back for a reason that passes: a deadlock, a lock that was not had, a statement that took too long.
bool passes_by_itself(std::string_view state);
// The server ends the connection: whether the call was committed before is not known.
bool ends_the_connection(std::string_view state);
// The server does not know a prepared statement, or knows it already: a pooler stands between, and sessions are shared.
bool is_of_a_shared_session(std::string_view state);

// For everything that was rolled back, and for connections that were not made.
Error error_of(const ServerError& error, std::string_view shown_url);
// No answer came to a call that was sent.
Error without_answer(CallKind kind, std::string_view shown_url);

}  // namespace fenceline::postgres
