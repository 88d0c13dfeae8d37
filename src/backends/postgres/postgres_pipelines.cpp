#include "backends/postgres/postgres_store.hpp"

namespace fenceline {

Result<PipelineRow> PostgresStore::put_pipeline(const PutPipelineRequest&) { return fail(Code::refused, "no pipelines yet"); }
Result<std::vector<PipelineRow>> PostgresStore::pipelines(const std::string&) { return fail(Code::refused, "no pipelines yet"); }
Result<ItemsReply> PostgresStore::items(const ItemsRequest&) { return fail(Code::refused, "no pipelines yet"); }
Result<ChangeItemsReply> PostgresStore::change_items(const ChangeItemsRequest&) { return fail(Code::refused, "no pipelines yet"); }

}  // namespace fenceline
