// What the server says no with, in our words. Messages are one line, say what to do, and hold no secret.
#pragma once

#include <string>
#include <string_view>

#include "backends/redis/resp.hpp"
#include "base/result.hpp"
#include "base/text.hpp"

namespace fenceline::redis {

// Whether a call that stayed without an answer may have changed something.
enum class CallKind { look, change };

// Of a call of a script or function: the server did not run it, and would run its text, as it does not know the script
// or the function, or is_function_refused().
bool is_unknown_script(const Value& value);
// A function was not run: this user may call none, the server knows none, or takes no writes just now.
bool is_function_refused(const Value& value);
// The same, and it will be so the next time.
bool has_no_functions(const Value& value);
// A library was loaded before, perhaps by somebody else.
bool is_library_there(const Value& value);
// This server takes no writes (any more): another may stand at its address by now.
bool is_read_only(const Value& value);

// Of an error that the server answered with: the command did nothing, unless it was a script that failed in its middle.
// A script of ours says no by error_reply('FLHELD lock a is held'): held with the rest as its message; so do FLLOST,
// FLNOTFOUND, FLCONFLICT, FLREFUSED, FLFULL, FLINVALID.
Error error_of(const Value& error, std::string_view shown_url);
// No answer came to a call that was sent.
Error without_answer(CallKind kind, std::string_view shown_url);
// Nothing was sent.
Error not_reached(std::string_view shown_url, std::string_view why);

}  // namespace fenceline::redis
