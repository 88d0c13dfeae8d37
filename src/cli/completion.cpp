// fenceline completion: what a shell loads to complete our commands and options. A value that is written
// `a|b|c` offers these; one that is called FILE offers files.
#include "cli/completion.hpp"

#include <map>
#include <set>

#include "cli/output.hpp"
#include "cli/parse.hpp"
#include "cli/text.hpp"

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
std::string argument_choices(const CommandSpec& command) { return command.arguments.empty() ? "" : choices(command.arguments.front().name); }

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

std::string names_with_value() {
  std::string out;
  for (const OptionSpec& option : global_options()) {
    if (!option.value.empty()) out += (out.empty() ? "" : "|") + option.name;
  }
  return out;
}

std::string bash_script(const Visible& visible_commands) {
  std::string first_words, second_words, after_option, words_of_command;
  for (const auto& [group, members] : visible_commands.groups) {
    first_words += group + " ";
    std::string seconds;
    for (const CommandSpec& member : members) seconds += (seconds.empty() ? "" : " ") + second_word(member);
    if (!second_word(members.front()).empty()) second_words += "    " + group + ") COMPREPLY=($(compgen -W '" + seconds + "' -- \"$cur\")); return ;;\n";
  }
  std::set<std::string> seen;
  for (const CommandSpec& command : visible_commands.commands) {
    std::string names;
    for (const OptionSpec& option : options_of(command)) {
      names += option.name + " ";
      std::string reply;
      if (!choices(option.value).empty()) reply = "COMPREPLY=($(compgen -W '" + choices(option.value) + "' -- \"$cur\"))";
      else if (option.value == "FILE") reply = "COMPREPLY=($(compgen -f -- \"$cur\"))";
      else if (!option.value.empty()) reply = "COMPREPLY=()";
      else continue;
      // The same option may mean different things to two commands.
      const std::string key = "'" + command.name + " " + option.name + "'";
      if (seen.insert(key).second) after_option += "    " + key + ") " + reply + "; return ;;\n";
    }
    words_of_command += "    '" + command.name + "') words='" + names + argument_choices(command) + "' ;;\n";
  }
  return "# bash completion of fenceline; load it with: source <(fenceline completion bash)\n"
         "_fenceline() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} first='' second='' command='' words='' word i skip=0\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=${COMP_WORDS[i]}\n"
         "    if ((skip)); then skip=0; continue; fi\n"
         "    case $word in\n"
         "      --) return ;;\n"
         "      " + names_with_value() + ") skip=1 ;;\n"
         "      -*) ;;\n"
         "      *) if [[ -z $first ]]; then first=$word; elif [[ -z $second ]]; then second=$word; fi ;;\n"
         "    esac\n"
         "  done\n"
         "  if [[ -z $first ]]; then\n"
         "    case $prev in\n"
         "      --accept) COMPREPLY=($(compgen -W 'shared-fs no-sync' -- \"$cur\")); return ;;\n"
         "      " + names_with_value() + ") return ;;\n"
         "    esac\n"
         "    COMPREPLY=($(compgen -W '" + first_words + "help --help --version " + [] {
           std::string names;
           for (const OptionSpec& option : global_options()) names += option.name + " ";
           return names;
         }() + "' -- \"$cur\"))\n"
         "    return\n"
         "  fi\n"
         "  if [[ $first == help ]]; then COMPREPLY=($(compgen -W '" + first_words + "' -- \"$cur\")); return; fi\n"
         "  if [[ -z $second && $cur != -* ]]; then case $first in\n" + second_words +
         "  esac; fi\n"
         "  case \"$first $second\" in\n" + [&] {
           std::string out;
           for (const CommandSpec& command : visible_commands.commands) {
             if (!second_word(command).empty()) out += "    '" + command.name + "') command='" + command.name + "' ;;\n";
           }
           return out;
         }() + "    *) command=$first ;;\n"
         "  esac\n"
         "  case \"$command $prev\" in\n" + after_option +
         "  esac\n"
         "  case $command in\n" + words_of_command +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "}\n"
         "complete -o default -F _fenceline fenceline\n";
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

std::string zsh_script(const Visible& visible_commands) {
  std::string list, cases;
  for (const auto& [group, members] : visible_commands.groups) {
    const bool two_words = !second_word(members.front()).empty();
    list += "    " + single_quoted(group + ":" + (two_words ? "see fenceline help " + group + " " + second_word(members.front()) : members.front().summary)) + "\n";
    if (two_words) {
      std::string seconds;
      for (const CommandSpec& member : members) seconds += " " + second_word(member);
      cases += "    " + group + ") if (( CURRENT == 3 )); then compadd --" + seconds + "; return; fi ;;\n";
    }
  }
  std::string by_command;
  for (const CommandSpec& command : visible_commands.commands) {
    const std::string pattern = second_word(command).empty() ? single_quoted(command.name + " ") + "*" : single_quoted(command.name);
    by_command += "    " + pattern + ") _arguments";
    for (const OptionSpec& option : options_of(command)) by_command += " \\\n      " + zsh_option(option);
    by_command += " \\\n      " + (argument_choices(command).empty() ? std::string("'*: :_files'") : "'*: :(" + argument_choices(command) + ")'") + " ;;\n";
  }
  return "#compdef fenceline\n"
         "# zsh completion of fenceline; load it with: source <(fenceline completion zsh)\n"
         "_fenceline() {\n"
         "  local -a commands\n"
         "  commands=(\n" + list + "  )\n"
         "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
         "  case ${words[2]} in\n" + cases +
         "  esac\n"
         "  case \"${words[2]} ${words[3]}\" in\n" + by_command +
         "  esac\n"
         "}\n"
         "compdef _fenceline fenceline\n";
}

std::string fish_script(const Visible& visible_commands) {
  std::string out = "# fish completion of fenceline; load it with: fenceline completion fish | source\ncomplete -c fenceline -f\n";
  for (const auto& [group, members] : visible_commands.groups) {
    const bool two_words = !second_word(members.front()).empty();
    out += "complete -c fenceline -n __fish_use_subcommand -a " + group + " -d " + single_quoted(two_words ? "" : members.front().summary) + "\n";
    for (const CommandSpec& member : members) {
      const std::string seen = "'__fish_seen_subcommand_from " + group + "'";
      if (two_words) out += "complete -c fenceline -n " + seen + " -a " + second_word(member) + " -d " + single_quoted(member.summary) + "\n";
      const std::string only = two_words ? "'__fish_seen_subcommand_from " + group + "; and __fish_seen_subcommand_from " + second_word(member) + "'" : seen;
      for (const OptionSpec& option : options_of(member)) {
        out += "complete -c fenceline -n " + only + " -l " + option.name.substr(2) + " -d " + single_quoted(option.help);
        if (!option.value.empty()) out += option.value == "FILE" ? " -r -F" : " -x";
        if (!choices(option.value).empty()) out += " -a '" + choices(option.value) + "'";
        out += "\n";
      }
      if (!argument_choices(member).empty()) out += "complete -c fenceline -n " + seen + " -a '" + argument_choices(member) + "'\n";
    }
  }
  return out;
}

Result<int> run(Invocation& invocation) {
  const std::string shell = invocation.argument("bash|zsh|fish");
  const std::optional<std::string> script = completion_script(shell, all_commands());
  if (!script) return std::unexpected(usage_error("no completion for '" + printable(shell, 40) + "'; there is bash, zsh and fish"));
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

CommandSpec completion_command() {
  return {.name = "completion",
          .summary = "Prints what a shell loads to complete commands and options.",
          .arguments = {{"bash|zsh|fish", "which shell"}},
          .examples = {{"source <(fenceline completion bash)", "for this shell; put it into ~/.bashrc for all"},
                       {"fenceline completion fish > ~/.config/fish/completions/fenceline.fish", "for fish"}},
          .run = run};
}

}  // namespace fenceline::cli
