#include "tracker/output_note.hpp"

#include <algorithm>

#include "base/sha256.hpp"
#include "base/utf8.hpp"

namespace fenceline::tracker {
namespace {

constexpr std::string_view kNoteOpening = "<!-- fenceline-output ";
constexpr std::string_view kNoteClosing = " -->\n";
constexpr std::string_view kReserved =
    "fenceline";  // before '/' or '&' it is written otherwise, so that it can be undone

// No run of as many backticks as the fence has is inside: people see the output as it is, and it mentions nobody.
std::string fence_for(std::string_view text) {
  std::size_t longest = 2;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, '`');
}

std::string harmless(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool after_word = at >= kReserved.size() && text.substr(at - kReserved.size(), kReserved.size()) == kReserved;
    if (after_word && text[at] == '/') out += "&#47;";
    else if (after_word && text[at] == '&') out += "&#38;";
    else out += text[at];
  }
  return out;
}

std::string undone(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool word = out.ends_with(kReserved);
    if (word && (text.starts_with("&#47;") || text.starts_with("&#38;"))) {
      out += text[3] == '7' ? '/' : '&';
      text.remove_prefix(5);
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

Result<void> check_output(std::string_view output) {
  if (output.size() > kHandedOnBytesMax)
    return fail(Code::invalid, "the output for the next stage has " + std::to_string(output.size()) +
                                   " bytes of at most " + std::to_string(kHandedOnBytesMax) +
                                   "; write a file and print its name");
  const bool is_text = is_valid_utf8(output) && std::ranges::none_of(output, [](char c) {
                         return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
                       });
  if (!is_text) return fail(Code::invalid, "the output for the next stage is not plain text in UTF-8");
  return {};
}

std::string output_note(const std::string& stage, const std::string& nonce, std::string_view output) {
  const std::string body = harmless(output);
  const std::string fence = fence_for(body);
  return std::string(kNoteOpening) + nonce + std::string(kNoteClosing) + "fenceline: output of " + stage + "\n" +
         fence + "text\n" + body + "\n" + fence;
}

bool is_output_note(std::string_view text, const std::string& nonce) {
  return text.starts_with(std::string(kNoteOpening) + nonce + std::string(kNoteClosing)) && output_in(text);
}

std::optional<std::string> output_in(std::string_view note) {
  if (!note.starts_with(kNoteOpening)) return std::nullopt;
  const std::size_t title = note.find('\n');
  const std::size_t opening = title == std::string_view::npos ? title : note.find('\n', title + 1);
  if (opening == std::string_view::npos) return std::nullopt;
  const std::string_view rest = note.substr(opening + 1);
  const std::size_t ticks = std::min(rest.find_first_not_of('`'), rest.size());
  const std::string fence(ticks, '`');
  const std::string first = fence + "text\n";
  const std::string last = "\n" + fence;
  if (ticks < 3 || !rest.starts_with(first) || !rest.ends_with(last) || rest.size() < first.size() + last.size())
    return std::nullopt;
  return undone(rest.substr(first.size(), rest.size() - first.size() - last.size()));
}

std::string output_reference(const Comment& note) { return note.id + ":" + sha256_hex(note.text).substr(0, 32); }

std::optional<HandedOn> handed_on(const Protocol& protocol, const std::vector<Comment>& comments,
                                  const Ledger& ledger) {
  const std::optional<Position> at = find_place(protocol.pipeline, ledger.place);
  if (!at || at->at_entry || at->stage == 0 || protocol.pipeline.stages[at->stage].input != StageInput::previous)
    return HandedOn{};
  const auto reference = ledger.outputs.find(protocol.pipeline.stages[at->stage - 1].name);
  if (reference == ledger.outputs.end()) return HandedOn{.takes_output = true};
  const CommentId id = reference->second.substr(0, reference->second.find(':'));
  const auto note = std::ranges::find(comments, id, &Comment::id);
  if (note == comments.end() || !protocol.is_worker(note->author) || output_reference(*note) != reference->second)
    return std::nullopt;
  std::optional<std::string> output = output_in(note->text);
  if (!output) return std::nullopt;
  return HandedOn{.takes_output = true, .output = std::move(*output)};
}

}  // namespace fenceline::tracker
