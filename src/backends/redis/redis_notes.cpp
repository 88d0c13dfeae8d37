// What handlers say while they work: progress, and a log of which only the end is kept. See lua/49_record.lua.
#include <algorithm>

#include "backends/redis/looks.hpp"
#include "backends/redis/msgpack.hpp"

namespace fenceline {

using namespace redis;

Result<RecordReply> RedisStore::record(const RecordRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("record");
  Command call = parts_->call_of(script, request.ns);
  for (const Note& note : request.notes) {
    call.arg(bytes_of(note.id))
        .arg(note.fence)
        .arg(note.progress ? note.progress->percent : -1)
        .arg(note.progress ? note.progress->note : "");
    call.arg(note.log).arg(note.log_at);
  }
  const Result<Value> answer = parts_->run(call, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    RecordReply reply;
    for (const Value& one : list_in(*answer)) {
      const std::vector<Value>& refusal = list_in(one, 3);
      const std::int64_t number = number_in(refusal[0]);
      if (number < 0 || static_cast<std::size_t>(number) >= request.notes.size())
        throw WireFailure("a note is refused that was not sent");
      const Note& note = request.notes[static_cast<std::size_t>(number)];
      reply.refused.push_back({note.id, note.fence, number_in(refusal[1]), reason_from(text_in(refusal[2]))});
    }
    return reply;
  });
}

Result<std::optional<LogReply>> RedisStore::log(const LogRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("log");
  Command call = parts_->call_of(script, request.ns);
  call.arg(bytes_of(request.id)).arg(std::min(request.after, kCursorMost)).arg(request.limit);
  const Result<Value> answer = parts_->run(call, CallKind::look, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  if (answer->is_nil()) return std::nullopt;
  return decoded(parts_->url(), [&] {
    const std::vector<Value>& parts = list_in(*answer, 3);
    LogReply reply;
    reply.dropped = number_in(parts[0]);
    for (const Value& packed : list_in(parts[2])) {
      MsgpackReader reader(text_in(packed));
      if (reader.list() != 3) throw WireFailure("a part of a log is not understood");
      LogChunk chunk;
      chunk.delivery = reader.number();
      chunk.at = WallTime{Duration{reader.number()}};
      chunk.bytes = reader.text();
      if (reader.has_failed()) throw WireFailure("a part of a log is not understood");
      reply.chunks.push_back(std::move(chunk));
    }
    reply.next = reply.chunks.empty() ? request.after : number_in(parts[1]);
    return std::optional(std::move(reply));
  });
}

}  // namespace fenceline
