// Who works here, what operators want of them, and what operators did.
#include <algorithm>
#include <tuple>

#include "backends/redis/looks.hpp"
#include "backends/redis/msgpack.hpp"
#include "backends/redis/redis_store.hpp"
#include "backends/redis/store_parts.hpp"

namespace fenceline {
namespace {

using namespace redis;

std::string packed(const WorkerReport& report) {
  std::string out;
  MsgpackWriter writer(out);
  writer.list(8).text(report.host).number(report.pid).text(report.version).list(report.queues.size());
  for (const std::string& queue : report.queues) writer.text(queue);
  writer.text(report.stage).number(report.concurrency).number(report.ttl.count()).list(report.holding.size());
  for (const Holding& holding : report.holding) writer.list(2).text(bytes_of(holding.id)).number(holding.fence);
  return out;
}

WorkerReport report_in(std::string_view bytes) {
  MsgpackReader reader(bytes);
  WorkerReport report;
  if (reader.list() != 8) throw WireFailure("a worker's row is of another kind");
  report.host = reader.text();
  report.pid = reader.number();
  report.version = reader.text();
  for (std::size_t left = reader.list(); left > 0 && !reader.has_failed(); --left)
    report.queues.emplace_back(reader.text());
  report.stage = reader.text();
  report.concurrency = static_cast<int>(reader.number());
  report.ttl = Duration{reader.number()};
  for (std::size_t left = reader.list(); left > 0 && !reader.has_failed(); --left) {
    reader.list();
    const std::string_view id = reader.text();
    const Fence fence = reader.number();
    if (!reader.has_failed()) report.holding.push_back({id_in(id), fence});
  }
  if (reader.has_failed()) throw WireFailure("a worker's row ends too early");
  return report;
}

WorkerOrder order_in(const Value& value) {
  for (const WorkerOrder order : {WorkerOrder::work, WorkerOrder::quiet, WorkerOrder::stop}) {
    if (text_in(value) == to_string(order)) return order;
  }
  throw WireFailure("a worker's order is not known");
}

// be8(started at), what it said of itself.
WorkerRow worker_row_in(const std::string& ns, const Value& owner, const Value& kept, const Value& seen_at,
                        const Value& order, WallTime now) {
  const std::string& bytes = text_in(kept);
  if (bytes.size() < 8) throw WireFailure("a worker's row is too short");
  std::int64_t started_at = 0;
  for (std::size_t i = 0; i < 8; ++i) started_at = started_at << 8 | static_cast<unsigned char>(bytes[i]);
  WorkerRow row;
  row.report = report_in(std::string_view(bytes).substr(8));
  row.report.ns = ns;
  row.report.owner = text_in(owner);
  row.order = order_in(order);
  row.started_at = WallTime{Duration{started_at}};
  row.seen_at = wall_in(seen_at);
  row.unseen = now - row.seen_at;
  return row;
}

TrailEntry entry_in(const std::string& ns, const Value& value) {
  MsgpackReader reader(text_in(value));
  TrailEntry entry{.at = {}, .ns = ns, .actor = {}, .act = {}, .subject = {}, .reason = {}};
  if (reader.list() < 5) throw WireFailure("an entry of the trail is too short");
  entry.at = WallTime{Duration{reader.number()}};
  entry.actor = reader.text();
  entry.act = reader.text();
  entry.subject = reader.text();
  entry.reason = reader.text();
  if (reader.has_failed()) throw WireFailure("an entry of the trail is of another kind");
  return entry;
}

Result<void> done(const Result<Value>& answer) { return answer ? Result<void>{} : std::unexpected(answer.error()); }

}  // namespace

Result<void> RedisStore::report_worker(const WorkerReport& report) {
  if (auto ok = check_request(report); !ok) return ok;
  static const Script& script = script_of("report_worker");
  Command command = parts_->call_of(script, report.ns);
  return done(parts_->run(command.arg(report.owner).arg(packed(report)), CallKind::change, report.timeout));
}

Result<void> RedisStore::remove_worker(const std::string& ns, const std::string& owner) {
  if (auto ok = check_name("namespace", ns); !ok) return ok;
  static const Script& script = script_of("remove_worker");
  Command command = parts_->call_of(script, ns);
  return done(parts_->run(command.arg(owner), CallKind::change, kCallTimeout));
}

Result<void> RedisStore::order_worker(const OrderRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  static const Script& script = script_of("order_worker");
  Command command = parts_->call_of(script, request.ns);
  command.arg(request.owner).arg(to_string(request.order)).arg(request.act.actor).arg(request.act.reason);
  return done(parts_->run(command, CallKind::change, request.timeout));
}

Result<OrdersReply> RedisStore::orders(const std::string& ns, const std::string& owner) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("orders");
  Command command = parts_->call_of(script, ns);
  const Result<Value> answer = parts_->run(command.arg(owner), CallKind::look, kCallTimeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    const std::vector<Value>& words = list_in(*answer, 1);
    OrdersReply reply;
    reply.order = order_in(words[0]);
    for (std::size_t i = 1; i + 2 < words.size(); i += 3) {
      const Holding revoked{id_in(words[i]), number_in(words[i + 1])};
      reply.revoked.push_back(revoked);
      if (number_in(words[i + 2]) == 1) reply.held.push_back(revoked);
    }
    std::ranges::sort(reply.revoked, {}, &Holding::id);
    std::ranges::sort(reply.held, {}, &Holding::id);
    return reply;
  });
}

Result<void> RedisStore::stopped(const StoppedRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  static const Script& script = script_of("stopped");
  Command command = parts_->call_of(script, request.ns);
  command.arg(request.owner);
  for (const Holding& holding : request.jobs) command.arg(bytes_of(holding.id)).arg(holding.fence);
  return done(parts_->run(command, CallKind::change, request.timeout));
}

Result<std::vector<WorkerRow>> RedisStore::workers(const std::string& ns) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("list_workers");
  const Result<Value> answer = parts_->run(parts_->call_of(script, ns), CallKind::look, kCallTimeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    const std::vector<Value>& words = list_in(*answer, 1);
    std::vector<WorkerRow> rows;
    for (std::size_t i = 1; i + 3 < words.size(); i += 4)
      rows.push_back(worker_row_in(ns, words[i], words[i + 1], words[i + 2], words[i + 3], wall_in(words[0])));
    std::ranges::sort(rows, [](const WorkerRow& a, const WorkerRow& b) {
      return std::tie(a.started_at, a.report.owner) < std::tie(b.started_at, b.report.owner);
    });
    return rows;
  });
}

Result<std::vector<TrailEntry>> RedisStore::trail(const std::string& ns, int limit) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  if (limit < 1) return fail(Code::invalid, "limit must be at least 1");
  static const Script& script = script_of("list_trail");
  Command command = parts_->call_of(script, ns);
  const Result<Value> answer = parts_->run(command.arg(limit), CallKind::look, kCallTimeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    std::vector<TrailEntry> entries;
    for (const Value& value : list_in(*answer)) entries.push_back(entry_in(ns, value));
    return entries;
  });
}

Result<std::vector<std::string>> RedisStore::namespaces() {
  const Result<Value> answer =
      parts_->client.call(std::move(Command("SMEMBERS").arg(parts_->prefix + "spaces")), CallKind::look, kCallTimeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    std::vector<std::string> names;
    for (const Value& space : list_in(*answer)) names.push_back(parts_->namespace_in(text_in(space)));
    std::ranges::sort(names);
    if (names.size() > kNamespacesShown) names.resize(kNamespacesShown);
    return names;
  });
}

std::string RedisStore::Parts::namespace_in(std::string_view space) const {  // "fl:{default}:"
  space.remove_prefix(std::min(space.size(), prefix.size() + 1));
  space.remove_suffix(std::min<std::size_t>(space.size(), 2));
  return std::string(space);
}

// In short scripts: see lua/77_remove_namespace.lua.
Result<void> RedisStore::remove_namespace(const std::string& ns, const Act& act) {
  if (auto ok = check_name("namespace", ns); !ok) return ok;
  const auto step = [&](std::string_view verb, const std::vector<std::string>& words) {
    Command command = parts_->call_of(script_of(verb), ns);
    for (const std::string& word : words) command.arg(word);
    return parts_->run(command, CallKind::change, kCallTimeout);
  };
  const std::string at_once = std::to_string(parts_->walked_at_once);
  const Result<Value> began = step("remove_namespace", {act.actor, act.reason});
  if (!began) return std::unexpected(began.error());
  std::string up_to;
  if (auto read = read_answer(parts_->url(), [&] { up_to = text_in(*began); }); !read) return read;

  for (const std::string_view verb : {"remove_waiters", "remove_locks"}) {
    std::string at;
    for (bool more = true; more;) {
      const Result<Value> answer = step(verb, {at, at_once});
      if (!answer) return std::unexpected(answer.error());
      const Result<void> read = read_answer(parts_->url(), [&] {
        const std::vector<Value>& words = list_in(*answer, 2);
        more = number_in(words[0]) == 1;
        at = text_in(words[1]);
      });
      if (!read) return read;
    }
  }
  // Each answers where to go on, and in the end `end`.
  const auto walk = [&](std::string_view verb, std::string from, std::string_view end,
                        const std::vector<std::string>& more_words) -> Result<void> {
    do {
      std::vector<std::string> words{from};
      words.insert(words.end(), more_words.begin(), more_words.end());
      const Result<Value> answer = step(verb, words);
      if (!answer) return std::unexpected(answer.error());
      if (auto read = read_answer(parts_->url(), [&] { from = text_in(*answer); }); !read) return read;
    } while (from != end);
    return {};
  };
  if (auto ok = walk("remove_jobs", "0", "", {up_to, at_once}); !ok) return ok;
  if (auto ok = walk("remove_schedules", "0", "0", {at_once}); !ok) return ok;
  if (auto ok = done(step("remove_rest", {})); !ok) return ok;
  return walk("sweep_namespace", "0", "0", {at_once});
}

}  // namespace fenceline
