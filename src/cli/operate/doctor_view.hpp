// How `fenceline doctor` tells what it found: blocks that can be read and pasted from, rows for a script, or JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/frame/command.hpp"
#include "cli/frame/table.hpp"

namespace fenceline::cli {

struct ToldFinding {
  Finding finding;
  std::string ns = {};  // empty: of the whole store, or of the only namespace that was looked at
};

struct Diagnosis {
  std::string store;  // as a user may see it
  std::optional<StoreProfile> profile;
  std::vector<ToldFinding> findings;
  bool cut = false;  // something was left unseen, for want of time

  bool healthy() const;
};

std::string_view status_name(FindingStatus status);
Tone status_tone(FindingStatus status);

// A remedy as it can be pasted: with what was typed to get here, or the namespace that it is about.
std::string pasteable(const Invocation& invocation, std::string remedy, const std::string& ns);

// On a terminal of that width: what is wrong, and one line for all that is well, or, if `all`, a line for each check.
// `now` is for "12s ago".
std::string diagnosis_text(const Diagnosis& diagnosis, WallTime now, int width, bool colour, bool all);

void print_diagnosis(const Invocation& invocation, const Diagnosis& diagnosis);

}  // namespace fenceline::cli
