// What handlers say while they work: progress, and a log of which only the end is kept.
#include <algorithm>

#include "backends/memory/memory_store.hpp"

namespace fenceline {
namespace {

// What a note adds to a log that reaches to `end` already. A gap before it is nobody's to fill.
std::string_view unseen(const Note& note, std::int64_t end) {
  const std::int64_t seen = std::clamp<std::int64_t>(end - note.log_at, 0, static_cast<std::int64_t>(note.log.size()));
  return std::string_view(note.log).substr(static_cast<std::size_t>(seen));
}

}  // namespace

Result<RecordReply> MemoryStore::record(const RecordRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  Space& space = spaces_[request.ns];
  RecordReply reply;
  for (const Note& note : request.notes) {
    Entry* entry = find_job(space, note.id);
    if (!entry || entry->job.fence != note.fence) {
      reply.refused.push_back(
          {note.id, note.fence, entry ? entry->job.fence : 0, entry ? Reason::superseded : Reason::not_found});
      continue;
    }
    if (note.progress) entry->job.progress = note.progress;
    const std::string_view added = unseen(note, entry->log_end);
    if (added.empty()) continue;
    entry->log_end = note.log_at + static_cast<std::int64_t>(note.log.size());
    entry->log.push_back({++entry->log_chunks, {entry->job.deliveries, now.wall, std::string(added)}});

    std::size_t kept = 0;
    for (const NumberedChunk& chunk : entry->log) kept += chunk.chunk.bytes.size();
    while (kept > kLogBytesMax) {
      std::string& oldest = entry->log.front().chunk.bytes;
      const std::size_t goes = std::min(oldest.size(), kept - kLogBytesMax);
      oldest.erase(0, goes);
      kept -= goes;
      entry->log_dropped += static_cast<std::int64_t>(goes);
      if (oldest.empty()) entry->log.erase(entry->log.begin());
    }
  }
  return reply;
}

Result<std::optional<LogReply>> MemoryStore::log(const LogRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  Space* space = find_space(request.ns);
  const Entry* entry = space ? find_job(*space, request.id) : nullptr;
  if (!entry) return std::nullopt;
  LogReply reply;
  reply.dropped = entry->log_dropped;
  reply.next = request.after;
  for (const NumberedChunk& chunk : entry->log) {
    if (chunk.number <= request.after || reply.chunks.size() == static_cast<std::size_t>(request.limit)) continue;
    reply.chunks.push_back(chunk.chunk);
    reply.next = chunk.number;
  }
  return reply;
}

}  // namespace fenceline
