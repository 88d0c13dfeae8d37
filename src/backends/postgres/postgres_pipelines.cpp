// Pipelines and their items: a batch of changes as arrays, all else as it is.
#include <algorithm>

#include "backends/postgres/postgres_store.hpp"
#include "backends/postgres/store_parts.hpp"

namespace fenceline {
namespace {

using namespace postgres;

void add_unless_empty(Array& array, const std::string& bytes) {
  if (bytes.empty()) array.add_null();
  else array.add_bytes(bytes);
}

// The parameters of change_items on the server, in their order. What no change of the call has is not sent.
Params change_params(const ChangeItemsRequest& request) {
  const std::size_t count = request.changes.size();
  Array ids(Type::uuid, count), revisions(Type::int8, count), records(Type::bytea, count), fences(Type::int8, count),
      only(Type::int2, count), states(Type::int2, count), stages(Type::text, count), delays(Type::int8, count),
      fresh(Type::int2, count), results(Type::bytea, count), errors(Type::bytea, count), acts(Type::text, count),
      abouts(Type::text, count), reasons(Type::text, count);
  for (const ItemChange& change : request.changes) {
    ids.add_uuid(change.id);
    revisions.add_int8(change.revision);
    records.add_bytes(change.record);
    if (change.fence) fences.add_int8(*change.fence);
    else fences.add_null();
    if (change.only) only.add_int2(static_cast<std::int16_t>(*change.only));
    else only.add_null();
    if (const auto& place = change.place) {
      states.add_int2(static_cast<std::int16_t>(place->state));
      stages.add_bytes(place->stage);
      delays.add_int8(place->delay.count());
      fresh.add_int2(place->fresh ? 1 : 0);
      add_unless_empty(results, place->result);
      add_unless_empty(errors, place->error);
    } else {
      for (Array* array : {&states, &stages, &delays, &fresh, &results, &errors}) array->add_null();
    }
    acts.add_bytes(change.act);
    abouts.add_bytes(change.about);
    reasons.add_bytes(change.reason);
  }
  const auto any = [&](auto has) { return std::ranges::any_of(request.changes, has); };
  Params params;
  params.text(request.ns).text(request.owner).text(request.request).text(request.act.actor).text(request.act.reason);
  const auto add_if = [&](bool used, const Array& array) { used ? params.array(array) : params.null(array.type()); };
  params.array(ids).array(revisions).array(records);
  add_if(any([](const ItemChange& one) { return one.fence.has_value(); }), fences);
  add_if(any([](const ItemChange& one) { return one.only.has_value(); }), only);
  params.array(states).array(stages).array(delays).array(fresh);
  add_if(any([](const ItemChange& one) { return one.place && !one.place->result.empty(); }), results);
  add_if(any([](const ItemChange& one) { return one.place && !one.place->error.empty(); }), errors);
  params.array(acts).array(abouts).array(reasons);
  return params;
}

}  // namespace

Result<PipelineRow> PostgresStore::put_pipeline(const PutPipelineRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const json asked{{"name", request.name},
                   {"spec", to_hex(request.spec)},
                   {"revision", request.revision},
                   {"act", act_json(request.act)}};
  const Result<json> reply = parts_->call_one("put_pipeline", request.ns, asked, CallKind::change, request.timeout);
  if (!reply) return std::unexpected(reply.error());
  return decoded(parts_->pool.dsn(), [&] {
    return PipelineRow{request.name, request.spec, integer_in(*reply, "revision"), time_in(*reply, "changed_at")};
  });
}

Result<std::vector<PipelineRow>> PostgresStore::pipelines(const std::string& ns) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const Result<Rows> rows = parts_->pool.run(parts_->list_pipelines, Params().text(ns), CallKind::look, kCallTimeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] {
    std::vector<PipelineRow> out;
    for (int row = 0; row < rows->size(); ++row)
      out.push_back(
          {rows->text(row, 0), rows->text(row, 1), rows->integer(row, 2), WallTime{Duration{rows->integer(row, 3)}}});
    return out;
  });
}

Result<ItemsReply> PostgresStore::items(const ItemsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  Array ids(Type::uuid, request.ids.size());
  for (const JobId& id : request.ids) ids.add_uuid(id);
  const Result<Rows> rows =
      parts_->pool.run(parts_->list_items, Params().text(request.ns).array(ids), CallKind::look, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] {
    if (rows->size() == 0) throw WireFailure("the answer about items has no head");
    ItemsReply reply;
    reply.now = WallTime{Duration{rows->integer(0, 0)}};
    for (int row = 1; row < rows->size(); ++row)
      reply.items.push_back(
          {read_job(json::parse(rows->jsonb(row, 1))), rows->integer_or(row, 2, 0), rows->text(row, 3)});
    return reply;
  });
}

Result<ChangeItemsReply> PostgresStore::change_items(const ChangeItemsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const Result<Rows> rows =
      parts_->pool.run(parts_->change_items, change_params(request), CallKind::change, request.timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(parts_->pool.dsn(), [&] {
    ChangeItemsReply reply;
    for (int row = 0; row < rows->size(); ++row)
      reply.refused.push_back(
          {rows->uuid(row, 0), reason_from(rows->text(row, 1)), rows->integer(row, 2), rows->integer(row, 3)});
    return reply;
  });
}

}  // namespace fenceline
