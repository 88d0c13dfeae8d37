#include "backends/memory/memory_store.hpp"

namespace fenceline {

Result<PipelineRow> MemoryStore::put_pipeline(const PutPipelineRequest&) { return fail(Code::refused, "no pipelines yet"); }
Result<std::vector<PipelineRow>> MemoryStore::pipelines(const std::string&) { return fail(Code::refused, "no pipelines yet"); }
Result<ItemsReply> MemoryStore::items(const ItemsRequest&) { return fail(Code::refused, "no pipelines yet"); }
Result<ChangeItemsReply> MemoryStore::change_items(const ChangeItemsRequest&) { return fail(Code::refused, "no pipelines yet"); }

}  // namespace fenceline
