// How a value that stands in fenceline.toml, or behind an option, is put into a member of some options. Errors:
// invalid, without the key's name.
#pragma once

#include <charconv>
#include <functional>
#include <optional>
#include <string>

#include "base/duration_text.hpp"
#include "base/result.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {

template <class Options>
using SetValue = std::function<Result<void>(Options&, const std::string&)>;

template <class Options>
SetValue<Options> set_duration(Duration Options::*member, DurationRange range) {
  return [member, range](Options& options, const std::string& text) -> Result<void> {
    const Result<Duration> parsed = parse_duration(text, range);
    if (!parsed) return std::unexpected(parsed.error());
    options.*member = *parsed;
    return {};
  };
}

template <class Options>
SetValue<Options> set_number(int Options::*member, int least, int most) {
  return [member, least, most](Options& options, const std::string& text) -> Result<void> {
    int number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size() || number < least || number > most)
      return fail(Code::invalid, in_quotes(text) + " is not valid; use a whole number from " + std::to_string(least) +
                                     " to " + std::to_string(most));
    options.*member = number;
    return {};
  };
}

// One of some words.
template <class Options, class Word>
SetValue<Options> set_word(Word Options::*member, std::optional<Word> (*parse)(std::string_view), std::string words) {
  return [member, parse, words](Options& options, const std::string& text) -> Result<void> {
    const std::optional<Word> word = parse(text);
    if (!word) return fail(Code::invalid, in_quotes(text) + " is not valid; use " + words);
    options.*member = *word;
    return {};
  };
}

}  // namespace fenceline::cli
