// fenceline completion: what a shell loads to complete our commands and options. A value that is written
// `a|b|c` offers these; one that is called FILE offers files; queues, jobs, locks and so on come from the store, by
// the hidden command `fenceline complete`.
#include "cli/frame/completion.hpp"

#include <map>
#include <set>

#include "cli/frame/completion_offers.hpp"
#include "cli/frame/help.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/parse.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

std::vector<OptionSpec> options_of(const CommandSpec& command) {
  std::vector<OptionSpec> options = command.options;
  options.insert(options.end(), global_options().begin(), global_options().end());
  options.push_back({"--help", "", "show help"});
  return options;
}

// Which store, and where in it: what was typed of these goes to `fenceline complete` too.
constexpr std::string_view kPlaceOptions = "--store|--namespace|--config|--accept";

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

// What a first word does: its command's summary, or the second words that may follow it.
std::string described(const std::vector<CommandSpec>& members) {
  if (second_word(members.front()).empty()) return members.front().summary;
  std::vector<std::string> seconds;
  for (const CommandSpec& member : members) seconds.push_back(second_word(member));
  return joined(seconds, ", ");
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

std::string offer_call(std::string_view kind) { return "_fenceline_offer " + std::string(kind); }

// Arguments that the store knows: "'job show '*" if it is repeated, "'effects resolve 1'" if it is the first of
// several.
std::string bash_offers(const CommandSpec& command) {
  std::string out;
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const ArgumentSpec& argument = command.arguments[i];
    const std::string_view kind = offered_kind(command.name, argument.name);
    if (kind.empty()) continue;
    const std::string pattern = argument.repeated ? single_quoted(command.name + " ") + "*"
                                                  : single_quoted(command.name + " " + std::to_string(i + 1));
    out += "    " + pattern + ") " + offer_call(kind) + "; return ;;\n";
  }
  return out;
}

// `'job show --state') ...; return ;;`: what may follow an option of a command; empty for a flag.
std::string bash_values(const std::string& command, const OptionSpec& option) {
  if (option.value.empty()) return {};
  std::string offer;
  if (!choices(option.value).empty()) offer = "COMPREPLY=($(compgen -W '" + choices(option.value) + "' -- \"$cur\")); ";
  else if (option.value == "FILE") offer = "COMPREPLY=($(compgen -f -- \"$cur\")); ";
  else if (const auto kind = offered_kind(command, option.value); !kind.empty()) offer = offer_call(kind) + "; ";
  return "    " + single_quoted(command + " " + option.name) + ") " + offer + "return ;;\n";
}

constexpr std::string_view kBash =
    R"sh(# bash completion of fenceline; load it with: source <(fenceline completion bash)
_fenceline_offer() {  # names of the store that begin with $cur
  local IFS=$'\n'
  compopt +o default 2>/dev/null
  COMPREPLY=($("${COMP_WORDS[0]}" complete "$1" "$cur" "${globals[@]}" 2>/dev/null </dev/null))
}
_fenceline_words() {
  local first='' second='' command='' offered='' word i skip='' given=0 cur prev
  local -a words=() globals=()
  for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do  # bash splits words at : and =
    i=${#words[@]}
    if ((i > 1)) && [[ $word == [:=] || ${words[i-1]} == *[:=] ]]; then words[i-1]+=$word; else words+=("$word"); fi
  done
  cur=${words[-1]} prev=${words[-2]}
  if [[ $cur == --*=* ]]; then prev=${cur%%=*} cur=${cur#*=}; fi
  COMPREPLY=()
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    word=${words[i]}
    if [[ -n $skip ]]; then
      case $skip in @PLACE@) globals+=("$skip" "$word") ;; esac
      skip=''
      continue
    fi
    case $word in
      --) return ;;
      --*=*) case ${word%%=*} in @PLACE@) globals+=("$word") ;; esac ;;
      @WITH_VALUE@) skip=$word ;;
      -*) ;;
      *)
        if [[ -z $first ]]; then first=$word
        elif [[ -z $second ]]; then second=$word given=1
        else ((given++)); fi
        ;;
    esac
  done
  if [[ -n $first && -z $second && $cur != -* ]]; then
    case $first in
@SECOND_WORDS@      help) COMPREPLY=($(compgen -W '@FIRST_WORDS@ @TOPICS@' -- "$cur")); return ;;
    esac
  fi
  command=$first
  case "$first $second" in
    @TWO_WORDS@) command="$first $second"; ((given--)) ;;
  esac
  case "$command $prev" in
@VALUES@  esac
  if [[ $cur != -* ]]; then
    case "$command $((given + 1))" in
@OFFERS@    esac
  fi
  case $command in
    '') offered='@FIRST_WORDS@ help --help --version @GLOBAL@' ;;
@WORDS@  esac
  COMPREPLY=($(compgen -W "$offered" -- "$cur"))
}
_fenceline() {
  _fenceline_words
  local i typed=''
  [[ $COMP_WORDBREAKS == *:* ]] || return 0
  for ((i = COMP_CWORD; i > 1; i--)); do  # bash replaces only what follows the last colon
    [[ ${COMP_WORDS[i]} == : || ${COMP_WORDS[i-1]} == : ]] || break
    typed=${COMP_WORDS[i-1]}$typed
  done
  [[ ${COMP_WORDS[COMP_CWORD]} == : ]] && typed+=:
  if [[ $typed == *: ]]; then COMPREPLY=("${COMPREPLY[@]#"$typed"}"); fi
}
complete -o default -F _fenceline fenceline
)sh";

std::string bash_script(const Visible& shown) {
  std::vector<std::string> first_words, two_words{"''"}, global, topics;
  std::set<std::string> with_value;
  std::string second_words, values, words, offers;
  for (const HelpTopic& topic : help_topics()) topics.push_back(topic.name);
  for (const OptionSpec& option : global_options()) {
    global.push_back(option.name);
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
          "      " + group + ") COMPREPLY=($(compgen -W '" + joined(seconds, " ") + "' -- \"$cur\")); return ;;\n";
  }
  for (const CommandSpec& command : shown.commands) {
    std::vector<std::string> names;
    for (const OptionSpec& option : options_of(command)) {
      names.push_back(option.name);
      values += bash_values(command.name, option);
      if (!option.value.empty()) with_value.insert(option.name);
      if (!option.value.empty() && !option.letter.empty()) with_value.insert(option.letter);
    }
    offers += bash_offers(command);
    if (!second_word(command).empty()) two_words.push_back(single_quoted(command.name));
    words += "    " + single_quoted(command.name) + ") offered='" + joined(names, " ") + " " +
             argument_choices(command) + "' ;;\n";
  }
  return filled(kBash, {{"@FIRST_WORDS@", joined(first_words, " ")},
                        {"@SECOND_WORDS@", second_words},
                        {"@TWO_WORDS@", joined(two_words, "|")},
                        {"@GLOBAL@", joined(global, " ")},
                        {"@TOPICS@", joined(topics, " ")},
                        {"@PLACE@", std::string(kPlaceOptions)},
                        {"@WITH_VALUE@", joined({with_value.begin(), with_value.end()}, "|")},
                        {"@VALUES@", values},
                        {"@OFFERS@", offers},
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

std::string zsh_option(const CommandSpec& command, const OptionSpec& option) {
  std::string spec = (option.repeated ? "*" : "") + option.name + "[" + without_colons(option.help) + "]";
  if (!option.value.empty()) {
    spec += ":" + without_colons(option.value) + ":";
    if (!choices(option.value).empty()) spec += "(" + choices(option.value) + ")";
    else if (option.value == "FILE") spec += "_files";
    else if (const auto kind = offered_kind(command.name, option.value); !kind.empty()) spec += " " + offer_call(kind);
  }
  return single_quoted(spec);
}

// Arguments count from the command's own words on; what no rule names is a file.
std::string zsh_arguments(const CommandSpec& command) {
  std::string out;
  const std::size_t words = second_word(command).empty() ? 1 : 2;
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const ArgumentSpec& argument = command.arguments[i];
    const std::string_view kind = offered_kind(command.name, argument.name);
    if (kind.empty()) continue;
    const std::string place = argument.repeated ? "*" : std::to_string(words + i + 1);
    out += " \\\n      " + single_quoted(place + ":" + argument.name + ": " + offer_call(kind));
    if (argument.repeated) return out;
  }
  return out + " \\\n      " +
         (argument_choices(command).empty() ? std::string("'*: :_files'")
                                            : "'*: :(" + argument_choices(command) + ")'");
}

constexpr std::string_view kZsh = R"sh(#compdef fenceline
# zsh completion of fenceline; load it with: source <(fenceline completion zsh)
_fenceline_offer() {  # names of the store
  local -a globals names
  local i
  for (( i = 2; i < CURRENT; i++ )); do
    case ${words[i]} in
      --) break ;;
      @PLACE@) globals+=("${words[i]}" "${(Q)words[i+1]}") ;;
      --store=*|--namespace=*|--config=*|--accept=*) globals+=("${(Q)words[i]}") ;;
    esac
  done
  names=(${(f)"$(${(Q)words[1]} complete $1 "${(Q)PREFIX}" "${globals[@]}" 2>/dev/null </dev/null)"})
  compadd -a names
}
_fenceline() {
  local -a commands
  commands=(
@COMMANDS@  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case ${words[2]} in
@SECOND_WORDS@    help) compadd -- @FIRST_WORDS@ @TOPICS@; return ;;
  esac
  case "${words[2]} ${words[3]}" in
@ARGUMENTS@  esac
}
compdef _fenceline fenceline
)sh";

std::string zsh_script(const Visible& shown) {
  std::string list, second_words, arguments;
  std::vector<std::string> first_words, topics;
  for (const HelpTopic& topic : help_topics()) topics.push_back(topic.name);
  for (const auto& [group, members] : shown.groups) {
    first_words.push_back(group);
    const bool two_words = !second_word(members.front()).empty();
    list += "    " + single_quoted(group + ":" + described(members)) + "\n";
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
    for (const OptionSpec& option : options_of(command)) arguments += " \\\n      " + zsh_option(command, option);
    arguments += zsh_arguments(command) + " ;;\n";
  }
  return filled(kZsh, {{"@COMMANDS@", list},
                       {"@PLACE@", std::string(kPlaceOptions)},
                       {"@TOPICS@", joined(topics, " ")},
                       {"@FIRST_WORDS@", joined(first_words, " ")},
                       {"@SECOND_WORDS@", second_words},
                       {"@ARGUMENTS@", arguments}});
}

constexpr std::string_view kFishOffer = R"sh(function __fenceline_offer  # names of the store
  set -l globals
  set -l typed (commandline -opc)
  for i in (seq 2 (count $typed))
    switch $typed[$i]
      case --
        break
      case --store --namespace --config --accept
        set -a globals $typed[$i] $typed[(math $i + 1)]
      case '--store=*' '--namespace=*' '--config=*' '--accept=*'
        set -a globals $typed[$i]
    end
  end
  command $typed[1] complete $argv[1] (commandline -ct) $globals 2>/dev/null </dev/null
end
)sh";

std::string fish_offer(std::string_view kind) { return " -a '(__fenceline_offer " + std::string(kind) + ")'"; }

std::string fish_script(const Visible& visible_commands) {
  std::string out = "# fish completion of fenceline; load it with: fenceline completion fish | source\n" +
                    std::string(kFishOffer) + "complete -c fenceline -f\n";
  for (const auto& [group, members] : visible_commands.groups) {
    const bool two_words = !second_word(members.front()).empty();
    out += "complete -c fenceline -n __fish_use_subcommand -a " + group + " -d " + single_quoted(described(members)) +
           "\n";
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
        else if (const auto kind = offered_kind(member.name, option.value); !kind.empty()) out += fish_offer(kind);
        out += "\n";
      }
      for (const ArgumentSpec& argument : member.arguments) {
        const std::string_view kind = offered_kind(member.name, argument.name);
        if (!kind.empty()) out += "complete -c fenceline -n " + only + fish_offer(kind) + "\n";
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
    return std::unexpected(usage_error("no completion for '" + printable(shell, 40) + "'; use bash, zsh or fish"));
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
          .summary = "Print a completion script for bash, zsh or fish",
          .details = "It completes commands and options, and the queues, jobs, locks and schedules of the store.",
          .arguments = {{"bash|zsh|fish", "which shell"}},
          .examples = {{"source <(fenceline completion bash)", "for this shell; add it to ~/.bashrc to keep it"},
                       {"fenceline completion fish > ~/.config/fish/completions/fenceline.fish", "for fish"}},
          .without_config = true,
          .run = [commands](Invocation& invocation) { return print_completion(invocation, commands()); }};
}

}  // namespace fenceline::cli
