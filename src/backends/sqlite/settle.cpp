// Ending and renewing leases. Who may write is decided here, by the newest fence and its owner, for all verbs of a
// holder alike.
#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/finish.hpp"
#include "backends/sqlite/gates.hpp"
#include "backends/sqlite/history.hpp"
#include "backends/sqlite/homes.hpp"
#include "backends/sqlite/lease_book.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kAttemptsMax =
    "SELECT attempts_max FROM job WHERE seq = (SELECT max(seq) FROM job WHERE seq <= ?1)";

// What is known of each job of a request, in its order; empty: no such job in this namespace.
template <class Items>
std::vector<std::optional<Delivery>> find_all(Call& call, const std::string& ns, const Items& items) {
  const auto ns_id = call.names.find_namespace(ns);
  if (!ns_id) return std::vector<std::optional<Delivery>>(items.size());
  std::vector<const JobId*> ids;
  ids.reserve(items.size());
  for (const auto& item : items) ids.push_back(&item.id);
  return find_deliveries(call, *ns_id, ids);
}

// The reasons that all verbs of a holder share, in the order of the header; none: sent by the newest holder.
Reason refusal_of_word(const std::optional<Delivery>& there, Fence sent, const std::string& owner) {
  if (!there) return Reason::not_found;
  if (there->fence != sent) return Reason::superseded;
  if (there->owner != owner) return Reason::other_owner;
  return Reason::none;
}

// What an accepted outcome makes of a delivery that ran.
void apply(Call& call, const Outcome& outcome, Delivery& delivery) {
  const auto end = [&](JobState state) {
    delivery.state = state;
    delivery.finished_at = call.wall_us();
  };
  const auto again = [&] {
    delivery.state = JobState::ready;
    delivery.run_at = call.wall_us() + outcome.retry_in.count();
  };
  delivery.last_outcome = static_cast<std::int64_t>(outcome.kind);
  delivery.exit_status = outcome.exit_status ? std::optional<std::int64_t>(*outcome.exit_status) : std::nullopt;
  // A delivery given back says nothing about the job, so a row of losses goes on over it.
  if (outcome.kind != OutcomeKind::given_back) delivery.losses_in_row = 0;
  switch (outcome.kind) {
    case OutcomeKind::done:
      delivery.result = outcome.result;
      end(JobState::done);
      return;
    case OutcomeKind::failed:
      delivery.error = outcome.error;
      delivery.failures += 1;
      if (delivery.failures >= call.db.number(kAttemptsMax, delivery.seq).value_or(0)) end(JobState::dead);
      else again();
      return;
    case OutcomeKind::dead:
      delivery.error = outcome.error;
      delivery.failures += 1;
      end(JobState::dead);
      return;
    case OutcomeKind::later:
      delivery.laters += 1;
      again();
      return;
    case OutcomeKind::given_back: delivery.state = JobState::ready; return;
  }
}

}  // namespace

void end_deliveries(Call& call, std::vector<Delivery>& finished, std::vector<Delivery>& ready) {
  leave_claims(call, finished);
  leave_claims(call, ready);
  drop_running(call, finished);
  drop_running(call, ready);
  finish(call, finished, JobState::running);
  for (Delivery& delivery : ready) {
    add_place(call, delivery);
    call.moved(delivery.queue_id, JobState::running, JobState::ready);
    const std::int64_t home_id = call.names.home_of(delivery.queue_id);
    if (is_limited(call, home_id)) awaken_stages(call, home_id);
  }
  enter_ready(call, ready);
}

Result<SettleReply> settle(Call& call, const SettleRequest& request) {
  SettleReply reply;
  std::vector<std::optional<Delivery>> found = find_all(call, request.ns, request.settlements);
  std::vector<Delivery> finished;
  std::vector<Delivery> ready;
  finished.reserve(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Settlement& sent = request.settlements[i];
    std::optional<Delivery>& there = found[i];
    Reason reason = refusal_of_word(there, sent.fence, request.owner);
    if (reason == Reason::none && there->state != JobState::running) {
      if (there->last_outcome == static_cast<std::int64_t>(sent.outcome.kind)) continue;  // a repeat
      reason = is_finished(there->state) ? Reason::finished : Reason::settled;
    }
    if (reason != Reason::none) {
      reply.refused.push_back({sent.id, sent.fence, there ? there->fence : 0, reason});
      continue;
    }
    apply(call, sent.outcome, *there);
    if (!is_finished(there->state)) end_attempt(call, *there, attempt_end(sent.outcome.kind), sent.outcome);
    (is_finished(there->state) ? finished : ready).push_back(std::move(*there));
  }
  end_deliveries(call, finished, ready);
  return reply;
}

Result<ExtendReply> extend(Call& call, const ExtendRequest& request) {
  ExtendReply reply;
  reply.left = request.ttl;
  reply.waited = call.waited;
  std::vector<std::optional<Delivery>> found = find_all(call, request.ns, request.jobs);
  std::vector<Delivery> renewed;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Holding& sent = request.jobs[i];
    const std::optional<Delivery>& there = found[i];
    Reason reason = refusal_of_word(there, sent.fence, request.owner);
    if (reason == Reason::none) {
      if (is_finished(there->state)) reason = Reason::finished;
      else if (there->state != JobState::running) reason = Reason::settled;
      else if (there->lease_end <= call.now_us()) reason = Reason::expired;
    }
    if (reason == Reason::none) renewed.push_back(*there);
    else reply.refused.push_back({sent.id, sent.fence, there ? there->fence : 0, reason});
  }
  if (renewed.empty()) return reply;
  const std::int64_t lease_end = call.now_us() + request.ttl.count();
  renew_running(call, renewed, lease_end);
  renew_claims(call, renewed, lease_end);
  return reply;
}

}  // namespace fenceline::sqlite
