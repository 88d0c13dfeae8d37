#include "cli/pipelines/pipeline_file.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/duration_text.hpp"
#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "cli/frame/line_reader.hpp"
#include "cli/frame/text.hpp"
#include "store/pipeline_store.hpp"

namespace fenceline::cli {
namespace {

constexpr DurationRange kAny{Duration{0}, std::chrono::days{366}};  // check_pipeline() has the limits of each
constexpr std::size_t kLabelBytesMax = 50;                          // as GitHub has it

// Reads one table after another, up to the first error.
class PipelineFile {
 public:
  explicit PipelineFile(const std::string& path) : path_(printable(path, 200)) {}

  Result<DeclaredPipeline> read(const std::string& text) {
    try {
      const toml::table file = toml::parse(std::string_view(text));
      DeclaredPipeline declared;
      if (auto ok = read_file(file, declared.spec); !ok) return std::unexpected(ok.error());
      if (auto ok = read_tracker(file, declared.tracker); !ok) return std::unexpected(ok.error());
      if (auto ok = check_pipeline(declared.spec); !ok) return fail(Code::invalid, path_ + ": " + ok.error().message);
      return declared;
    } catch (const toml::parse_error& error) {
      return std::unexpected(bad(error.source(), "not valid TOML: " + one_line(error.description()) +
                                                     "; see 'fenceline help pipeline apply'"));
    }
  }

 private:
  Error bad(const toml::source_region& where, const std::string& what) const {
    return {Code::invalid, path_ + ":" + std::to_string(where.begin.line) + ": " + what};
  }

  // An unknown key is named, with the key that was probably meant.
  Result<void> only(const toml::table& table, const std::string& prefix, const std::vector<std::string>& keys) const {
    for (const auto& [key, node] : table) {
      if (std::ranges::find(keys, key.str()) != keys.end()) continue;
      const std::optional<std::string> near = nearest(key.str(), keys);
      std::string all;
      for (const std::string& known : keys) all += (all.empty() ? "" : ", ") + known;
      return std::unexpected(bad(key.source(), "unknown key " + in_quotes(prefix + std::string(key.str())) + "; " +
                                                   (near ? "did you mean '" + prefix + *near + "'?" : "use " + all)));
    }
    return {};
  }

  Result<void> text(const toml::table& table, const std::string& prefix, const char* key, std::string& out) const {
    const toml::node* const node = table.get(key);
    if (node == nullptr) return {};
    if (!node->is_string()) return std::unexpected(bad(node->source(), prefix + key + " must be a quoted string"));
    out = *node->value<std::string>();
    return {};
  }

  Result<void> duration(const toml::table& table, const std::string& prefix, const char* key, Duration& out) const {
    std::string written;
    if (auto ok = text(table, prefix, key, written); !ok || table.get(key) == nullptr) return ok;
    const Result<Duration> parsed = parse_duration(written, kAny);
    if (!parsed) return std::unexpected(bad(table.get(key)->source(), prefix + key + " " + parsed.error().message));
    if (*parsed == Duration{0})
      return std::unexpected(bad(table.get(key)->source(), prefix + key + " is zero; remove it"));
    out = *parsed;
    return {};
  }

  Result<void> number(const toml::table& table, const std::string& prefix, const char* key, int least, int& out) const {
    const toml::node* const node = table.get(key);
    if (node == nullptr) return {};
    const std::optional<std::int64_t> value = node->is_integer() ? node->value<std::int64_t>() : std::nullopt;
    if (!value || *value < least || *value > std::numeric_limits<int>::max())
      return std::unexpected(bad(node->source(), prefix + key + " is not valid; write a whole number of at least " +
                                                     std::to_string(least) + ", without quotes"));
    out = static_cast<int>(*value);
    return {};
  }

  Result<void> flag(const toml::table& table, const std::string& prefix, const char* key, bool& out) const {
    const toml::node* const node = table.get(key);
    if (node == nullptr) return {};
    if (!node->is_boolean())
      return std::unexpected(bad(node->source(), prefix + key + " must be true or false, without quotes"));
    out = *node->value<bool>();
    return {};
  }

  Result<void> texts(const toml::table& table, const std::string& prefix, const char* key,
                     std::vector<std::string>& out) const {
    const toml::node* const node = table.get(key);
    if (node == nullptr) return {};
    const toml::array* const list = node->as_array();
    if (list == nullptr)
      return std::unexpected(bad(node->source(), prefix + key + " is not a list; write [\"one\", \"two\"]"));
    for (const toml::node& one : *list) {
      if (!one.is_string())
        return std::unexpected(bad(one.source(), prefix + key + " must contain only quoted strings"));
      out.push_back(*one.value<std::string>());
    }
    return {};
  }

  // Null: there is no such key.
  Result<const toml::table*> table_of(const toml::table& file, const char* key, const std::string& remedy) const {
    const toml::node* const node = file.get(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) return std::unexpected(bad(node->source(), std::string(key) + " is not a table; " + remedy));
    return node->as_table();
  }

  Result<void> read_file(const toml::table& file, PipelineSpec& spec) const {
    if (auto ok = only(file, "", {"pipeline", "stage", "tracker"}); !ok) return ok;
    const Result<const toml::table*> pipeline = table_of(file, "pipeline", "write [pipeline] and its keys below");
    if (!pipeline) return std::unexpected(pipeline.error());
    if (*pipeline == nullptr)
      return fail(Code::invalid, path_ + ": [pipeline] is missing; write it with name and stages");
    const std::string prefix = "pipeline.";
    if (auto ok = only(**pipeline, prefix, {"name", "stages", "loops", "critical"}); !ok) return ok;
    for (const char* key : {"name", "stages"}) {
      if (!(*pipeline)->contains(key)) return std::unexpected(bad((*pipeline)->source(), prefix + key + " is missing"));
    }
    std::vector<std::string> names;
    if (auto ok = text(**pipeline, prefix, "name", spec.name); !ok) return ok;
    if (auto ok = texts(**pipeline, prefix, "stages", names); !ok) return ok;
    if (auto ok = number(**pipeline, prefix, "loops", 0, spec.loops); !ok) return ok;
    if (auto ok = flag(**pipeline, prefix, "critical", spec.critical); !ok) return ok;
    for (const std::string& name : names) spec.stages.push_back({.name = name});
    const Result<const toml::table*> stages = table_of(file, "stage", "write [stage.NAME] and its keys below");
    if (!stages) return std::unexpected(stages.error());
    if (*stages == nullptr) return {};
    for (const auto& [key, node] : **stages) {
      const std::optional<std::size_t> stage = spec.find(key.str());
      if (!stage) {
        const std::optional<std::string> near = nearest(key.str(), names);
        return std::unexpected(
            bad(key.source(), "stage " + in_quotes(key.str()) + " is not in pipeline.stages; " +
                                  (near ? "did you mean '" + *near + "'?" : "add it there, or remove it")));
      }
      if (!node.is_table())
        return std::unexpected(bad(key.source(), "stage." + spec.stages[*stage].name +
                                                     " is not a table; write [stage." + spec.stages[*stage].name +
                                                     "] and its keys below"));
      if (auto ok = read_stage(*node.as_table(), spec.stages[*stage]); !ok) return ok;
    }
    return {};
  }

  Result<void> read_tracker(const toml::table& file, TrackerTrust& trust) const {
    const Result<const toml::table*> tracker = table_of(file, "tracker", "write [tracker] and its keys below");
    if (!tracker) return std::unexpected(tracker.error());
    if (*tracker == nullptr) return {};
    const std::string prefix = "tracker.";
    if (auto ok = only(**tracker, prefix, {"workers", "people", "claim"}); !ok) return ok;
    if (auto ok = texts(**tracker, prefix, "workers", trust.workers); !ok) return ok;
    if (auto ok = texts(**tracker, prefix, "people", trust.people); !ok) return ok;
    const Result<const toml::table*> claim = table_of(**tracker, "claim", "write claim = { label = false }");
    if (!claim) return std::unexpected(claim.error());
    if (*claim == nullptr) return {};
    const std::string inner = prefix + "claim.";
    if (auto ok = only(**claim, inner, {"label", "claimed", "in_progress"}); !ok) return ok;
    if (auto ok = flag(**claim, inner, "label", trust.claim_label); !ok) return ok;
    if (auto ok = label(**claim, inner, "claimed", trust.claimed); !ok) return ok;
    return label(**claim, inner, "in_progress", trust.in_progress);
  }

  // The name of a label or status, as people see it.
  Result<void> label(const toml::table& table, const std::string& prefix, const char* key, std::string& out) const {
    if (auto ok = text(table, prefix, key, out); !ok || table.get(key) == nullptr) return ok;
    const bool printable_only =
        std::ranges::none_of(out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == ','; });
    if (out.empty() || out.size() > kLabelBytesMax || !printable_only || out.front() == ' ' || out.back() == ' ')
      return std::unexpected(
          bad(table.get(key)->source(), prefix + key + " must be a label of 1 to " + std::to_string(kLabelBytesMax) +
                                            " bytes, without commas, control characters or spaces at its ends"));
    return {};
  }

  Result<void> read_stage(const toml::table& table, StageSpec& stage) const {
    const std::string prefix = "stage." + stage.name + ".";
    if (auto ok = only(table, prefix, {"ttl", "timeout", "attempts", "concurrency", "entry", "moves", "input"}); !ok)
      return ok;
    if (auto ok = duration(table, prefix, "ttl", stage.ttl); !ok) return ok;
    if (auto ok = duration(table, prefix, "timeout", stage.timeout); !ok) return ok;
    if (auto ok = number(table, prefix, "attempts", 1, stage.attempts); !ok) return ok;
    if (auto ok = number(table, prefix, "concurrency", 1, stage.concurrency); !ok) return ok;
    if (table.contains("moves")) {
      stage.moves.emplace();
      if (auto ok = texts(table, prefix, "moves", *stage.moves); !ok) return ok;
    }
    if (table.contains("input")) {
      std::string written;
      if (auto ok = text(table, prefix, "input", written); !ok) return ok;
      const std::optional<StageInput> input = parse_stage_input(written);
      if (!input)
        return std::unexpected(bad(table.get("input")->source(), prefix + "input must be \"payload\" or \"previous\""));
      stage.input = *input;
    }
    const Result<const toml::table*> entry = table_of(table, "entry", kEntryRemedy);
    if (!entry) return std::unexpected(entry.error());
    return *entry == nullptr ? Result<void>{} : read_entry(**entry, prefix + "entry.", stage.entry);
  }

  Result<void> read_entry(const toml::table& table, const std::string& prefix, StageEntry& entry) const {
    if (auto ok = only(table, prefix, {"approval", "check", "every"}); !ok) return ok;
    if (table.contains("approval") == table.contains("check"))
      return std::unexpected(bad(table.source(), prefix.substr(0, prefix.size() - 1) +
                                                     " must be either an approval or a check; " + kEntryRemedy));
    if (table.contains("check")) {
      entry.kind = EntryKind::check;
      if (auto ok = texts(table, prefix, "check", entry.command); !ok) return ok;
      return duration(table, prefix, "every", entry.every);
    }
    if (table.contains("every"))
      return std::unexpected(bad(table.source(), prefix + "every is for a check; an approval has within"));
    const Result<const toml::table*> approval = table_of(table, "approval", kEntryRemedy);
    if (!approval) return std::unexpected(approval.error());
    const std::string inner = prefix + "approval.";
    if (auto ok = only(**approval, inner, {"count", "by", "within", "then"}); !ok) return ok;
    entry.kind = EntryKind::approval;
    if (!(*approval)->contains("count"))
      return std::unexpected(
          bad((*approval)->source(), inner + "count is missing; it is the number of people who must approve"));
    if (auto ok = number(**approval, inner, "count", 1, entry.count); !ok) return ok;
    if (auto ok = texts(**approval, inner, "by", entry.by); !ok) return ok;
    if ((*approval)->contains("by") && entry.by.empty())
      return std::unexpected(bad((*approval)->source(), inner + "by is empty; remove it if anyone may approve"));
    if (auto ok = duration(**approval, inner, "within", entry.within); !ok) return ok;
    std::string then;
    if (auto ok = text(**approval, inner, "then", then); !ok || then.empty()) return ok;
    const std::optional<EntryEnd> end = parse_entry_end(then);
    if (!end)
      return std::unexpected(
          bad((*approval)->source(), inner + "then " + in_quotes(then) + " is not valid; use reject, approve or hold"));
    if (entry.within == Duration{0})
      return std::unexpected(
          bad((*approval)->source(), inner + "then applies when the time is over; set the time with within"));
    entry.then = *end;
    return {};
  }

  inline static const std::string kEntryRemedy =
      "write entry = { approval = { count = 1 } } or entry = { check = [\"cmd\", \"arg\"] }";

  const std::string path_;
};

}  // namespace

Result<DeclaredPipeline> parse_pipeline_file(const std::string& path, const std::string& text) {
  return PipelineFile(path).read(text);
}

Result<DeclaredPipeline> read_pipeline_file(const std::string& path) {
  const Result<std::string> text = read_file(path, kPipelineBytesMax);
  if (!text) return std::unexpected(text.error());
  if (!is_valid_utf8(*text))
    return fail(Code::invalid, "file " + in_quotes(path) + " is not valid UTF-8; see 'fenceline help pipeline apply'");
  return parse_pipeline_file(path, *text);
}

}  // namespace fenceline::cli
