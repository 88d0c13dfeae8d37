// Pipelines as calls of the store: each is a call of its namesake in verbs.hpp.
#include "backends/sqlite/sqlite_store.hpp"
#include "backends/sqlite/store_calls.hpp"
#include "backends/sqlite/store_parts.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline {

using sqlite::read;
using sqlite::Weight;
using sqlite::write;

Result<PipelineRow> SqliteStore::put_pipeline(const PutPipelineRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, Weight{1, request.spec.size()}, request.timeout, &sqlite::put_pipeline);
}

Result<std::vector<PipelineRow>> SqliteStore::pipelines(const std::string& ns) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  return read<std::vector<PipelineRow>>(*parts_, [&](sqlite::Call& call) { return sqlite::list_pipelines(call, ns); });
}

Result<ItemsReply> SqliteStore::items(const ItemsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return read<ItemsReply>(*parts_, [&](sqlite::Call& call) { return sqlite::list_items(call, request); });
}

Result<ChangeItemsReply> SqliteStore::change_items(const ChangeItemsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  Weight weight{request.changes.size(), 0};
  for (const ItemChange& change : request.changes)
    weight.bytes += change.record.size() + (change.place ? change.place->result.size() : 0);
  return write(*parts_, request, weight, request.timeout, &sqlite::change_items);
}

}  // namespace fenceline
