// Pipelines and their items. What is kept of them stands in lua/86_put_pipeline.lua and lua/87_change_items.lua.
#include <algorithm>
#include <span>

#include "backends/redis/job_wire.hpp"
#include "backends/redis/looks.hpp"
#include "backends/redis/msgpack.hpp"

namespace fenceline {
namespace {

using namespace redis;

constexpr std::int64_t kItemBytesAtOnce = 4 << 20;  // read by one script: some milliseconds of the server

PipelineRow pipeline_in(const std::string& name, std::string_view packed) {
  MsgpackReader reader(packed);
  PipelineRow row{.name = name, .spec = ""};
  const std::size_t words = reader.list();
  row.revision = reader.number();
  row.changed_at = WallTime{Duration{reader.number()}};
  row.spec = reader.text();
  if (words != 3 || reader.has_failed()) throw WireFailure("the row of a pipeline is not understood");
  return row;
}

Item item_in(const Value& value) {
  const std::vector<Value>& parts = list_in(value, 2);
  Item item{.job = job_in(parts[0]), .record = ""};
  if (text_in(parts[1]).empty()) return item;
  MsgpackReader reader(text_in(parts[1]));
  const std::size_t words = reader.list();
  item.revision = reader.number();
  reader.skip();  // the request that changed it last
  item.record = reader.text();
  if (words != 3 || reader.has_failed()) throw WireFailure("the record of an item is not understood");
  return item;
}

// Ten arguments: see lua/87_change_items.lua.
void add_change(Command& call, const ItemChange& change) {
  const auto or_dash = [](const auto& value) {
    return value ? std::to_string(static_cast<std::int64_t>(*value)) : "-";
  };
  call.arg(bytes_of(change.id))
      .arg(std::to_string(change.revision) + ' ' + or_dash(change.fence) + ' ' + or_dash(change.only));
  call.arg(change.record).arg(change.act).arg(change.about).arg(change.reason);
  if (!change.place) {
    call.arg("").arg("").arg("").arg("");
    return;
  }
  const Placement& place = *change.place;
  call.arg(std::to_string(static_cast<int>(place.state)) + ' ' + std::to_string(place.delay.count()) +
           (place.fresh ? " 1" : " 0"));
  call.arg(place.stage)
      .arg(place.state == JobState::done ? std::string_view(place.result) : "")
      .arg(place.error);  // only what is done has a result
}

}  // namespace

Result<PipelineRow> RedisStore::put_pipeline(const PutPipelineRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("put_pipeline");
  Command call = parts_->call_of(script, request.ns);
  call.arg(request.name).arg(request.spec).arg(request.revision).arg(request.act.actor).arg(request.act.reason);
  const Result<Value> answer = parts_->run(call, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    const std::vector<Value>& words = list_in(*answer, 2);
    return PipelineRow{request.name, request.spec, number_in(words[0]), wall_in(words[1])};
  });
}

// One command, so one step; specs do not pass through Lua.
Result<std::vector<PipelineRow>> RedisStore::pipelines(const std::string& ns) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const Result<Value> answer =
      parts_->run(std::move(Command("HGETALL").key(parts_->prefix_of(ns) + "pipelines")), CallKind::look, kCallTimeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    const std::vector<Value>& words = list_in(*answer);
    std::vector<PipelineRow> rows;
    for (std::size_t i = 0; i + 1 < words.size(); i += 2)
      rows.push_back(pipeline_in(text_in(words[i]), text_in(words[i + 1])));
    std::ranges::sort(rows, {}, &PipelineRow::name);
    return rows;
  });
}

// In as many short scripts as large payloads take. The answer's clock is that of the first.
Result<ItemsReply> RedisStore::items(const ItemsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("items");
  const Instant deadline = parts_->runtime.now() + request.timeout;
  ItemsReply reply;
  for (std::span<const JobId> left = request.ids; !left.empty();) {
    std::string ids;
    for (const JobId& id : left) ids += bytes_of(id);
    Command call = parts_->call_of(script, request.ns);
    call.arg(kItemBytesAtOnce).arg(ids);
    const Result<Value> answer = parts_->run(call, CallKind::look, deadline - parts_->runtime.now());
    if (!answer) return std::unexpected(answer.error());
    const Result<void> read = read_answer(parts_->url(), [&] {
      const std::vector<Value>& words = list_in(*answer, 3);
      if (left.size() == request.ids.size()) reply.now = wall_in(words[0]);
      const std::int64_t looked = number_in(words[1]);
      if (looked < 1 || looked > std::ssize(left))
        throw WireFailure("another number of items was looked at than asked for");
      for (const Value& item : list_in(words[2])) reply.items.push_back(item_in(item));
      left = left.subspan(static_cast<std::size_t>(looked));
    });
    if (!read) return std::unexpected(read.error());
  }
  return reply;
}

Result<ChangeItemsReply> RedisStore::change_items(const ChangeItemsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("change_items");
  Command call = parts_->call_of(script, request.ns);
  call.arg(request.owner).arg(request.request).arg(request.act.actor).arg(request.act.reason);
  for (const ItemChange& change : request.changes) add_change(call, change);
  const Result<Value> answer = parts_->run(call, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    ChangeItemsReply reply;
    for (const Value& one : list_in(*answer)) {
      const std::vector<Value>& words = list_in(one, 4);
      reply.refused.push_back(
          {id_in(words[0]), reason_from(text_in(words[1])), number_in(words[2]), number_in(words[3])});
    }
    return reply;
  });
}

}  // namespace fenceline
