// Which promise a store of which class keeps: the table of docs/guarantees.md, as data.
#pragma once

#include <string_view>
#include <vector>

namespace fenceline::audit {

enum class Keeps {
  always,
  until_a_crash,  // for all that was older than what a crash of the store took with it
  not_promised,
};
std::string_view to_string(Keeps keeps);

struct PromiseRow {
  std::string_view promise;
  Keeps a, b, c, d;
  std::string_view shown_by;  // what of it a history shows
};

const std::vector<PromiseRow>& promises();
// A promise that is not in the table is kept by nobody.
Keeps keeps(std::string_view promise, char guarantee);

}  // namespace fenceline::audit
