// The ledger of effects as calls of the store.
#include "backends/sqlite/sqlite_store.hpp"

namespace fenceline {

Result<BeginEffectReply> SqliteStore::begin_effect(const BeginEffectRequest&) { return fail(Code::refused, "this store keeps no effects yet"); }
Result<FinishEffectReply> SqliteStore::finish_effect(const FinishEffectRequest&) { return fail(Code::refused, "this store keeps no effects yet"); }
Result<void> SqliteStore::resolve_effect(const ResolveEffectRequest&) { return fail(Code::refused, "this store keeps no effects yet"); }
Result<EffectsReply> SqliteStore::effects(const EffectsRequest&) { return fail(Code::refused, "this store keeps no effects yet"); }

}  // namespace fenceline
