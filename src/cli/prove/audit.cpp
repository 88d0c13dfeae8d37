// fenceline audit: reads histories and says which promises did not hold.
#include <nlohmann/json.hpp>

#include "check/checker.hpp"
#include "check/switches.hpp"
#include "cli/frame/line_reader.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/progress_bar.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "cli/prove/commands.hpp"
#include "history/format/event_reader.hpp"

namespace fenceline::cli {
namespace {

constexpr std::size_t kFilesMost = 1000;

Result<audit::CheckOptions> options_from(const Invocation& invocation) {
  audit::CheckOptions options{
      .whole = invocation.has("--whole"), .rests = invocation.has("--drained"), .crashed = invocation.has("--crashed")};
  if (const std::optional<std::string> given = invocation.value("--class")) {
    if (given->size() != 1 || *given < "A" || *given > "D")
      return std::unexpected(usage_error("--class '" + printable(*given, 40) + "' is not a class; use A, B, C or D"));
    options.guarantee = given->front();
  }
  return options;
}

struct Reading {
  std::int64_t torn = 0;  // files whose last line was
  std::int64_t lines = 0;
  bool interrupted = false;
};

Result<void> read_into(audit::Checker& checker, const std::string& path, std::uint16_t number, ProgressBar& progress,
                       const std::stop_token& stop, Reading& reading) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return std::unexpected(file.error());
  history::EventReader reader(path == "-" ? "stdin" : printable(path), [&](history::Event event, std::int64_t line) {
    checker.add(event, {number, static_cast<std::uint32_t>(line)});
  });
  std::string bytes;
  while (!stop.stop_requested()) {
    bytes.clear();
    const Result<bool> more = file->read_some(bytes);
    if (!more) return stop.stop_requested() ? Result<void>{} : std::unexpected(more.error());
    if (!*more) break;
    if (const Result<void> ok = reader.feed(bytes); !ok) return ok;
    progress.show(reading.lines + reader.lines(), file->part_read());
  }
  reading.interrupted = stop.stop_requested();
  if (reading.interrupted) return {};
  if (const Result<void> ok = reader.end(); !ok) return ok;
  reading.torn += reader.torn() ? 1 : 0;
  reading.lines += reader.lines();
  return {};
}

std::string place(const std::vector<std::string>& paths, const audit::Line& line) {
  const std::string& path = paths[line.file];
  return (path == "-" ? "stdin" : printable(path)) + ":" + std::to_string(line.number);
}

nlohmann::ordered_json verdict_as_json(const audit::Verdict& verdict, const Reading& reading,
                                       const std::vector<std::string>& paths) {
  nlohmann::ordered_json json{{"events", verdict.events},
                              {"calls", verdict.calls},
                              {"unknown", verdict.unknown_calls},
                              {"jobs", verdict.jobs},
                              {"deliveries", verdict.deliveries},
                              {"locks", verdict.locks},
                              {"grants", verdict.lock_grants},
                              {"schedules", verdict.schedules},
                              {"ticks", verdict.ticks},
                              {"items", verdict.items},
                              {"moves", verdict.moves},
                              {"recorders", verdict.recorders},
                              {"clocks", verdict.clocks},
                              {"torn", reading.torn},
                              {"store", verdict.store},
                              {"class", std::string(1, verdict.guarantee)},
                              {"whole", verdict.whole},
                              {"lease_times", verdict.lease_times},
                              {"gave_up", verdict.gave_up},
                              {"not_promised", verdict.passed_over},
                              {"violations", verdict.violations_in_all}};
  nlohmann::ordered_json found = nlohmann::ordered_json::array();
  for (const audit::Violation& violation : verdict.violations) {
    nlohmann::ordered_json excerpt = nlohmann::ordered_json::array();
    for (const audit::ExcerptLine& line : violation.excerpt)
      excerpt.push_back({{"file", paths[line.line.file]}, {"line", line.line.number}, {"words", line.words}});
    found.push_back(
        {{"promise", violation.promise}, {"sentence", violation.sentence}, {"excerpt", std::move(excerpt)}});
  }
  json["found"] = std::move(found);
  return json;
}

void tell_violations(const audit::Verdict& verdict, const std::vector<std::string>& paths) {
  for (const audit::Violation& violation : verdict.violations) {
    print_line(violation.promise + " broken: " + printable(violation.sentence, 400));
    for (const audit::ExcerptLine& line : violation.excerpt)
      print_line("  " + place(paths, line.line) + "  " + printable(line.words, 300));
  }
  const std::int64_t more = verdict.violations_in_all - static_cast<std::int64_t>(verdict.violations.size());
  if (more > 0) print_line("and " + std::to_string(more) + " more");
}

void tell_sums(const audit::Verdict& verdict, const Reading& reading) {
  const std::string torn =
      reading.torn > 0 ? ", " + std::to_string(reading.torn) + " incomplete last line" + (reading.torn > 1 ? "s" : "")
                       : "";
  print_line(std::to_string(verdict.events) + " events, " + std::to_string(verdict.calls) + " calls, " +
             std::to_string(verdict.unknown_calls) + " without an answer, " + std::to_string(verdict.jobs) + " jobs, " +
             std::to_string(verdict.deliveries) + " deliveries" +
             (verdict.locks > 0
                  ? ", " + std::to_string(verdict.locks) + " locks, " + std::to_string(verdict.lock_grants) + " grants"
                  : "") +
             (verdict.schedules > 0
                  ? ", " + std::to_string(verdict.schedules) + " schedules, " + std::to_string(verdict.ticks) + " ticks"
                  : "") +
             (verdict.items > 0
                  ? ", " + std::to_string(verdict.items) + " items, " + std::to_string(verdict.moves) + " moves"
                  : "") +
             torn);
  print_line(
      "class " + std::string(1, verdict.guarantee) +
      (verdict.whole ? ", whole" : ", not complete: other processes may have worked too") +
      (verdict.lease_times ? "" : ", no clock of leases: overlaps are found by order only") +
      (verdict.clocks > 1 ? ", " + std::to_string(verdict.clocks) + " clocks: each was checked separately" : ""));
  if (verdict.gave_up > 0)
    print_line("gave up on " + std::to_string(verdict.gave_up) +
               " jobs: too many possible orders; these were not judged");
  if (verdict.passed_over > 0)
    print_line(std::to_string(verdict.passed_over) + " findings that class " + std::string(1, verdict.guarantee) +
               " allows after a crash");
  print_line(verdict.holds() ? "no promise was broken" : std::to_string(verdict.violations_in_all) + " broken");
}

Result<int> run_audit(Invocation& invocation) {
  const Result<audit::CheckOptions> options = options_from(invocation);
  if (!options) return std::unexpected(options.error());
  const std::vector<std::string>& paths = invocation.arguments.at("FILE");
  if (paths.size() > kFilesMost) return std::unexpected(usage_error("too many files; use at most 1000"));
  audit::Checker checker(*options);
  Reading reading;
  ProgressBar progress(*invocation.runtime, "events");
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Result<void> read =
        read_into(checker, paths[i], static_cast<std::uint16_t>(i), progress, invocation.stop, reading);
    if (!read || reading.interrupted) progress.end();
    if (!read) return std::unexpected(read.error());
    if (!reading.interrupted) continue;
    tell("fenceline: interrupted; nothing was judged");
    return interrupted_exit();
  }
  progress.end();
  const audit::Verdict verdict = checker.finish();
  if (invocation.json) {
    print_line(verdict_as_json(verdict, reading, paths).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    tell_violations(verdict, paths);
    tell_sums(verdict, reading);
  }
  return verdict.holds() ? kExitOk : kExitFound;
}

}  // namespace

CommandSpec audit_command() {
  return {
      .name = "audit",
      .summary = "Check recorded histories for broken promises",
      .details =
          "Programs record a history with --history. Names each promise that did not hold and the lines that show it.",
      .arguments = {{.name = "FILE",
                     .help = "histories of one store, checked together; - for stdin",
                     .required = true,
                     .repeated = true}},
      .options = {{"--class", "A|B|C|D", "judge by this class of store instead of the recorded one"},
                  {"--whole", "", "the histories contain every call to these queues and locks, so more can be proved"},
                  {"--drained", "", "all work should be finished at the end"},
                  {"--crashed", "", "the store crashed meanwhile: allow what its class may lose"}},
      .examples = {{"fenceline work mail --history run.jsonl -- ./send", "record a history"},
                   {"fenceline audit run.jsonl", "exits with 0 if all promises held, with 1 if not"}},
      .without_config = true,
      .run = run_audit};
}

}  // namespace fenceline::cli
