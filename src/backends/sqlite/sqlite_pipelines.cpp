#include "backends/sqlite/sqlite_store.hpp"

namespace fenceline {

Result<PipelineRow> SqliteStore::put_pipeline(const PutPipelineRequest&) { return fail(Code::refused, "no pipelines yet"); }
Result<std::vector<PipelineRow>> SqliteStore::pipelines(const std::string&) { return fail(Code::refused, "no pipelines yet"); }
Result<ItemsReply> SqliteStore::items(const ItemsRequest&) { return fail(Code::refused, "no pipelines yet"); }
Result<ChangeItemsReply> SqliteStore::change_items(const ChangeItemsRequest&) { return fail(Code::refused, "no pipelines yet"); }

}  // namespace fenceline
