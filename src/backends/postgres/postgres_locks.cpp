#include "backends/postgres/postgres_store.hpp"

namespace fenceline {

Result<AcquireReply> PostgresStore::acquire(const AcquireRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<RenewReply> PostgresStore::renew(const RenewRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<ReleaseReply> PostgresStore::release(const ReleaseRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<void> PostgresStore::withdraw(const WithdrawRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<LocksReply> PostgresStore::locks(const LocksRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<std::optional<LockRow>> PostgresStore::lock(const std::string&, const std::string&) { return fail(Code::refused, "locks are not built yet"); }
Result<BreakReply> PostgresStore::break_lock(const BreakRequest&) { return fail(Code::refused, "locks are not built yet"); }

}  // namespace fenceline
