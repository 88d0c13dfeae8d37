#include "model/pipeline.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/duration_text.hpp"
#include "base/utf8.hpp"
#include "model/job.hpp"
#include "model/value_names.hpp"

namespace fenceline {
namespace {

constexpr std::array<std::string_view, 3> kEntryEnds{"hold", "reject", "approve"};
constexpr std::array<std::string_view, 3> kEntryKinds{"automatic", "approval", "check"};
constexpr std::array<std::string_view, 2> kStageInputs{"payload", "previous"};
constexpr std::string_view kEntryPrefix = "gate:";

constexpr DurationRange kWithinRange{std::chrono::seconds{1}, kDelayRange.most};
constexpr DurationRange kEveryRange{std::chrono::seconds{1}, std::chrono::hours{24}};
constexpr int kAttemptsMost = 1000;
constexpr int kConcurrencyMost = 500;
constexpr std::size_t kCommandWordsMost = 100;
constexpr std::size_t kCommandBytesMost = 4096;

Result<void> check_number(const std::string& what, int value, int least, int most) {
  if (value >= least && value <= most) return {};
  return fail(Code::invalid, what + " " + std::to_string(value) + " is out of range; use " + std::to_string(least) +
                                 " to " + std::to_string(most));
}

Result<void> check_approval(const std::string& stage, const StageEntry& entry) {
  const std::string of = stage + ": the approval's ";
  if (auto ok = check_number(of + "count", entry.count, 1, kApprovalsMax); !ok) return ok;
  if (entry.by.size() > static_cast<std::size_t>(kApproversMax))
    return fail(Code::invalid, of + "list of people is too long; at most " + std::to_string(kApproversMax));
  std::set<std::string> people;
  for (const std::string& person : entry.by) {
    if (auto ok = check_key(of + "person", person); !ok) return ok;
    if (!is_persons_name(person))
      return fail(Code::invalid, of + "person '" + person + "' begins or ends with spaces; remove them");
    if (person.size() > kNameBytesMax) return fail(Code::invalid, of + "person has a name of more than 128 bytes");
    if (!people.insert(person).second) return fail(Code::invalid, of + "list names '" + person + "' twice");
  }
  if (!entry.by.empty() && static_cast<std::size_t>(entry.count) > entry.by.size())
    return fail(Code::invalid, of + "count is " + std::to_string(entry.count) + ", but only " +
                                   std::to_string(entry.by.size()) +
                                   " may give one; name more people or require fewer approvals");
  if (entry.within == Duration{0}) return {};
  return check_duration(of + "time limit", entry.within, kWithinRange);
}

Result<void> check_command(const std::string& stage, const StageEntry& entry) {
  if (entry.command.empty() || entry.command.front().empty())
    return fail(Code::invalid, stage + ": the check has no command; write check = [\"cmd\", \"arg\"]");
  std::size_t bytes = 0;
  for (const std::string& word : entry.command) {
    if (!is_valid_utf8(word) || word.find('\0') != std::string::npos)
      return fail(Code::invalid, stage + ": each word of the check's command must be a quoted string");
    bytes += word.size();
  }
  if (entry.command.size() > kCommandWordsMost || bytes > kCommandBytesMost)
    return fail(Code::invalid, stage + ": the check's command is too long; put it into a script");
  return check_duration(stage + ": the interval between checks", entry.every, kEveryRange);
}

Result<void> check_stage(const PipelineSpec& spec, const StageSpec& stage) {
  if (auto ok = check_name("stage", stage.name); !ok) return ok;
  const std::string of = "stage " + stage.name;
  if (stage.name.find(':') != std::string::npos)
    return fail(Code::invalid, of + " has a ':', which is reserved; leave it out");
  if (stage.name.size() > kStageBytesMax)
    return fail(Code::invalid,
                of + " has a name of more than " + std::to_string(kStageBytesMax) + " bytes; use a shorter one");
  if (stage.ttl != Duration{0})
    if (auto ok = check_duration(of + ": ttl", stage.ttl, kTtlRange); !ok) return ok;
  if (stage.timeout != Duration{0})
    if (auto ok = check_duration(of + ": timeout", stage.timeout, kTimeoutRange); !ok) return ok;
  if (auto ok = check_number(of + ": attempts", stage.attempts, 0, kAttemptsMost); !ok) return ok;
  if (auto ok = check_number(of + ": concurrency", stage.concurrency, 0, kConcurrencyMost); !ok) return ok;
  for (const std::string& to : stage.moves.value_or(std::vector<std::string>{})) {
    if (!spec.find(to))
      return fail(Code::invalid, of + ": moves names '" + to + "', which is not a stage of this pipeline");
    if (to == stage.name) return fail(Code::invalid, of + ": moves lists the stage itself");
  }
  if (stage.input == StageInput::previous && &stage == &spec.first())
    return fail(Code::invalid,
                of + " is the first stage, so there is no output before it; leave out input = \"previous\"");
  if (stage.entry.kind == EntryKind::automatic) return {};
  if (&stage == &spec.first())
    return fail(Code::invalid,
                of + " is the first one and has an entry condition, but items are in it as soon as they are "
                     "enqueued; put a stage before it");
  return stage.entry.kind == EntryKind::approval ? check_approval(of, stage.entry) : check_command(of, stage.entry);
}

bool allowed(const PipelineSpec& spec, Position from, std::size_t to) {
  // While it waits at the entry of a stage, an item is still where it came from.
  const std::size_t at = from.at_entry && from.stage > 0 ? from.stage - 1 : from.stage;
  if (to == at) return from.at_entry;  // back to where it came from
  const std::optional<std::vector<std::string>>& moves = spec.stages[at].moves;
  if (moves) return std::ranges::find(*moves, spec.stages[to].name) != moves->end();
  return to < at || to == at + 1;
}

}  // namespace

bool is_persons_name(std::string_view name) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  return !name.empty() && kBlanks.find(name.front()) == kBlanks.npos && kBlanks.find(name.back()) == kBlanks.npos;
}

std::string_view to_string(EntryEnd end) { return kEntryEnds[static_cast<std::size_t>(end)]; }
std::optional<EntryEnd> parse_entry_end(std::string_view text) { return value_of<EntryEnd>(kEntryEnds, text); }
std::string_view to_string(EntryKind kind) { return kEntryKinds[static_cast<std::size_t>(kind)]; }
std::optional<EntryKind> parse_entry_kind(std::string_view text) { return value_of<EntryKind>(kEntryKinds, text); }
std::string_view to_string(StageInput input) { return kStageInputs[static_cast<std::size_t>(input)]; }
std::optional<StageInput> parse_stage_input(std::string_view text) { return value_of<StageInput>(kStageInputs, text); }

bool hands_on(const PipelineSpec& spec, std::size_t stage) {
  return stage + 1 < spec.stages.size() && spec.stages[stage + 1].input == StageInput::previous;
}

std::optional<std::size_t> PipelineSpec::find(std::string_view stage) const {
  const auto found = std::ranges::find(stages, stage, &StageSpec::name);
  return found == stages.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - stages.begin()));
}

std::vector<std::string> PipelineSpec::names() const {
  std::vector<std::string> all;
  for (const StageSpec& stage : stages) all.push_back(stage.name);
  return all;
}

Result<void> check_pipeline(const PipelineSpec& spec) {
  if (auto ok = check_name("pipeline", spec.name); !ok) return ok;
  if (spec.stages.empty())
    return fail(Code::invalid, "a pipeline has at least one stage; write stages = [\"ready\", \"review\"]");
  if (spec.stages.size() > static_cast<std::size_t>(kStagesMax))
    return fail(Code::invalid, "too many stages; at most " + std::to_string(kStagesMax));
  if (auto ok = check_number("loops", spec.loops, 0, kLoopsMost); !ok) return ok;
  std::set<std::string> names;
  for (const StageSpec& stage : spec.stages) {
    if (auto ok = check_stage(spec, stage); !ok) return ok;
    if (!names.insert(stage.name).second) return fail(Code::invalid, "stage " + stage.name + " was named twice");
  }
  return {};
}

std::string stored_stage(const PipelineSpec& spec, std::size_t stage) {
  return stage == 0 ? "" : spec.stages[stage].name;
}
std::string stored_entry(const PipelineSpec& spec, std::size_t stage) {
  return std::string(kEntryPrefix) + spec.stages[stage].name;
}

// What is stored under the name of the first stage came there when that was not the first one: nobody would claim it.
std::optional<Position> position_of(const PipelineSpec& spec, std::string_view stored) {
  if (stored.empty()) return Position{};
  const bool at_entry = stored.starts_with(kEntryPrefix);
  const std::optional<std::size_t> stage = spec.find(at_entry ? stored.substr(kEntryPrefix.size()) : stored);
  if (!stage || *stage == 0) return std::nullopt;
  return Position{*stage, at_entry};
}

std::string stage_words(const PipelineSpec& spec, Position position) {
  return (position.at_entry ? "entry of " : "") + spec.stages[position.stage].name;
}

std::string stage_words(const PipelineSpec& spec, std::string_view stored) {
  const std::optional<Position> position = position_of(spec, stored);
  return position ? stage_words(spec, *position) : std::string(stored);
}

bool may_move(const PipelineSpec& spec, Position from, std::size_t to) {
  return allowed(spec, from, to) && !(from.at_entry && from.stage == to);
}

std::string moves_words(const PipelineSpec& spec, Position from) {
  std::string words;
  for (std::size_t to = 0; to < spec.stages.size(); ++to) {
    if (may_move(spec, from, to)) words += (words.empty() ? "" : ", ") + spec.stages[to].name;
  }
  return words;
}

std::string people_words(const std::vector<std::string>& people) {
  std::string words;
  for (std::size_t i = 0; i < people.size(); ++i)
    words += (i == 0 ? "" : i + 1 == people.size() ? " or " : ", ") + people[i];
  return words;
}

std::string entry_words(const StageEntry& entry) {
  if (entry.kind == EntryKind::automatic) return "automatic";
  if (entry.kind == EntryKind::check) {
    std::string words = "check";
    for (const std::string& word : entry.command) words += " " + word;
    return words + " every " + format_duration(entry.every);
  }
  std::string words = "approval" + (entry.by.empty() ? "" : " by " + people_words(entry.by));
  if (entry.count > 1) words += ", " + std::to_string(entry.count) + " of them";
  if (entry.within > Duration{0})
    words += ", within " + format_duration(entry.within) + ", then " + std::string(to_string(entry.then));
  return words;
}

}  // namespace fenceline
