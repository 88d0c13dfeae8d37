#include "backends/sqlite/slots.hpp"

#include <vector>

#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/limit_keys.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kKeep = R"sql(
  INSERT OR REPLACE INTO slot (seq, ns_id, home_id, queue_id, group_id, limit_id, fence, lease_end, owner)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9))sql";
constexpr const char* kSlotsThatEnded =
    "SELECT seq, home_id, queue_id, group_id, limit_id FROM slot WHERE home_id = ?1 AND lease_end <= ?2";
constexpr const char* kSlotOfHolder = R"sql(
  SELECT seq, home_id, queue_id, group_id, limit_id FROM slot WHERE seq = ?1 AND owner = ?2 AND fence = ?3)sql";
constexpr const char* kFreeSlot = "DELETE FROM slot WHERE seq = ?1";
constexpr const char* kSlotsOfOwner = R"sql(
  SELECT j.id, s.fence, s.seq FROM slot s CROSS JOIN job j ON j.seq = s.seq WHERE s.ns_id = ?1 AND s.owner = ?2
    AND s.lease_end > ?3 ORDER BY j.id)sql";

struct Slot {
  std::int64_t seq;
  std::int64_t home_id;
  std::int64_t queue_id;
  std::optional<std::int64_t> group_id;
  std::optional<std::int64_t> limit_id;
};

void read_slots(Rows rows, std::vector<Slot>& slots) {
  while (rows.next())
    slots.push_back({rows.integer(0), rows.integer(1), rows.integer(2), rows.maybe_integer(3), rows.maybe_integer(4)});
}

void free_slots(Call& call, const std::vector<Slot>& slots) {
  for (const Slot& slot : slots) call.db.execute(kFreeSlot, slot.seq);
  for (const Slot& slot : slots) {
    // A head is let out by its group: the job itself may not be the first of it any more.
    if (slot.group_id) open_head(call, *slot.group_id);
    else open_job(call, slot.seq);
    if (slot.limit_id) choose_of_key(call, slot.home_id, *slot.limit_id);
    call.awakened.insert(slot.queue_id);
    if (is_limited(call, slot.home_id)) awaken_stages(call, slot.home_id);
  }
}

}  // namespace

void keep_slot(Call& call, std::int64_t ns_id, const Delivery& delivery) {
  if (delivery.lease_end <= call.now_us()) return;
  call.db.execute(kKeep, delivery.seq, ns_id, call.names.home_of(delivery.queue_id), delivery.queue_id,
                  delivery.group_id, delivery.limit_id, delivery.fence, delivery.lease_end, delivery.owner);
}

void free_ended_slots(Call& call, std::int64_t home_id) {
  std::vector<Slot> slots;
  read_slots(call.db.query(kSlotsThatEnded, home_id, call.now_us()), slots);
  free_slots(call, slots);
}

Result<void> stopped(Call& call, const StoppedRequest& request) {
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return {};
  std::vector<Slot> slots;
  for (const Holding& holding : request.jobs) {
    if (const auto seq = find_seq(call, *ns_id, holding.id))
      read_slots(call.db.query(kSlotOfHolder, *seq, request.owner, holding.fence), slots);
  }
  free_slots(call, slots);
  return {};
}

Result<OrdersReply> orders(Call& call, const std::string& ns, const std::string& owner) {
  OrdersReply reply;
  const auto ns_id = call.names.find_namespace(ns);
  if (!ns_id) return reply;
  reply.order = order_told(call, *ns_id, owner).value_or(WorkerOrder::work);
  auto rows = call.db.query(kSlotsOfOwner, *ns_id, owner, call.now_us());
  while (rows.next()) {
    reply.revoked.push_back({as_id(rows.bytes(0)), rows.integer(1)});
    if (find_delivery(call, rows.integer(2)).fence == rows.integer(1)) reply.held.push_back(reply.revoked.back());
  }
  return reply;
}

}  // namespace fenceline::sqlite
