// Rows of `fenceline_item`: what change_items keeps of a job, from the first change on. A job that nobody changed so
// costs nothing here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {

struct ItemRow {
  std::int64_t revision = 0;        // 0: it has none
  std::string request;              // that changed it last
  std::int64_t first_queue_id = 0;  // the stage at which it was enqueued
};

ItemRow find_item(Call& call, std::int64_t seq);
std::string record_of(Call& call, std::int64_t seq);
void put_item(Call& call, std::int64_t seq, const ItemRow& row, const std::string& record);

}  // namespace fenceline::sqlite
