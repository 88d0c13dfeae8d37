#include "fenceline/gated_file.hpp"

#include "base/crash_point.hpp"
#include "gates/durable_file.hpp"
#include "gates/gate_memory.hpp"
#include "runtime/thread_runtime.hpp"

namespace fenceline {
namespace {

// The gate's lock is held: nobody else uses this name.
std::string content_path(const std::string& path) { return GatedFile::memory_path(path) + ".content"; }

Result<void> check_put(const GatedFileOptions& options, const GatedPut& request) {
  if (auto ok = check_gate_fence(request.fence); !ok) return ok;
  if (request.content.size() > kGatedContentBytesMax)
    return fail(Code::invalid, "the content is too large; at most " + std::to_string(kGatedContentBytesMax) +
                                   " bytes, or write it under 'fenceline gate run'");
  if (options.path.empty() || options.path.ends_with('/'))
    return fail(Code::invalid, "'" + options.path + "' does not name a file");
  for (const std::string_view ending : {".gate", ".gate.new", ".gate.first", ".gate.content"}) {
    if (options.path.ends_with(ending))
      return fail(Code::invalid, options.path + " has the name of a gate's record; choose another name");
  }
  return check_replaceable(options.path);
}

Result<StagedFile> stage(const std::string& path, std::string_view content) {
  Result<StagedFile> staged = StagedFile::begin(path, content_path(path));
  if (!staged) return staged;
  const std::size_t half = content.size() / 2;
  if (auto ok = staged->append(content.substr(0, half)); !ok) return std::unexpected(ok.error());
  FENCELINE_CRASH_POINT(gate_content_begun);
  if (auto ok = staged->append(content.substr(half)); !ok) return std::unexpected(ok.error());
  if (auto ok = staged->sync(); !ok) return std::unexpected(ok.error());
  FENCELINE_CRASH_POINT(gate_content_written);
  return staged;
}

}  // namespace

Result<GateAnswer> GatedFile::put(const GatedPut& request) const {
  if (auto ok = check_put(options_, request); !ok) return std::unexpected(ok.error());
  ThreadRuntime runtime;
  Result<GateMemory> gate =
      GateMemory::lock(runtime, {memory_path(options_.path), options_.resource}, options_.wait, request.stop);
  if (!gate) return std::unexpected(gate.error());
  FENCELINE_CRASH_POINT(gate_locked);

  const Fence remembered = gate->remembered();
  const Result<std::optional<Fence>> newest = request.newest ? request.newest() : std::nullopt;
  if (!newest) return std::unexpected(newest.error());
  const GateAnswer answer = judge_fence(request.fence, remembered, *newest);
  if (!answer.accepted()) return answer;

  // The content is on the disk before anything changes, so that a full one is noticed in time. The memory is before the
  // content takes its place, so that nothing older can follow it.
  Result<StagedFile> staged = stage(options_.path, request.content);
  if (!staged) return std::unexpected(staged.error());
  if (request.fence > remembered) {
    if (auto ok = gate->raise(request.fence); !ok) return std::unexpected(ok.error());
  }
  if (auto ok = staged->take_place(); !ok) return std::unexpected(ok.error());
  FENCELINE_CRASH_POINT(gate_content_renamed);
  if (auto ok = sync_folder(folder_of(options_.path)); !ok) return std::unexpected(ok.error());
  FENCELINE_CRASH_POINT(gate_content_placed);
  return answer;
}

Result<std::optional<Fence>> GatedFile::remembered() const {
  const Result<std::optional<GateRecord>> record = look_at_gate(memory_path(options_.path));
  if (!record) return std::unexpected(record.error());
  if (!*record || (*record)->fence == 0) return std::nullopt;
  return (*record)->fence;
}

}  // namespace fenceline
