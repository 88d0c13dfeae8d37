#include "conformance/reply_text.hpp"

#include <sstream>

namespace fenceline::test {
namespace {

std::string bytes(const std::string& text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text) {
    if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 0x0f];
    }
  }
  return out + "'";
}

std::string micros(WallTime time) { return std::to_string(time.time_since_epoch().count()); }
std::string micros(Duration duration) { return std::to_string(duration.count()); }

template <class T>
std::string maybe(const std::optional<T>& value) {
  return value ? micros(*value) : "none";
}

std::string text_of(const std::vector<Refusal>& refused) {
  std::string out;
  for (const Refusal& refusal : refused) {
    out += "\n  refused " + to_string(refusal.id) + " sent " + std::to_string(refusal.sent) + " current " +
           std::to_string(refusal.current) + " " + refusal.reason;
  }
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + word;
  return out;
}

}  // namespace

std::string text_of(const Job& job) {
  std::ostringstream out;
  out << to_string(job.id) << " queue " << job.queue << " stage '" << job.stage << "' " << to_string(job.state) << " payload "
      << bytes(job.payload) << " priority " << job.priority << " attempts_max " << job.attempts_max << " created " << micros(job.created_at)
      << " run " << micros(job.run_at) << " finished " << maybe(job.finished_at) << " fence " << job.fence << " owner " << bytes(job.owner)
      << " lease_left " << maybe(job.lease_left) << " deliveries " << job.deliveries << " failures " << job.failures << " losses "
      << job.losses << " in_row " << job.losses_in_row << " laters " << job.laters << " last "
      << (job.last_outcome ? to_string(*job.last_outcome) : "none") << " error " << bytes(job.error) << " result " << bytes(job.result);
  return out.str();
}

std::string text_of(const EnqueueReply& reply) { return "existing " + std::to_string(reply.existing); }

std::string text_of(const ClaimReply& reply) {
  std::ostringstream out;
  out << "waited " << micros(reply.waited) << " next_due " << maybe(reply.next_due) << " alone_waiting " << reply.alone_waiting;
  for (const ClaimedJob& claimed : reply.jobs) {
    out << "\n  " << text_of(claimed.job) << " left " << micros(claimed.left) << " forced " << claimed.forced << " previous "
        << bytes(claimed.previous_owner);
  }
  return out.str();
}

std::string text_of(const ExtendReply& reply) {
  return "left " + micros(reply.left) + " waited " + micros(reply.waited) + text_of(reply.refused);
}

std::string text_of(const SettleReply& reply) { return "settled" + text_of(reply.refused); }

std::string text_of(const std::optional<Job>& job) { return job ? text_of(*job) : "none"; }

std::string text_of(const JobsReply& reply) {
  std::string out = reply.next ? "more" : "last";
  for (const Job& job : reply.jobs) out += "\n  " + text_of(job);
  return out;
}

std::string text_of(const BacklogReply& reply) {
  std::ostringstream out;
  out << "running " << reply.running << " claimable " << reply.claimable << " ahead " << reply.ahead << " next_due "
      << maybe(reply.next_due);
  return out.str();
}

std::string text_of(const std::vector<WorkerRow>& rows) {
  std::ostringstream out;
  out << rows.size() << " workers";
  for (const WorkerRow& row : rows) {
    const WorkerReport& report = row.report;
    out << "\n  " << report.ns << " " << bytes(report.owner) << " host " << bytes(report.host) << " pid " << report.pid << " version "
        << bytes(report.version) << " queues " << joined(report.queues) << " stage '" << report.stage << "' concurrency "
        << report.concurrency << " ttl " << micros(report.ttl) << " started " << micros(row.started_at) << " seen " << micros(row.seen_at)
        << " holding";
    for (const Holding& holding : report.holding) out << " " << to_string(holding.id) << "@" << holding.fence;
  }
  return out.str();
}

std::string text_of(const std::vector<TrailEntry>& entries) {
  std::string out = "trail";
  for (const TrailEntry& entry : entries) {
    if (entry.ns.empty()) continue;
    out +=
        "\n  " + micros(entry.at) + " " + entry.ns + " " + entry.actor + " " + entry.act + " " + entry.subject + " " + bytes(entry.reason);
  }
  return out;
}

std::string text_of(const EnqueueRequest& request) {
  std::string out = "ns " + request.ns;
  for (const NewJob& job : request.jobs) {
    out += "\n  " + to_string(job.id) + " queue " + job.queue + " stage '" + job.stage + "' priority " + std::to_string(job.priority) +
           " delay " + micros(job.delay);
  }
  return out;
}

std::string text_of(const ClaimRequest& request) {
  return "ns " + request.ns + " queues " + joined(request.queues) + " stage '" + request.stage + "' owner " + request.owner + " request " +
         request.request + " limit " + std::to_string(request.limit) + " ttl " + micros(request.ttl) +
         (request.holds_others ? " holds_others" : "");
}

std::string text_of(const ExtendRequest& request) {
  std::string out = "ns " + request.ns + " owner " + request.owner + " ttl " + micros(request.ttl);
  for (const Holding& holding : request.jobs) out += "\n  " + to_string(holding.id) + "@" + std::to_string(holding.fence);
  return out;
}

std::string text_of(const SettleRequest& request) {
  std::string out = "ns " + request.ns + " owner " + request.owner;
  for (const Settlement& settlement : request.settlements) {
    out += "\n  " + to_string(settlement.id) + "@" + std::to_string(settlement.fence) + " " +
           std::string(to_string(settlement.outcome.kind)) + " retry_in " + micros(settlement.outcome.retry_in);
  }
  return out;
}

}  // namespace fenceline::test
