// Another queue beside us, in the same run: a program that takes "drain N FOLDER" on a line, enqueues N jobs into a
// store of its own in that folder, drains them with its own worker at the same durability, and answers with one line of
// JSON:
// {"jobs":N,"seconds":S}. See bench/peers.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "benches/bench.hpp"
#include "benches/work.hpp"
#include "runtime/child_process.hpp"

namespace fenceline::cli {
namespace {

using bench::Cost;

constexpr int kSlice = 200;  // ms between two looks at the stop

// Killed when it goes away.
class Peer {
 public:
  static Result<std::unique_ptr<Peer>> start(const std::string& program) {
    Result<Pipe> in = make_pipe();
    if (!in) return std::unexpected(in.error());
    Result<Pipe> out = make_pipe();
    if (!out) return std::unexpected(out.error());
    Result<ChildProcess> child =
        spawn_child({.program = program,
                     .arguments = {program},
                     .descriptors = {{in->read.get(), STDIN_FILENO}, {out->write.get(), STDOUT_FILENO}},
                     .dies_with_us = true});
    if (!child) return std::unexpected(child.error());
    return std::unique_ptr<Peer>(new Peer(std::move(*child), std::move(in->write), std::move(out->read)));
  }
  ~Peer() {
    ::kill(child_.pid, SIGKILL);
    reap(child_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Errors: held (stopped), unavailable (it ended, or answered something else).
  Result<double> drain(Bench& bench, std::int64_t jobs, const std::string& folder) {
    const std::string order = "drain " + std::to_string(jobs) + " " + folder + "\n";
    if (::write(in_.get(), order.data(), order.size()) < 0)
      return fail(Code::unavailable, "the peer does not read its input");
    std::string line;
    while (!line.ends_with('\n')) {
      if (bench.stopped()) return fail(Code::held, "interrupted");
      pollfd watched{out_.get(), POLLIN, 0};
      if (::poll(&watched, 1, kSlice) <= 0) continue;
      char byte = 0;
      if (::read(out_.get(), &byte, 1) <= 0)
        return fail(Code::unavailable, "the peer ended without an answer; its output is above");
      line += byte;
    }
    const nlohmann::json told = nlohmann::json::parse(line, nullptr, false);
    if (!told.is_object() || !told.contains("jobs") || !told.contains("seconds") || told["jobs"] != jobs ||
        told["seconds"].get<double>() <= 0)
      return fail(Code::unavailable, "the peer's answer cannot be parsed");
    return static_cast<double>(jobs) / told["seconds"].get<double>();
  }

 private:
  Peer(ChildProcess child, UniqueFd in, UniqueFd out)
      : child_(std::move(child)), in_(std::move(in)), out_(std::move(out)) {}

  ChildProcess child_;
  UniqueFd in_;
  UniqueFd out_;
};

Result<double> our_drain(Bench& bench, bool by_worker) {
  const Result<Cost> cost = bench.drained([&](Store& store) {
    const std::stop_token& stop = bench.invocation.stop;
    return by_worker ? drain_with_worker(bench.runtime(), Log(*bench.invocation.log_sink), store, stop)
                     : drain_in_batches(bench.runtime(), store, bench.sizes.jobs, bench.sizes.batch, stop);
  });
  if (!cost) return std::unexpected(cost.error());
  return cost->rate();
}

}  // namespace

BenchResults measure_peer(Bench& bench, const std::string& program) {
  auto peer = Peer::start(program);
  if (!peer) return std::unexpected(peer.error());
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<double> times;
  std::vector<double> times_calls;
  for (int round = 0; round < bench.sizes.peer_rounds; ++round) {
    if (auto ok = bench.go_on("drain compared with the peer, round " + std::to_string(round + 1)); !ok)
      return std::unexpected(ok.error());
    const Result<double> by_worker = our_drain(bench, true);
    if (!by_worker) return std::unexpected(by_worker.error());
    const std::string folder = bench.folder.path() + "/peer-" + std::to_string(round);
    std::filesystem::create_directory(folder);
    const Result<double> rate = (*peer)->drain(bench, bench.sizes.peer_jobs, folder);
    if (!rate) return std::unexpected(rate.error());
    std::filesystem::remove_all(folder);
    const Result<double> by_calls = our_drain(bench, false);
    if (!by_calls) return std::unexpected(by_calls.error());
    ours.push_back(*by_worker);
    theirs.push_back(*rate);
    times.push_back(*by_worker / *rate);
    times_calls.push_back(*by_calls / *rate);
  }
  BenchResult result{.name = "peer_drain"};
  const bench::Spread spread = bench::spread_of(times);
  result.rate = bench::median_of(ours);
  result.add("peer_rate", bench::median_of(theirs));
  result.add("times_peer", spread);
  result.add("times_peer_by_calls", bench::median_of(times_calls));
  result.must("times_peer", spread.median, Bound::at_least, 15);
  return std::vector{result};
}

}  // namespace fenceline::cli
