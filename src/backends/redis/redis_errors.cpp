#include "backends/redis/redis_errors.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace fenceline::redis {
namespace {

struct Ours {
  std::string_view word;
  Code code;
};
constexpr std::array kOurs = {Ours{"FLHELD", Code::held},          Ours{"FLLOST", Code::lost},
                              Ours{"FLNOTFOUND", Code::not_found}, Ours{"FLCONFLICT", Code::conflict},
                              Ours{"FLREFUSED", Code::refused},    Ours{"FLFULL", Code::full},
                              Ours{"FLINVALID", Code::invalid}};

struct Theirs {
  std::string_view word;
  Code code;
  std::string_view what;    // after the address
  std::string_view remedy;  // empty: it passes by itself
};
constexpr std::array kTheirs = {
    Theirs{"LOADING", Code::unavailable, "is still loading its data", ""},
    Theirs{"BUSY", Code::unavailable, "is busy with a script",
           "find it with redis-cli SLOWLOG GET, end it with SCRIPT KILL or FUNCTION KILL"},
    Theirs{"TRYAGAIN", Code::unavailable, "is moving the keys", ""},
    Theirs{"CLUSTERDOWN", Code::unavailable, "is a cluster that is down", "check with redis-cli CLUSTER INFO"},
    Theirs{"NOREPLICAS", Code::unavailable, "has too few connected replicas", "see min-replicas-to-write"},
    Theirs{"MASTERDOWN", Code::unavailable, "is a replica that has lost its primary", "name the primary"},
    Theirs{"READONLY", Code::unavailable, "is a replica and does not accept writes", "name the primary"},
    Theirs{"OOM", Code::full, "is out of memory; nothing was changed",
           "raise maxmemory, or make room with fenceline tidy"},
    Theirs{"MISCONF", Code::full, "does not accept writes because it cannot save to disk",
           "check its log and free disk space"},
    Theirs{"NOPERM", Code::denied, "denied this user the command", "grant the permissions that docs/redis.md lists"},
    Theirs{"NOAUTH", Code::denied, "requires a password", "put USER:PASSWORD@ into the URL, or name a password_file"},
    Theirs{"WRONGPASS", Code::denied, "rejected the user and password, or the user is disabled",
           "check the user and password in the URL"},
    Theirs{"MOVED", Code::refused, "is a Redis Cluster, which is not supported", "use a server that is not one"},
    Theirs{"ASK", Code::refused, "is a Redis Cluster, which is not supported", "use a server that is not one"},
    Theirs{"CROSSSLOT", Code::refused, "is a Redis Cluster, which is not supported", "use a server that is not one"},
    Theirs{"WRONGTYPE", Code::conflict, "has a key of another type under our prefix", "use another prefix in the URL"},
    Theirs{"NOSCRIPT", Code::refused, "does not keep loaded scripts", "the user needs permission for SCRIPT LOAD"},
    Theirs{"NOPROTO", Code::refused, "does not speak RESP3", "use Redis 7.0 or newer"},
};

// A function that may write is refused as a whole, where a script is stopped at its first write.
bool is_writing_refused(const Value& value) {
  constexpr std::array<std::string_view, 3> kWords{"OOM", "MISCONF", "NOREPLICAS"};
  return std::ranges::find(kWords, value.error_word()) != kWords.end();
}

}  // namespace

bool has_no_functions(const Value& value) { return is_function_refused(value) && !is_writing_refused(value); }

bool is_unknown_script(const Value& value) {
  return value.is_error() && (value.error_word() == "NOSCRIPT" || value.text.starts_with("ERR Function not found") ||
                              is_function_refused(value));
}

bool is_function_refused(const Value& value) {
  if (!value.is_error()) return false;
  // What a command inside of it is refused with says where.
  if (value.text.find(" script: ") != std::string::npos) return false;
  if (value.error_word() == "NOPERM") return value.text.find("'fcall'") != std::string::npos;
  return is_writing_refused(value) || value.text.starts_with("ERR unknown command 'FCALL'");
}

bool is_library_there(const Value& value) {
  return value.is_error() && value.text.starts_with("ERR Library ") && value.text.ends_with(" already exists");
}

bool is_read_only(const Value& value) { return value.is_error() && value.error_word() == "READONLY"; }

Error error_of(const Value& error, std::string_view shown_url) {
  const std::string_view word = error.error_word();
  const std::string at(shown_url);
  const std::string said = one_line(std::string_view(error.text).substr(std::min(error.text.size(), word.size() + 1)));
  for (const Ours& ours : kOurs) {
    if (word == ours.word) return {ours.code, said};
  }
  for (const Theirs& theirs : kTheirs) {
    if (word != theirs.word) continue;
    return {theirs.code, at + " " + std::string(theirs.what) + ": " + said +
                             (theirs.remedy.empty() ? "" : "; " + std::string(theirs.remedy))};
  }
  const std::string whole = one_line(error.text);
  if (whole.find("max number of clients") != std::string::npos)
    return {Code::unavailable, at + " accepts no more connections: " + whole + "; raise maxclients"};
  if (whole.starts_with("ERR unknown command") && whole.find("HELLO") != std::string::npos)
    return {Code::refused, at + " is too old: use Redis 7.0 or newer"};
  if (whole.starts_with("ERR DB index"))
    return {Code::invalid, at + " has no database with that number; check the URL"};
  if (whole.starts_with("ERR AUTH"))
    return {Code::denied, at + " has no password set, and the URL gives one: " + whole};
  return {Code::refused, at + " said " + whole};
}

Error without_answer(CallKind kind, std::string_view shown_url) {
  if (kind == CallKind::look) return {Code::unavailable, "no reply from " + std::string(shown_url)};
  return {Code::in_doubt, "the reply from " + std::string(shown_url) + " was lost: the call may have taken effect"};
}

Error not_reached(std::string_view shown_url, std::string_view why) {
  return {Code::unavailable, "cannot reach " + std::string(shown_url) + ": " + one_line(why)};
}

}  // namespace fenceline::redis
