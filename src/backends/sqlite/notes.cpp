// What handlers say while they work: progress, and a log of which only the end is kept.
#include <algorithm>
#include <vector>

#include "backends/sqlite/delivery.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kPutProgress = R"sql(
  INSERT INTO note (seq, percent, word) VALUES (?1, ?2, ?3) ON CONFLICT (seq)
    DO UPDATE SET percent = excluded.percent, word = excluded.word)sql";
constexpr const char* kLengths = "SELECT chunks, kept, dropped, delivery, sent FROM note WHERE seq = ?1";
constexpr const char* kSetLengths = R"sql(
  INSERT INTO note (seq, chunks, kept, dropped, delivery, sent) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT (seq) DO UPDATE SET chunks = excluded.chunks, kept = excluded.kept, dropped = excluded.dropped,
    delivery = excluded.delivery,
    sent = excluded.sent)sql";
constexpr const char* kAddChunk = "INSERT INTO log (seq, n, delivery, at, bytes) VALUES (?1, ?2, ?3, ?4, ?5)";
constexpr const char* kOldestChunk = "SELECT id, length(bytes) FROM log WHERE seq = ?1 ORDER BY n LIMIT 1";
constexpr const char* kDropChunk = "DELETE FROM log WHERE id = ?1";
constexpr const char* kCutChunk = "UPDATE log SET bytes = substr(bytes, ?2 + 1) WHERE id = ?1";
constexpr const char* kChunks = "SELECT n, delivery, at, bytes FROM log WHERE seq = ?1 AND n > ?2 ORDER BY n LIMIT ?3";
constexpr const char* kDropped = "SELECT dropped FROM note WHERE seq = ?1";

struct Lengths {
  std::int64_t chunks = 0;  // that ever came: each has the next number
  std::int64_t kept = 0;    // bytes
  std::int64_t dropped = 0;
  std::int64_t delivery = 0;  // the one that logged last
  std::int64_t sent = 0;      // how far that one has logged
};

Lengths lengths_of(Call& call, std::int64_t seq) {
  auto row = call.db.query(kLengths, seq);
  if (!row.next()) return {};
  return {row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4)};
}

// The oldest bytes go first.
void trim_log(Call& call, std::int64_t seq, Lengths& lengths) {
  const auto most = static_cast<std::int64_t>(kLogBytesMax);
  while (lengths.kept > most) {
    std::int64_t chunk = 0;
    std::int64_t size = 0;
    {
      auto row = call.db.query(kOldestChunk, seq);
      if (!row.next()) return;
      chunk = row.integer(0);
      size = row.integer(1);
    }
    const std::int64_t goes = std::min(size, lengths.kept - most);
    if (goes == size) call.db.execute(kDropChunk, chunk);
    else call.db.execute(kCutChunk, chunk, goes);
    lengths.kept -= goes;
    lengths.dropped += goes;
  }
}

void add_to_log(Call& call, const Delivery& delivery, const Note& note) {
  if (note.log.empty()) return;
  Lengths lengths = lengths_of(call, delivery.seq);
  if (lengths.delivery != delivery.deliveries) {
    lengths.delivery = delivery.deliveries;
    lengths.sent = 0;
  }
  // What was sent before is not added twice; a gap is nobody's to fill.
  const auto size = static_cast<std::int64_t>(note.log.size());
  const std::int64_t seen = std::clamp<std::int64_t>(lengths.sent - note.log_at, 0, size);
  if (seen == size) return;
  const std::string_view added = std::string_view(note.log).substr(static_cast<std::size_t>(seen));
  lengths.sent = note.log_at + size;
  lengths.chunks += 1;
  lengths.kept += size - seen;
  call.db.execute(kAddChunk, delivery.seq, lengths.chunks, delivery.deliveries, call.wall_us(), Bytes{added});
  trim_log(call, delivery.seq, lengths);
  call.db.execute(kSetLengths, delivery.seq, lengths.chunks, lengths.kept, lengths.dropped, lengths.delivery,
                  lengths.sent);
}

}  // namespace

Result<RecordReply> record(Call& call, const RecordRequest& request) {
  RecordReply reply;
  const auto ns_id = call.names.find_namespace(request.ns);
  std::vector<const JobId*> ids;
  for (const Note& note : request.notes) ids.push_back(&note.id);
  const std::vector<std::optional<Delivery>> found =
      ns_id ? find_deliveries(call, *ns_id, ids) : std::vector<std::optional<Delivery>>(ids.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Note& note = request.notes[i];
    const std::optional<Delivery>& there = found[i];
    if (!there || there->fence != note.fence) {
      reply.refused.push_back(
          {note.id, note.fence, there ? there->fence : 0, there ? Reason::superseded : Reason::not_found});
      continue;
    }
    if (note.progress) call.db.execute(kPutProgress, there->seq, note.progress->percent, note.progress->note);
    add_to_log(call, *there, note);
  }
  return reply;
}

Result<std::optional<LogReply>> read_log(Call& call, const LogRequest& request) {
  const auto ns_id = call.names.find_namespace(request.ns);
  const auto seq = ns_id ? find_seq(call, *ns_id, request.id) : std::nullopt;
  if (!seq) return std::nullopt;
  LogReply reply;
  reply.dropped = call.db.number(kDropped, *seq).value_or(0);
  reply.next = request.after;
  auto rows = call.db.query(kChunks, *seq, request.after, request.limit);
  while (rows.next()) {
    reply.chunks.push_back({rows.integer(1), wall_time(rows.integer(2)), rows.text(3)});
    reply.next = rows.integer(0);
  }
  return reply;
}

}  // namespace fenceline::sqlite
