#include "backends/sqlite/sqlite_store.hpp"

namespace fenceline {

Result<BatchReply> SqliteStore::open_batch(const BatchRequest&) { return fail(Code::refused, "open_batch is not here yet"); }
Result<RecordReply> SqliteStore::record(const RecordRequest&) { return fail(Code::refused, "record is not here yet"); }
Result<std::optional<LogReply>> SqliteStore::log(const LogRequest&) { return fail(Code::refused, "log is not here yet"); }
Result<ActReply> SqliteStore::cancel(const ActRequest&) { return fail(Code::refused, "cancel is not here yet"); }
Result<ActReply> SqliteStore::retry(const ActRequest&) { return fail(Code::refused, "retry is not here yet"); }
Result<PurgeReply> SqliteStore::purge(const PurgeRequest&) { return fail(Code::refused, "purge is not here yet"); }
Result<void> SqliteStore::set_queue(const SetQueueRequest&) { return fail(Code::refused, "set_queue is not here yet"); }
Result<void> SqliteStore::pause(const PauseRequest&) { return fail(Code::refused, "pause is not here yet"); }
Result<std::vector<QueueRow>> SqliteStore::queues(const std::string&) { return fail(Code::refused, "queues is not here yet"); }
Result<TidyReply> SqliteStore::tidy(const TidyRequest&) { return fail(Code::refused, "tidy is not here yet"); }
Result<std::optional<JobFacts>> SqliteStore::facts(const std::string&, const JobId&) { return fail(Code::refused, "facts is not here yet"); }
Result<std::vector<Attempt>> SqliteStore::attempts(const std::string&, const JobId&) { return fail(Code::refused, "attempts is not here yet"); }
Result<void> SqliteStore::order_worker(const OrderRequest&) { return fail(Code::refused, "order_worker is not here yet"); }
Result<OrdersReply> SqliteStore::orders(const std::string&, const std::string&) { return fail(Code::refused, "orders is not here yet"); }
Result<void> SqliteStore::stopped(const StoppedRequest&) { return fail(Code::refused, "stopped is not here yet"); }

}  // namespace fenceline
