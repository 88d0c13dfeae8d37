// Verbs that are not built yet.
#include "backends/redis/redis_store.hpp"

namespace fenceline {
namespace {

std::unexpected<Error> not_built(std::string_view verb) { return fail(Code::refused, std::string(verb) + " is not built on redis"); }

}  // namespace

Result<EnqueueReply> RedisStore::enqueue(const EnqueueRequest&) { return not_built("enqueue"); }
Result<BatchReply> RedisStore::open_batch(const BatchRequest&) { return not_built("open_batch"); }
Result<ClaimReply> RedisStore::claim(const ClaimRequest&) { return not_built("claim"); }
Result<void> RedisStore::give_back(const GiveBackRequest&) { return not_built("give_back"); }
Result<ExtendReply> RedisStore::extend(const ExtendRequest&) { return not_built("extend"); }
Result<SettleReply> RedisStore::settle(const SettleRequest&) { return not_built("settle"); }
Result<std::optional<Job>> RedisStore::job(const std::string&, const JobId&) { return not_built("job"); }
Result<BacklogReply> RedisStore::backlog(const BacklogRequest&) { return not_built("backlog"); }

}  // namespace fenceline
