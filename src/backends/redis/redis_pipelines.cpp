#include "backends/redis/redis_store.hpp"

namespace fenceline {

Result<PipelineRow> RedisStore::put_pipeline(const PutPipelineRequest&) { return fail(Code::refused, "no pipelines yet"); }
Result<std::vector<PipelineRow>> RedisStore::pipelines(const std::string&) { return fail(Code::refused, "no pipelines yet"); }
Result<ItemsReply> RedisStore::items(const ItemsRequest&) { return fail(Code::refused, "no pipelines yet"); }
Result<ChangeItemsReply> RedisStore::change_items(const ChangeItemsRequest&) { return fail(Code::refused, "no pipelines yet"); }

}  // namespace fenceline
