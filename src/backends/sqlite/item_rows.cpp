#include "backends/sqlite/item_rows.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kFindItem = "SELECT revision, request, first_queue_id FROM fenceline_item WHERE seq = ?1";
constexpr const char* kFindItemRecord = "SELECT record FROM fenceline_item WHERE seq = ?1";
constexpr const char* kPutItem =
    "INSERT OR REPLACE INTO fenceline_item (seq, revision, request, first_queue_id, record) VALUES (?1, ?2, ?3, ?4, "
    "?5)";

}  // namespace

ItemRow find_item(Call& call, std::int64_t seq) {
  auto row = call.db.query(kFindItem, seq);
  return row.next() ? ItemRow{row.integer(0), row.text(1), row.integer(2)} : ItemRow{};
}

std::string record_of(Call& call, std::int64_t seq) {
  auto row = call.db.query(kFindItemRecord, seq);
  return row.next() ? row.text(0) : "";
}

void put_item(Call& call, std::int64_t seq, const ItemRow& row, const std::string& record) {
  call.db.execute(kPutItem, seq, row.revision, row.request, row.first_queue_id, record);
}

}  // namespace fenceline::sqlite
