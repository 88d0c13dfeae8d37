// The fields of a line as data, so that writer and reader cannot disagree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "history/format/event.hpp"

namespace fenceline::history {

template <class Owner>
struct Field {
  using Where =
      std::variant<std::string Owner::*, std::int64_t Owner::*, bool Owner::*, std::optional<std::int64_t> Owner::*,
                   std::vector<std::string> Owner::*, std::vector<JobPart> Owner::*>;
  std::string_view name;
  Where where;
};

// In the order in which they are written. `e` and `verb`, which are names, are not among them.
const std::vector<Field<Event>>& event_fields();
const std::vector<Field<JobPart>>& job_fields();

}  // namespace fenceline::history
