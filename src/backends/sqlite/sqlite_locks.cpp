#include "backends/sqlite/sqlite_store.hpp"

namespace fenceline {

Result<AcquireReply> SqliteStore::acquire(const AcquireRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<RenewReply> SqliteStore::renew(const RenewRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<ReleaseReply> SqliteStore::release(const ReleaseRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<void> SqliteStore::withdraw(const WithdrawRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<LocksReply> SqliteStore::locks(const LocksRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<std::optional<LockRow>> SqliteStore::lock(const std::string&, const std::string&) { return fail(Code::refused, "locks are not built yet"); }
Result<BreakReply> SqliteStore::break_lock(const BreakRequest&) { return fail(Code::refused, "locks are not built yet"); }

}  // namespace fenceline
