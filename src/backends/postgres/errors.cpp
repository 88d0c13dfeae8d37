#include "backends/postgres/errors.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <array>

namespace fenceline::postgres {
namespace {

bool is_one_of(std::string_view state, std::initializer_list<std::string_view> states) {
  return std::find(states.begin(), states.end(), state) != states.end();
}

}  // namespace

bool passes_by_itself(std::string_view state) { return is_one_of(state, {"40P01", "40001", "55P03", "57014"}); }

bool ends_the_connection(std::string_view state) {
  return state.empty() || state.starts_with("08") ||
         is_one_of(state, {"57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04", "40003"});
}

bool is_of_a_shared_session(std::string_view state) { return is_one_of(state, {"26000", "42P05"}); }

ServerError server_error_in(const pg_result* result) {
  const auto field = [&](int code) {
    const char* text = PQresultErrorField(result, code);
    return std::string(text ? text : "");
  };
  return {field(PG_DIAG_SQLSTATE), field(PG_DIAG_MESSAGE_PRIMARY), field(PG_DIAG_CONSTRAINT_NAME)};
}

Error error_of(const ServerError& error, std::string_view shown_url) {
  const std::string_view state = error.state;
  const std::string said = one_line(error.message);
  const std::string at(shown_url);
  if (state == "FL001" || state == "FL007") return {Code::conflict, said};
  if (state == "FL002") return {Code::refused, said};
  if (state == "FL003") return {Code::not_found, said};
  if (state == "FL004" || state == "FL005") return {Code::lost, said};
  if (state == "22023") return {Code::invalid, said};
  // The table itself keeps fences below their end, so that a claim need not look at each.
  if (state == "23514" && error.constraint == "fences_left")
    return {Code::refused, "no fences are left: the largest is 2^53-1"};
  if (passes_by_itself(state)) return {Code::unavailable, at + " is busy: " + said};
  if (state == "53100") return {Code::full, at + " has no room: " + said};
  if (state.starts_with("53") || ends_the_connection(state) || is_of_a_shared_session(state))
    return {Code::unavailable, "cannot reach " + at + ": " + said};
  if (state == kNotBelieved)
    return {Code::denied, at + ": certificate verification failed: " + said +
                              "; check sslmode and sslrootcert in the URL, and the server's certificate"};
  if (state.starts_with("28"))
    return {Code::denied, at + " refused the connection: " + said +
                              "; set PGPASSWORD or ~/.pgpass, and check the server's pg_hba.conf"};
  if (state == "42501")
    return {Code::denied, at + ": " + said + "; the role needs the privileges that docs/postgres.md lists"};
  if (state == "3D000") return {Code::not_found, at + ": " + said + "; create it with createdb"};
  if (is_one_of(state, {"22021", "22P05"}))
    return {Code::invalid, "a text contains a NUL byte or is not valid UTF-8, which this store cannot keep"};
  if (is_one_of(state, {"3F000", "42P01", "42703", "42883"}))
    return {Code::not_found, at + " is not set up for this version (" + said + "); run: fenceline migrate"};
  if (state == "25006") return {Code::refused, at + " is read-only, perhaps a standby; name the primary"};
  if (state.starts_with("58") || state.starts_with("XX")) return {Code::broken, at + " failed: " + said};
  return {Code::refused, at + " said " + std::string(state) + ": " + said};
}

Error without_answer(CallKind kind, std::string_view shown_url) {
  if (kind == CallKind::look) return {Code::unavailable, "no reply from " + std::string(shown_url)};
  return {Code::in_doubt, "the reply from " + std::string(shown_url) + " was lost: the call may have taken effect"};
}

}  // namespace fenceline::postgres
