// How a stage on a tracker hands its output to the next one (`input = "previous"`): in a comment of its own, which
// people can read, and which the record of the advance names together with a digest of it. So nobody can put another
// output in its place. A comment of this form is never a marker (X5).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tracker/ledger.hpp"
#include "tracker/protocol.hpp"

namespace fenceline::tracker {

// Whether it can be handed on: at most kHandedOnBytesMax of text. Errors: invalid.
Result<void> check_output(std::string_view output);

// The comment; `nonce` is how its maker finds it again.
std::string output_note(const std::string& stage, const std::string& nonce, std::string_view output);
bool is_output_note(std::string_view text, const std::string& nonce);
// What was handed on, from a text of output_note(); nothing if it is none.
std::optional<std::string> output_in(std::string_view note);

// What Marker::output says of a comment as the tracker has it.
std::string output_reference(const Comment& note);

// What a handler at the ledger's place gets in place of the item: the output of the stage before, empty if that did not
// run; the whole item if its stage asks for no output. Nothing: the comment is gone, or was edited.
struct HandedOn {
  bool takes_output = false;
  std::string output = {};
};
std::optional<HandedOn> handed_on(const Protocol& protocol, const std::vector<Comment>& comments, const Ledger& ledger);

}  // namespace fenceline::tracker
