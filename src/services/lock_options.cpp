#include "services/lock_options.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/duration_text.hpp"
#include "store/request_checks.hpp"

namespace fenceline {
namespace {

using std::chrono::seconds;

constexpr DurationRange kUpToADay{Duration{0}, std::chrono::hours{24}};

template <class Value>
using Word = std::pair<Value, std::string_view>;

constexpr std::array<Word<LockPattern>, 4> kPatterns{{{LockPattern::item, "item"},
                                                      {LockPattern::loop, "loop"},
                                                      {LockPattern::fenced, "fenced"},
                                                      {LockPattern::layered, "layered"}}};
constexpr std::array<Word<Contention>, 3> kContentions{
    {{Contention::skip, "skip"}, {Contention::retry, "retry"}, {Contention::in_turn, "in_turn"}}};
constexpr std::array<Word<OnStoreError>, 2> kStorePolicies{
    {{OnStoreError::closed, "closed"}, {OnStoreError::open, "open"}}};
constexpr std::array<Word<OnReleaseError>, 2> kReleasePolicies{
    {{OnReleaseError::report, "report"}, {OnReleaseError::ignore, "ignore"}}};

template <class Words, class Value>
std::string_view word_of(const Words& words, Value value) {
  return std::ranges::find(words, value, [](const auto& word) { return word.first; })->second;
}

template <class Value, std::size_t n>
std::optional<Value> value_of(const std::array<Word<Value>, n>& words, std::string_view text) {
  const auto found = std::ranges::find(words, text, [](const auto& word) { return word.second; });
  return found == words.end() ? std::nullopt : std::optional(found->first);
}

Result<void> check_names(const LockOptions& options) {
  if (options.names.empty()) return fail(Code::invalid, "no lock was named");
  if (options.names.size() > kLocksAtOnceMax)
    return fail(Code::invalid, "too many locks at once: at most " + std::to_string(kLocksAtOnceMax));
  for (const std::string& name : options.names) {
    if (auto ok = check_lock_name(name); !ok) return ok;
  }
  std::vector<std::string> sorted = options.names;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) return fail(Code::invalid, "lock " + *twice + " was named twice");
  return {};
}

Result<void> check_sharing(const LockOptions& options) {
  if (options.slots < 1 || options.slots > kLockSlotsMax)
    return fail(Code::invalid, "slots must be 1 to " + std::to_string(kLockSlotsMax));
  if (options.slots > 1 && options.names.size() > 1)
    return fail(Code::invalid, "slots are for one lock, not for several at once");
  if (options.slots > 1 && options.mode == LockMode::shared)
    return fail(Code::invalid, "a shared lock has no slots: use one or the other");
  const bool rests = options.hold_at_least > Duration{0} || options.delay > Duration{0};
  if (options.pattern == LockPattern::loop && rests)
    return fail(Code::invalid,
                "a loop holds its lock to the end of the window; it takes neither hold-at-least nor a delay");
  if (options.mode == LockMode::exclusive) return {};
  if (options.pattern == LockPattern::loop)
    return fail(Code::invalid, "a loop is exclusive: its lock cannot be shared");
  if (options.hold_at_least > Duration{0})
    return fail(Code::invalid, "a shared lock cannot have hold-at-least: it has no single holder");
  if (options.delay > Duration{0})
    return fail(Code::invalid, "a shared lock cannot have a delay: it has no single holder");
  return {};
}

// The last of the tries has failed before the work must be told to stop, so the first cannot be later than that.
Result<void> check_renewal(const LockOptions& options) {
  if (options.renewal_tries < 1 || options.renewal_tries > kRenewalTriesMax)
    return fail(Code::invalid, "renewal tries must be 1 to " + std::to_string(kRenewalTriesMax));
  const LeaseTimes times = times_of(options);
  const Duration latest = times.ttl - times.margin - times.grace - times.call_timeout;
  if (options.renew_every < Duration{0} || times.renew_after > latest)
    return fail(Code::invalid, "renewal after " + format_duration(options.renew_every) + " is too late for a ttl of " +
                                   format_duration(options.ttl) + "; use at most " +
                                   format_duration(std::chrono::floor<std::chrono::milliseconds>(latest)));
  return {};
}

}  // namespace

std::string_view to_string(LockPattern pattern) {
  return pattern == LockPattern::election ? "election" : word_of(kPatterns, pattern);
}
std::string_view to_string(Contention contention) { return word_of(kContentions, contention); }
std::string_view to_string(OnStoreError policy) { return word_of(kStorePolicies, policy); }
std::string_view to_string(OnReleaseError policy) { return word_of(kReleasePolicies, policy); }
std::optional<LockPattern> parse_lock_pattern(std::string_view text) { return value_of(kPatterns, text); }
std::optional<Contention> parse_contention(std::string_view text) { return value_of(kContentions, text); }
std::optional<OnStoreError> parse_on_store_error(std::string_view text) { return value_of(kStorePolicies, text); }
std::optional<OnReleaseError> parse_on_release_error(std::string_view text) { return value_of(kReleasePolicies, text); }

std::optional<LockOptions> lock_preset(std::string_view name) {
  if (name == "job") return LockOptions{.ttl = seconds{60}, .renew_every = seconds{20}, .renewal_tries = 3};
  if (name == "loop")
    return LockOptions{
        .ttl = seconds{60}, .contention = Contention::skip, .pattern = LockPattern::loop, .every = seconds{30}};
  if (name == "run")
    return LockOptions{.ttl = seconds{30}, .renew_every = seconds{10}, .pattern = LockPattern::layered};
  if (name == "writer") return LockOptions{.ttl = seconds{10}, .pattern = LockPattern::layered, .every = seconds{5}};
  return std::nullopt;
}

Result<void> check_options(const LockOptions& options) {
  if (auto ok = check_names(options); !ok) return ok;
  if (auto ok = check_time("ttl", options.ttl, kTtlRange); !ok) return ok;
  if (auto ok = check_time("wait", options.wait, kWaitRange); !ok) return ok;
  if (auto ok = check_time("hold at least", options.hold_at_least, kUpToADay); !ok) return ok;
  if (auto ok = check_time("delay", options.delay, kUpToADay); !ok) return ok;
  if (auto ok = check_time("every", options.every, kUpToADay); !ok) return ok;
  if (auto ok = check_sharing(options); !ok) return ok;
  return check_renewal(options);
}

LeaseTimes times_of(const LockOptions& options) {
  LeaseTimes times = LeaseTimes::of(options.ttl);
  if (options.renew_every > Duration{0}) times.renew_after = options.renew_every;
  return times;
}

}  // namespace fenceline
