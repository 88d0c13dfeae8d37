// Items of pipelines: the job's stage, its state and the record are changed in one transaction (P2).
#include <vector>

#include "backends/sqlite/acts.hpp"
#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/effect_rows.hpp"
#include "backends/sqlite/finish.hpp"
#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/history.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/item_rows.hpp"
#include "backends/sqlite/job_rows.hpp"
#include "backends/sqlite/lease_book.hpp"
#include "backends/sqlite/limit_keys.hpp"
#include "backends/sqlite/verbs.hpp"
#include "backends/sqlite/waiting.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kSetStage = "UPDATE job SET queue_id = ?2 WHERE seq = ?1";

// Why it is not made; none: it is.
Reason refusal_of_change(Call& call, const Delivery& delivery, const ItemRow& item, const ItemChange& change,
                         const std::string& owner) {
  if (change.fence) {
    if (delivery.fence != *change.fence) return Reason::superseded;
    if (delivery.owner != owner) return Reason::other_owner;
    if (is_finished(delivery.state)) return Reason::finished;
    if (delivery.state != JobState::running) return Reason::settled;
  } else {
    if (is_finished(delivery.state)) return Reason::finished;
    if (change.only && *change.only != delivery.state) return Reason::state;
    if (change.place && delivery.state == JobState::waiting && !waited_for(call, delivery.seq).empty())
      return Reason::effect_in_doubt;
  }
  return item.revision == change.revision ? Reason::none : Reason::changed;
}

// As by settle: of a delivery that finishes its job the attempt stands in `done`.
void end_by_holder(Call& call, const Placement& place, Delivery& delivery) {
  const bool failed = !place.error.empty();
  const OutcomeKind kind = failed ? OutcomeKind::failed : OutcomeKind::done;
  if (!is_finished(place.state))
    end_attempt(call, delivery, attempt_end(kind), {.kind = kind, .result = {}, .error = place.error});
  leave_claims(call, {delivery});
  drop_running(call, {delivery});
  delivery.last_outcome = static_cast<std::int64_t>(kind);
  delivery.exit_status.reset();
  delivery.losses_in_row = 0;
  delivery.previous_owner.reset();
  if (!is_finished(place.state)) delivery.started_at.reset();
  if (failed) {
    delivery.failures += 1;
    delivery.error = place.error;
  } else if (place.state == JobState::done) {
    delivery.result = place.result;
  }
}

// Its state still counts as before: in the depths of the new stage.
void enter_stage(Call& call, std::int64_t ns_id, const std::string& stage, Delivery& delivery) {
  const std::int64_t queue_id =
      call.names.intern_queue(ns_id, std::string(call.names.queue_name(delivery.queue_id).queue), stage);
  if (queue_id == delivery.queue_id) return;
  call.db.execute(kSetStage, delivery.seq, queue_id);
  call.left(delivery.queue_id, delivery.state);
  call.came(queue_id, delivery.state);
  delivery.queue_id = queue_id;
}

// It stands nowhere any more; `from` is where it stood.
void put(Call& call, JobState from, const Placement& place, Delivery& delivery) {
  if (place.state == JobState::dead && !place.error.empty()) delivery.error = place.error;
  if (place.fresh) delivery.failures = delivery.losses_in_row = delivery.laters = 0;
  if (is_finished(place.state)) {
    delivery.state = place.state;
    delivery.finished_at = call.wall_us();
    std::vector<Delivery> finished{delivery};
    finish(call, finished, from);
    return;
  }
  if (place.state == JobState::ready) {
    make_ready(call, from, call.wall_us() + place.delay.count(), delivery);
  } else {
    delivery.run_at = call.wall_us();
    put_waiting(call, from, delivery);
  }
  const std::int64_t home_id = call.names.home_of(delivery.queue_id);
  if (delivery.limit_id) choose_of_key(call, home_id, *delivery.limit_id);
  if (is_limited(call, home_id)) awaken_stages(call, home_id);
}

Result<void> move(Call& call, std::int64_t ns_id, const std::string& ns, const ItemChange& change, Delivery& delivery) {
  add_place(call, delivery);
  const JobState from = delivery.state;
  if (change.fence) {
    end_by_holder(call, *change.place, delivery);
  } else if (from == JobState::running) {
    if (auto ok = revoke(call, ns_id, AttemptEnd::cancelled, delivery); !ok) return ok;
    call.ordered.insert(ns);
  } else {
    drop_idle(call, delivery);
  }
  enter_stage(call, ns_id, change.place->stage, delivery);
  put(call, from, *change.place, delivery);
  return {};
}

}  // namespace

Result<ItemsReply> list_items(Call& call, const ItemsRequest& request) {
  ItemsReply reply;
  reply.now = call.wall;
  const auto ns_id = call.names.find_namespace(request.ns);
  if (!ns_id) return reply;
  for (const JobId& id : request.ids) {
    const auto seq = find_seq(call, *ns_id, id);
    if (seq)
      reply.items.push_back(
          {to_job(call, find_delivery(call, *seq), false), find_item(call, *seq).revision, record_of(call, *seq)});
  }
  return reply;
}

Result<ChangeItemsReply> change_items(Call& call, const ChangeItemsRequest& request) {
  ChangeItemsReply reply;
  ChoosingOnce choosing(call);
  const auto ns_id = call.names.find_namespace(request.ns);
  for (const ItemChange& change : request.changes) {
    const auto seq = ns_id ? find_seq(call, *ns_id, change.id) : std::nullopt;
    if (!seq) {
      reply.refused.push_back({change.id, Reason::not_found, 0, 0});
      continue;
    }
    ItemRow item = find_item(call, *seq);
    if (item.request == request.request) continue;  // a repeat
    Delivery delivery = find_delivery(call, *seq);
    if (const Reason reason = refusal_of_change(call, delivery, item, change, request.owner); reason != Reason::none) {
      reply.refused.push_back({change.id, reason, delivery.fence, item.revision});
      continue;
    }
    if (item.revision == 0) {
      have_own_row(call, *seq);  // its stage is its own, and the order of a revoked owner names it by its row
      add_place(call, delivery);
      item.first_queue_id = delivery.queue_id;
    }
    if (change.place) {
      if (auto ok = move(call, *ns_id, request.ns, change, delivery); !ok) return std::unexpected(ok.error());
    }
    item.revision += 1;
    item.request = request.request;
    put_item(call, *seq, item, change.record);
    const Act act{request.act.actor, change.reason.empty() ? request.act.reason : change.reason};
    enter_in_trail(call, request.ns, act, change.act,
                   to_string(change.id) + (change.about.empty() ? "" : " " + change.about));
  }
  choosing.choose();
  return reply;
}

}  // namespace fenceline::sqlite
