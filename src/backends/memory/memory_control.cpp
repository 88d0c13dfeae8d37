#include "backends/memory/memory_store.hpp"

namespace fenceline {

Result<BatchReply> MemoryStore::open_batch(const BatchRequest&) { return fail(Code::refused, "open_batch is not here yet"); }
Result<RecordReply> MemoryStore::record(const RecordRequest&) { return fail(Code::refused, "record is not here yet"); }
Result<std::optional<LogReply>> MemoryStore::log(const LogRequest&) { return fail(Code::refused, "log is not here yet"); }
Result<ActReply> MemoryStore::cancel(const ActRequest&) { return fail(Code::refused, "cancel is not here yet"); }
Result<ActReply> MemoryStore::retry(const ActRequest&) { return fail(Code::refused, "retry is not here yet"); }
Result<PurgeReply> MemoryStore::purge(const PurgeRequest&) { return fail(Code::refused, "purge is not here yet"); }
Result<void> MemoryStore::set_queue(const SetQueueRequest&) { return fail(Code::refused, "set_queue is not here yet"); }
Result<void> MemoryStore::pause(const PauseRequest&) { return fail(Code::refused, "pause is not here yet"); }
Result<std::vector<QueueRow>> MemoryStore::queues(const std::string&) { return fail(Code::refused, "queues is not here yet"); }
Result<TidyReply> MemoryStore::tidy(const TidyRequest&) { return fail(Code::refused, "tidy is not here yet"); }
Result<std::optional<JobFacts>> MemoryStore::facts(const std::string&, const JobId&) { return fail(Code::refused, "facts is not here yet"); }
Result<std::vector<Attempt>> MemoryStore::attempts(const std::string&, const JobId&) { return fail(Code::refused, "attempts is not here yet"); }
Result<void> MemoryStore::order_worker(const OrderRequest&) { return fail(Code::refused, "order_worker is not here yet"); }
Result<OrdersReply> MemoryStore::orders(const std::string&, const std::string&) { return fail(Code::refused, "orders is not here yet"); }
Result<void> MemoryStore::stopped(const StoppedRequest&) { return fail(Code::refused, "stopped is not here yet"); }

}  // namespace fenceline
