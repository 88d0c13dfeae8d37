// Locks as calls of the store: each is a call of its namesake in verbs.hpp.
#include "backends/sqlite/sqlite_store.hpp"
#include "backends/sqlite/store_calls.hpp"
#include "backends/sqlite/store_parts.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline {

using sqlite::read;
using sqlite::write;

Result<AcquireReply> SqliteStore::acquire(const AcquireRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, {request.names.size(), 0}, request.timeout, &sqlite::acquire);
}

Result<RenewReply> SqliteStore::renew(const RenewRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, {request.locks.size(), 0}, request.timeout, &sqlite::renew);
}

Result<ReleaseReply> SqliteStore::release(const ReleaseRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, {request.locks.size(), 0}, request.timeout, &sqlite::release);
}

Result<void> SqliteStore::withdraw(const WithdrawRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  return write(*parts_, request, {request.names.size(), 0}, request.timeout, &sqlite::withdraw);
}

Result<LocksReply> SqliteStore::locks(const LocksRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return read<LocksReply>(*parts_, [&](sqlite::Call& call) { return sqlite::list_locks(call, request); });
}

Result<std::optional<LockRow>> SqliteStore::lock(const std::string& ns, const std::string& resource) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  if (auto ok = check_lock_resource(resource); !ok) return std::unexpected(ok.error());
  return read<std::optional<LockRow>>(*parts_,
                                      [&](sqlite::Call& call) { return sqlite::show_lock(call, ns, resource); });
}

Result<BreakReply> SqliteStore::break_lock(const BreakRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, {}, request.timeout, &sqlite::break_lock);
}

}  // namespace fenceline
