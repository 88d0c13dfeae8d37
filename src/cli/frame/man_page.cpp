// fenceline man: prints fenceline.1.
#include "cli/frame/man_page.hpp"

#include <algorithm>

#include "cli/frame/help.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/parse.hpp"
#include "fenceline/version.hpp"

namespace fenceline::cli {
namespace {

// Text as roff shows it unchanged: dashes and quotes stay what can be typed, no line is taken for a request.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      case '"': out += "\\(dq"; break;
      default: out += c;
    }
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string section(std::string_view title) { return ".SH " + upper(title) + "\n"; }
std::string paragraph(std::string_view text) { return ".PP\n" + plain(text) + "\n"; }
std::string term(std::string_view word, std::string_view meaning) {
  return ".TP\n\\fB" + plain(word) + "\\fR\n" + plain(meaning) + "\n";
}
std::string title(std::string_view text) { return ".PP\n\\fI" + plain(text) + "\\fR\n"; }

std::string terms(const HelpRows& rows) {
  std::string out;
  for (const auto& [word, meaning] : rows) out += term(word, meaning);
  return out;
}

std::string options(const std::vector<OptionSpec>& specs) {
  std::string out;
  for (const OptionSpec& option : specs)
    out += term(shown(option), option.help + (option.repeated ? " (may be repeated)" : ""));
  return out;
}

std::string examples(const std::vector<ExampleSpec>& specs) {
  std::string out;
  for (const ExampleSpec& example : specs)
    out += ".PP\n" + plain(example.explains) + ":\n.PP\n.nf\n.RS 4\n" + plain(example.line) + "\n.RE\n.fi\n";
  return out;
}

std::string command_section(const CommandSpec& command) {
  std::string out = ".SS " + plain(usage_line(command)) + "\n" +
                    plain(command.summary + "." + (command.details.empty() ? "" : " " + command.details)) + "\n";
  for (const ArgumentSpec& argument : command.arguments) out += term(argument.name, argument.help);
  out += options(command.options);
  for (const SectionSpec& part : command.sections) out += title(part.title + ":") + terms(part.rows);
  return out + examples(command.examples);
}

}  // namespace

std::string man_page(const std::vector<CommandGroup>& groups) {
  std::string out = ".\\\" made by 'fenceline man'\n.TH FENCELINE 1 \"\" \"fenceline " + std::string(kVersion) +
                    "\" \"User Commands\"\n.nh\n.ad l\n";
  out += section("name") + "fenceline \\- crash\\-safe jobs: each piece of work counts once\n";
  out += section("synopsis") + ".B fenceline\n.I COMMAND\n[\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n";
  out += section("description");
  out += paragraph(
      "fenceline makes each piece of work count once, even when workers pause, crash, race or lose the network. Jobs "
      "wait in queues of a store. A worker that claims a job gets a lease and a fence: a number larger than any before "
      "it. Writes under an older fence are refused.");
  out += paragraph(
      "Data goes to stdout, messages for people to stderr. Lists are tables on a terminal and tab-separated with a "
      "header in a pipe; --json prints one object, or one per line for streams. Durations have units: 250ms, 1.5s, "
      "1h30m, 7d.");
  for (const CommandGroup& group : groups) {
    out += section("commands: " + group.title);
    for (const CommandFamily& family : group.families) {
      for (const CommandSpec& command : family.commands) out += command_section(command);
    }
  }
  out += section("options") + "Options of every command, before or after it:\n" + options(global_options());
  out += section("environment") + terms(environment_rows());
  out += section("files") +
         terms({{"fenceline.toml",
                 "settings for the folder it is in; 'fenceline config show --origin' shows their effect"},
                {"fenceline.db",
                 "the default store, embedded; the files with -wal, -shm, -lock and -wake beside it belong to it"}});
  out += section("exit status") + terms(exit_code_rows());
  return out;
}

CommandSpec man_command(std::vector<CommandGroup> (*groups)()) {
  return {.name = "man",
          .summary = "Print the manual page, fenceline.1",
          .examples = {{"fenceline man | man -l -", "read it"},
                       {"fenceline man > /usr/local/share/man/man1/fenceline.1", "for 'man fenceline'"}},
          .without_config = true,
          .run = [groups](Invocation&) -> Result<int> {
            print(man_page(groups()));
            return kExitOk;
          }};
}

}  // namespace fenceline::cli
