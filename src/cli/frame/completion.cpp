// fenceline completion: what a shell loads to complete our commands and options. A value that is written
// `a|b|c` offers these; one that is called FILE offers files.
#include "cli/frame/completion.hpp"

#include <map>

#include "cli/frame/output.hpp"
#include "cli/frame/parse.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

std::vector<OptionSpec> options_of(const CommandSpec& command) {
  std::vector<OptionSpec> options = command.options;
  options.insert(options.end(), global_options().begin(), global_options().end());
  options.push_back({"--help", "", "explains the command"});
  return options;
}

// "a|b|c" as "a b c"; empty if the value is free.
std::string choices(const std::string& value) {
  if (value.find('|') == std::string::npos) return {};
  std::string out = value;
  for (char& c : out) {
    if (c == '|') c = ' ';
  }
  return out;
}

// An argument offers choices by its name too: "bash|zsh|fish".
std::string argument_choices(const CommandSpec& command) {
  return command.arguments.empty() ? "" : choices(command.arguments.front().name);
}

struct Visible {
  std::vector<CommandSpec> commands;
  std::map<std::string, std::vector<CommandSpec>> groups;  // "job" -> "job show", ...; of one word: itself
};

Visible visible(const std::vector<CommandSpec>& commands) {
  Visible out;
  for (const CommandSpec& command : commands) {
    if (command.hidden) continue;
    out.commands.push_back(command);
    out.groups[command.name.substr(0, command.name.find(' '))].push_back(command);
  }
  return out;
}

std::string second_word(const CommandSpec& command) {
  const std::size_t space = command.name.find(' ');
  return space == std::string::npos ? "" : command.name.substr(space + 1);
}

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

// Puts texts into the places of a script that are named @SO@.
std::string filled(std::string_view script, const std::map<std::string, std::string>& texts) {
  std::string out(script);
  for (const auto& [name, text] : texts) {
    for (std::size_t at = out.find(name); at != std::string::npos; at = out.find(name, at + text.size()))
      out.replace(at, name.size(), text);
  }
  return out;
}

// `'job show --state') ...; return ;;`: what may follow an option of a command; empty for a flag.
std::string bash_values(const std::string& command, const OptionSpec& option) {
  if (option.value.empty()) return {};
  std::string offer;
  if (!choices(option.value).empty()) offer = "COMPREPLY=($(compgen -W '" + choices(option.value) + "' -- \"$cur\")); ";
  else if (option.value == "FILE") offer = "COMPREPLY=($(compgen -f -- \"$cur\")); ";
  return "    " + single_quoted(command + " " + option.name) + ") " + offer + "return ;;\n";
}

constexpr std::string_view kBash = R"(# bash completion of fenceline; load it with: source <(fenceline completion bash)
_fenceline() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local first='' second='' command='' words='' word i skip=0
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((skip)); then skip=0; continue; fi
    case $word in
      --) return ;;
      @GLOBAL_WITH_VALUE@) skip=1 ;;
      -*) ;;
      *) if [[ -z $first ]]; then first=$word; elif [[ -z $second ]]; then second=$word; fi ;;
    esac
  done
  if [[ -n $first && -z $second && $cur != -* ]]; then
    case $first in
@SECOND_WORDS@    help) COMPREPLY=($(compgen -W '@FIRST_WORDS@' -- "$cur")); return ;;
    esac
  fi
  command=$first
  case "$first $second" in
    @TWO_WORDS@) command="$first $second" ;;
  esac
  case "$command $prev" in
@VALUES@  esac
  case $command in
    '') words='@FIRST_WORDS@ help --help --version @GLOBAL@' ;;
@WORDS@  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _fenceline fenceline
)";

std::string bash_script(const Visible& shown) {
  std::vector<std::string> first_words, two_words{"''"}, global, global_with_value;
  std::string second_words, values, words;
  for (const OptionSpec& option : global_options()) {
    global.push_back(option.name);
    if (!option.value.empty()) global_with_value.push_back(option.name);
    values += bash_values("", option);
  }
  for (const auto& [group, members] : shown.groups) {
    first_words.push_back(group);
    std::vector<std::string> seconds;
    for (const CommandSpec& member : members) {
      if (!second_word(member).empty()) seconds.push_back(second_word(member));
    }
    if (!seconds.empty())
      second_words +=
          "    " + group + ") COMPREPLY=($(compgen -W '" + joined(seconds, " ") + "' -- \"$cur\")); return ;;\n";
  }
  for (const CommandSpec& command : shown.commands) {
    std::vector<std::string> names;
    for (const OptionSpec& option : options_of(command)) {
      names.push_back(option.name);
      values += bash_values(command.name, option);
    }
    if (!second_word(command).empty()) two_words.push_back(single_quoted(command.name));
    words += "    " + single_quoted(command.name) + ") words='" + joined(names, " ") + " " + argument_choices(command) +
             "' ;;\n";
  }
  return filled(kBash, {{"@FIRST_WORDS@", joined(first_words, " ")},
                        {"@SECOND_WORDS@", second_words},
                        {"@TWO_WORDS@", joined(two_words, "|")},
                        {"@GLOBAL@", joined(global, " ")},
                        {"@GLOBAL_WITH_VALUE@", joined(global_with_value, "|")},
                        {"@VALUES@", values},
                        {"@WORDS@", words}});
}

std::string without_colons(std::string text) {  // zsh splits its specs at colons
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const OptionSpec& option) {
  std::string spec = (option.repeated ? "*" : "") + option.name + "[" + without_colons(option.help) + "]";
  if (!option.value.empty()) {
    spec += ":" + without_colons(option.value) + ":";
    if (!choices(option.value).empty()) spec += "(" + choices(option.value) + ")";
    else if (option.value == "FILE") spec += "_files";
  }
  return single_quoted(spec);
}

constexpr std::string_view kZsh = R"(#compdef fenceline
# zsh completion of fenceline; load it with: source <(fenceline completion zsh)
_fenceline() {
  local -a commands
  commands=(
@COMMANDS@  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case ${words[2]} in
@SECOND_WORDS@    help) compadd -- @FIRST_WORDS@; return ;;
  esac
  case "${words[2]} ${words[3]}" in
@ARGUMENTS@  esac
}
compdef _fenceline fenceline
)";

std::string zsh_script(const Visible& shown) {
  std::string list, second_words, arguments;
  std::vector<std::string> first_words;
  for (const auto& [group, members] : shown.groups) {
    first_words.push_back(group);
    const bool two_words = !second_word(members.front()).empty();
    list += "    " +
            single_quoted(group + ":" + (two_words ? members.front().name + " and others" : members.front().summary)) +
            "\n";
    if (!two_words) continue;
    std::vector<std::string> seconds;
    for (const CommandSpec& member : members) seconds.push_back(second_word(member));
    second_words +=
        "    " + group + ") if (( CURRENT == 3 )); then compadd -- " + joined(seconds, " ") + "; return; fi ;;\n";
  }
  for (const CommandSpec& command : shown.commands) {
    const bool two_words = !second_word(command).empty();
    arguments +=
        "    " + (two_words ? single_quoted(command.name) : single_quoted(command.name + " ") + "*") + ") _arguments";
    for (const OptionSpec& option : options_of(command)) arguments += " \\\n      " + zsh_option(option);
    arguments += " \\\n      " +
                 (argument_choices(command).empty() ? std::string("'*: :_files'")
                                                    : "'*: :(" + argument_choices(command) + ")'") +
                 " ;;\n";
  }
  return filled(kZsh, {{"@COMMANDS@", list},
                       {"@FIRST_WORDS@", joined(first_words, " ")},
                       {"@SECOND_WORDS@", second_words},
                       {"@ARGUMENTS@", arguments}});
}

std::string fish_script(const Visible& visible_commands) {
  std::string out =
      "# fish completion of fenceline; load it with: fenceline completion fish | source\ncomplete -c fenceline -f\n";
  for (const auto& [group, members] : visible_commands.groups) {
    const bool two_words = !second_word(members.front()).empty();
    out += "complete -c fenceline -n __fish_use_subcommand -a " + group + " -d " +
           single_quoted(two_words ? "" : members.front().summary) + "\n";
    for (const CommandSpec& member : members) {
      const std::string seen = "'__fish_seen_subcommand_from " + group + "'";
      if (two_words)
        out += "complete -c fenceline -n " + seen + " -a " + second_word(member) + " -d " +
               single_quoted(member.summary) + "\n";
      const std::string only = two_words ? "'__fish_seen_subcommand_from " + group +
                                               "; and __fish_seen_subcommand_from " + second_word(member) + "'"
                                         : seen;
      for (const OptionSpec& option : options_of(member)) {
        out +=
            "complete -c fenceline -n " + only + " -l " + option.name.substr(2) + " -d " + single_quoted(option.help);
        if (!option.value.empty()) out += option.value == "FILE" ? " -r -F" : " -x";
        if (!choices(option.value).empty()) out += " -a '" + choices(option.value) + "'";
        out += "\n";
      }
      if (!argument_choices(member).empty())
        out += "complete -c fenceline -n " + seen + " -a '" + argument_choices(member) + "'\n";
    }
  }
  return out;
}

Result<int> print_completion(const Invocation& invocation, const std::vector<CommandSpec>& commands) {
  const std::string shell = invocation.argument("bash|zsh|fish");
  const std::optional<std::string> script = completion_script(shell, commands);
  if (!script)
    return std::unexpected(
        usage_error("no completion for '" + printable(shell, 40) + "'; there is bash, zsh and fish"));
  print(*script);
  return kExitOk;
}

}  // namespace

std::optional<std::string> completion_script(std::string_view shell, const std::vector<CommandSpec>& commands) {
  if (shell == "bash") return bash_script(visible(commands));
  if (shell == "zsh") return zsh_script(visible(commands));
  if (shell == "fish") return fish_script(visible(commands));
  return std::nullopt;
}

CommandSpec completion_command(std::vector<CommandSpec> (*commands)()) {
  return {.name = "completion",
          .summary = "Prints what a shell loads to complete commands and options.",
          .arguments = {{"bash|zsh|fish", "which shell"}},
          .examples = {{"source <(fenceline completion bash)", "for this shell; put it into ~/.bashrc for all"},
                       {"fenceline completion fish > ~/.config/fish/completions/fenceline.fish", "for fish"}},
          .without_config = true,
          .run = [commands](Invocation& invocation) { return print_completion(invocation, commands()); }};
}

}  // namespace fenceline::cli
