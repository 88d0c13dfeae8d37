// Messages say what became of a call: "nothing was changed", "it may have happened". When a message is reported under
// another code (a later try failed, the request was withdrawn), the first verdict is wrong and must go.
#pragma once

#include <string>

namespace fenceline {

// The message without its verdict: "store a.db: the commit did not end in time".
std::string without_verdict(std::string message);

}  // namespace fenceline
