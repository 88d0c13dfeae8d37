// Verbs that are not built yet.
#include "backends/redis/redis_store.hpp"

namespace fenceline {
namespace {

std::unexpected<Error> not_built(std::string_view verb) { return fail(Code::refused, std::string(verb) + " is not built on redis"); }

}  // namespace

Result<RecordReply> RedisStore::record(const RecordRequest&) { return not_built("record"); }
Result<std::optional<LogReply>> RedisStore::log(const LogRequest&) { return not_built("log"); }
Result<JobsReply> RedisStore::jobs(const JobsRequest&) { return not_built("jobs"); }
Result<std::vector<JobId>> RedisStore::ids(const IdsRequest&) { return not_built("ids"); }
Result<ActReply> RedisStore::cancel(const ActRequest&) { return not_built("cancel"); }
Result<ActReply> RedisStore::retry(const ActRequest&) { return not_built("retry"); }
Result<PurgeReply> RedisStore::purge(const PurgeRequest&) { return not_built("purge"); }
Result<void> RedisStore::set_queue(const SetQueueRequest&) { return not_built("set_queue"); }
Result<void> RedisStore::pause(const PauseRequest&) { return not_built("pause"); }
Result<std::vector<QueueRow>> RedisStore::queues(const std::string&) { return not_built("queues"); }
Result<TidyReply> RedisStore::tidy(const TidyRequest&) { return not_built("tidy"); }
Result<Fence> RedisStore::raise_floor(const RaiseFloorRequest&) { return not_built("raise_floor"); }
Result<std::optional<JobFacts>> RedisStore::facts(const std::string&, const JobId&) { return not_built("facts"); }
Result<std::vector<Attempt>> RedisStore::attempts(const std::string&, const JobId&) { return not_built("attempts"); }
Result<BeginEffectReply> RedisStore::begin_effect(const BeginEffectRequest&) { return not_built("begin_effect"); }
Result<FinishEffectReply> RedisStore::finish_effect(const FinishEffectRequest&) { return not_built("finish_effect"); }
Result<void> RedisStore::resolve_effect(const ResolveEffectRequest&) { return not_built("resolve_effect"); }
Result<EffectsReply> RedisStore::effects(const EffectsRequest&) { return not_built("effects"); }

}  // namespace fenceline
