// The part of the stream that sends many plain jobs at once, as most producers do. A store may keep them in common as
// long as nobody can tell; so their ids lie close to each other and among those of others, in any order, and their
// payloads and results are of sizes at which such a row is just full.
#include <algorithm>

#include "conformance/differential_stream.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kCrowdsRemembered = 20;
constexpr std::uint64_t kFarApart = 1000;
constexpr std::uint64_t kStretch = 64;  // of ids that a store may look for at once

// Depends on nothing but the id, so that a repeat is one.
std::string payload_of(std::uint64_t number) {
  const std::uint64_t hash = (number * 0x9e3779b97f4a7c15u) >> 32;
  std::size_t size = 0;
  if (hash % 16 == 0) size = 3850 + hash / 16 % 81;
  if (hash % 16 == 1) size = 1900 + hash / 16 % 60;
  const std::string text = std::to_string(number % 1'000'000);
  return '"' + text + std::string(size > text.size() + 2 ? size - text.size() - 2 : 0, 'p') + '"';
}

}  // namespace

// A new one; or one that goes on where an earlier one was, between its ids, over it again, or around it.
DifferentialStream::Crowd DifferentialStream::any_crowd() {
  static const std::vector<std::string> queues{"q", "r"};
  static const std::vector<std::uint64_t> steps{1, 4, kFarApart};
  const std::uint64_t size = 1 + below(one_in(4) ? kJobsAlike : one_in(2) ? 80 : 6);
  if (crowds_.empty() || one_in(2))
    return {any_namespace(),   one_of(queues),
            clock_.wall_now(), (kStretch + below(1u << 30)) * kFarApart,
            one_of(steps),     size};
  Crowd crowd = one_of(std::vector<Crowd>(crowds_.begin(), crowds_.end()));
  if (one_in(3)) {  // its first id where two stretches meet
    crowd.first -= (kStretch - 1) * kFarApart + kFarApart / 2;
    crowd.step = kFarApart;
    crowd.size = kStretch + 1 + below(kJobsAlike - kStretch);
    crowd.whole = true;
    return crowd;
  }
  const std::uint64_t from = crowd.first + below(crowd.size + 2) * crowd.step;
  const bool again = crowd.step == 1 || one_in(3);
  crowd.first = again ? from : from + 1 + below(crowd.step - 1);
  if (!again && one_in(2)) crowd.step = 1;
  crowd.size = one_in(3) ? 1 : size;
  crowd.whole = false;
  return crowd;
}

void DifferentialStream::enqueue_alike() {
  const Crowd crowd = any_crowd();
  EnqueueRequest request{.ns = crowd.ns};
  for (std::uint64_t i = 0; i < crowd.size; ++i) {
    if (!crowd.whole && one_in(20)) continue;
    const std::uint64_t number = crowd.first + i * crowd.step;
    request.jobs.push_back(
        {.id = make_uuid7(crowd.at, 0, number), .queue = crowd.queue, .payload = payload_of(number)});
  }
  if (request.jobs.empty()) return;
  if (!crowd.whole && one_in(5)) std::reverse(request.jobs.begin(), request.jobs.end());
  if (!crowd.whole && one_in(8)) std::swap(request.jobs.front(), request.jobs[below(request.jobs.size())]);
  // One among them that is not like the others.
  NewJob& odd = request.jobs[below(request.jobs.size())];
  if (one_in(6)) odd.priority = 1;
  if (one_in(8)) odd.delay = 1s;
  if (one_in(8)) odd.tags = {"blue"};
  if (one_in(8)) odd.queue = "r";
  const auto reply = both("enqueue", text_of(request), [&](Store& store) { return store.enqueue(request); });
  if (!reply) return;
  const auto existing = static_cast<std::size_t>(reply->existing);
  note("enqueue", existing == 0 ? "ok" : existing == request.jobs.size() ? "existing" : "mixed");
  for (const NewJob& job : request.jobs) {
    if (one_in(8)) enqueued_.emplace_back(request.ns, job);
  }
  crowds_.push_back(crowd);
  if (crowds_.size() > kCrowdsRemembered) crowds_.pop_front();
}

std::vector<Holding> DifferentialStream::holdings_alike(std::string& ns, std::string& owner) {
  std::vector<Holding> chosen;
  if (holdings_.empty()) return chosen;
  const Remembered one = holdings_[below(holdings_.size())];
  ns = one.ns;
  owner = one.owner;
  const bool gaps = one_in(2);
  for (const Remembered& other : holdings_) {
    const bool alike = other.ns == one.ns && other.owner == one.owner && other.holding.fence == one.holding.fence;
    const bool known = std::any_of(chosen.begin(), chosen.end(),
                                   [&](const Holding& holding) { return holding.id == other.holding.id; });
    if (alike && !known && !(gaps && one_in(8))) chosen.push_back(other.holding);
  }
  if (chosen.empty() || one_in(3)) return chosen;
  const auto from = static_cast<std::ptrdiff_t>(below(chosen.size()));
  const auto size = static_cast<std::ptrdiff_t>(1 + below(chosen.size() - static_cast<std::size_t>(from)));
  return {chosen.begin() + from, chosen.begin() + from + size};
}

void DifferentialStream::extend_alike() {
  ExtendRequest request;
  request.jobs = holdings_alike(request.ns, request.owner);
  request.ttl = any_ttl();
  if (request.jobs.empty()) return;
  const auto reply = both("extend", text_of(request), [&](Store& store) { return store.extend(request); });
  if (reply && reply->refused.empty()) note("extend", "ok");
}

void DifferentialStream::settle_alike() {
  SettleRequest request;
  const OutcomeKind kind = one_in(6) ? OutcomeKind::failed : one_in(12) ? OutcomeKind::given_back : OutcomeKind::done;
  const bool large = one_in(3);
  for (const Holding& holding : holdings_alike(request.ns, request.owner)) {
    Outcome outcome{.kind = kind};
    std::size_t size = below(4) * 3;
    if (large && one_in(6)) size = one_in(2) ? 2990 + below(21) : 1490 + below(21);
    outcome.result = std::string(size, static_cast<char>('a' + below(26)));
    if (one_in(100)) outcome.kind = OutcomeKind::dead;
    request.settlements.push_back({holding.id, holding.fence, outcome});
  }
  if (!request.settlements.empty()) send_settle(request);
}

}  // namespace fenceline::test
