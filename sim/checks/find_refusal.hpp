// What a reply refused of what was asked.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "store/reason.hpp"

namespace fenceline::sim {

// The refusal whose `member` is the key; null: there is none.
template <class Refused, class Key>
const Refused* find_refusal(const std::vector<Refused>& refused, const Key& key, Key Refused::*member) {
  const auto found = std::ranges::find(refused, key, member);
  return found == refused.end() ? nullptr : &*found;
}

inline std::string word_of(Reason reason) { return std::string(to_string(reason)); }

}  // namespace fenceline::sim
