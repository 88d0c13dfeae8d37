#include "drills/kill_gate.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fenceline::cli {
namespace {

constexpr std::size_t kContent = 20'000;

// Of each fence another, so that a mixture is seen.
std::string content_of(int fence) {
  return std::string(kContent + static_cast<std::size_t>(fence), static_cast<char>('a' + fence));
}

}  // namespace

bool is_of_a_gate(const CrashPointInfo& point) { return point.name.starts_with("gate_"); }

std::vector<std::string> KillAtGate::put(int fence) const {
  return {"gate",
          "put",
          "drill",
          std::to_string(fence),
          place_.path() + "/file",
          "--from",
          folder_.path() + "/content-" + std::to_string(fence),
          "--wait",
          "30s"};
}

// A command that is not atomic by itself: it is whole because the gate stays held to its end, also if its parent is
// killed.
std::vector<std::string> KillAtGate::write_by_command(int fence) const {
  const std::string source = folder_.path() + "/content-" + std::to_string(fence), target = place_.path() + "/file";
  return {"gate",    "run",
          "drill",   std::to_string(fence),
          "--gates", place_.path() + "/gates",
          "--wait",  "30s",
          "--",      "/bin/sh",
          "-c",      "head -c 9000 \"$1\" >\"$2\"; sleep 0.3; tail -c +9001 \"$1\" >>\"$2\"",
          "write",   source,
          target};
}

int KillAtGate::run(const std::vector<std::string>& arguments, bool armed) {
  return run_armed(invocation_, arguments,
                   {.store_url = invocation_.store_url,
                    .ns = "default",
                    .folder = folder_.path(),
                    .mark = folder_.path() + "/mark",
                    .dies_at = armed ? point_.name : ""})
      .exit.status;
}

std::string KillAtGate::content() const {
  std::ifstream in(place_.path() + "/file", std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool KillAtGate::was_met() const { return std::filesystem::exists(folder_.path() + "/mark"); }

// A put that was killed left the old or the new; a command that lost its parent ends its work before another gets in.
std::string KillAtGate::killed_and_repeated(const std::vector<std::string>& writer, int fence) {
  const std::string before = content();
  const bool met_before = was_met();
  const int status = run(writer, true);
  const bool died = !met_before && was_met();
  if (died && status != 128 + SIGKILL) return "the writer ended with " + std::to_string(status) + " at its kill";
  if (!died && status != kExitOk) return "the writer ended with " + std::to_string(status);
  if (died && writer[1] == "put" && content() != before && content() != content_of(fence))
    return "a mixture of old and new content was left";
  if (died && run(writer, false) != kExitOk) return "the same fence could not write again after the kill";
  if (content() != content_of(fence)) return "the content of the newest writer is not there";
  std::vector<std::string> late = writer;
  late[3] = std::to_string(fence - 1);
  if (run(late, false) != kExitLost) return "L2: an older fence passed after the kill";
  if (content() != content_of(fence)) return "a refused writer changed the content";
  return {};
}

std::string KillAtGate::nothing_is_left() const {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(place_.path())) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file() && name != "file" && !name.ends_with(".gate")) return name + " was left behind";
  }
  return {};
}

std::string KillAtGate::play() {
  for (int fence = 1; fence <= 6; ++fence)
    std::ofstream(folder_.path() + "/content-" + std::to_string(fence), std::ios::binary) << content_of(fence);
  for (const int fence : {2, 4}) {
    if (std::string fault = killed_and_repeated(put(fence), fence); !fault.empty()) return fault;
  }
  if (std::string fault = killed_and_repeated(write_by_command(6), 6); !fault.empty()) return fault;
  if (!was_met()) return "the point was never reached, so the drill proves nothing";
  return nothing_is_left();
}

}  // namespace fenceline::cli
