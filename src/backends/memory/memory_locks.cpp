#include "backends/memory/memory_store.hpp"

namespace fenceline {

Result<AcquireReply> MemoryStore::acquire(const AcquireRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<RenewReply> MemoryStore::renew(const RenewRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<ReleaseReply> MemoryStore::release(const ReleaseRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<void> MemoryStore::withdraw(const WithdrawRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<LocksReply> MemoryStore::locks(const LocksRequest&) { return fail(Code::refused, "locks are not built yet"); }
Result<std::optional<LockRow>> MemoryStore::lock(const std::string&, const std::string&) { return fail(Code::refused, "locks are not built yet"); }
Result<BreakReply> MemoryStore::break_lock(const BreakRequest&) { return fail(Code::refused, "locks are not built yet"); }

}  // namespace fenceline
