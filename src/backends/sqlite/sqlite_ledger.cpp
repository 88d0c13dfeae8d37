// The ledger of effects as calls of the store: each is a call of its namesake in verbs.hpp.
#include "backends/sqlite/sqlite_store.hpp"
#include "backends/sqlite/store_calls.hpp"
#include "backends/sqlite/store_parts.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline {

using sqlite::read;
using sqlite::write;

Result<BeginEffectReply> SqliteStore::begin_effect(const BeginEffectRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, {}, request.timeout, &sqlite::begin_effect);
}

Result<FinishEffectReply> SqliteStore::finish_effect(const FinishEffectRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, {1, request.result.size()}, request.timeout, &sqlite::finish_effect);
}

Result<void> SqliteStore::resolve_effect(const ResolveEffectRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  return write(*parts_, request, {1, request.result.size()}, request.timeout, &sqlite::resolve_effect);
}

Result<EffectsReply> SqliteStore::effects(const EffectsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return read<EffectsReply>(*parts_, [&](sqlite::Call& call) { return sqlite::effects(call, request); });
}

}  // namespace fenceline
