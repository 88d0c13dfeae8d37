// The one source that knows CLI11. The command's words are found here first and CLI11 sees a single flat
// command, because with subcommands it takes a queue that is named like a command for that command.
#include "cli/frame/parse.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <span>

#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "cli/frame/habits.hpp"
#include "cli/frame/help.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

using Words = std::span<const std::string>;

const OptionSpec* find_option(const std::vector<OptionSpec>& options, std::string_view name) {
  const auto found = std::ranges::find(options, name, &OptionSpec::name);
  return found == options.end() ? nullptr : &*found;
}

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }
bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h"; }
std::string name_of_option(std::string_view word) { return std::string(word.substr(0, word.find('='))); }

Result<void> check_words(Words words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_valid_utf8(words[i]) || words[i].find('\0') != std::string::npos)
      return fail(Code::invalid, "argument " + std::to_string(i + 1) + " '" + printable(words[i], 40) +
                                     "' is not valid UTF-8; pass other bytes in a file");
  }
  return {};
}

// `shared`: the common beginning of all names, which is not compared: it would make short words look alike.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names, std::string_view otherwise,
                         std::string_view shared = "") {
  const auto own = [&](std::string_view text) {
    return std::string(text.starts_with(shared) ? text.substr(shared.size()) : text);
  };
  std::vector<std::string> shortened;
  for (const std::string& name : names) shortened.push_back(own(name));
  const std::optional<std::string> near = nearest(own(word), shortened);
  return near ? "did you mean '" + std::string(shared) + *near + "'?" : std::string(otherwise);
}

// Where the command begins: behind the global options in front of it.
Result<std::size_t> skip_global_options(Words words) {
  std::size_t i = 0;
  while (i < words.size() && is_option(words[i]) && !asks_for_help(words[i]) && words[i] != "--version") {
    const OptionSpec* option = find_option(global_options(), name_of_option(words[i]));
    if (!option) {
      std::vector<std::string> names{"--help", "--version"};
      for (const OptionSpec& known : global_options()) names.push_back(known.name);
      return std::unexpected(
          usage_error("unknown option " + in_quotes(words[i]) + " before the command; " +
                      did_you_mean(name_of_option(words[i]), names, "options of a command follow it", "--")));
    }
    const bool value_follows = !option->value.empty() && words[i].find('=') == std::string::npos;
    i += value_follows ? 2 : 1;
  }
  return std::min(i, words.size());
}

struct FoundCommand {
  const CommandSpec* spec;
  std::size_t words;  // how many its name took
};

// Two words win over one: "job show" before "job".
Result<FoundCommand> find_command(const std::vector<CommandSpec>& commands, Words words) {
  const std::string two = words.size() > 1 ? words[0] + " " + words[1] : words[0];
  for (const CommandSpec& command : commands) {
    if (command.name == two && words.size() > 1) return FoundCommand{&command, 2};
  }
  for (const CommandSpec& command : commands) {
    if (command.name == words[0]) return FoundCommand{&command, 1};
  }
  std::vector<std::string> names, under;
  for (const CommandSpec& command : commands) {
    if (command.hidden) continue;
    names.push_back(command.name);
    if (command.name.starts_with(words[0] + " ")) under.push_back(command.name);
  }
  if (!under.empty()) {
    const std::string second = words.size() > 1 && !is_option(words[1]) ? words[1] : "";
    std::string list;
    for (const std::string& name : under) list += (list.empty() ? "" : ", ") + ("'fenceline " + name + "'");
    if (second.empty()) return std::unexpected(usage_error(in_quotes(words[0]) + " needs a second word: " + list));
    return std::unexpected(usage_error("unknown command " + in_quotes(two) + "; " +
                                       did_you_mean(two, under, "use " + list, words[0] + " ")));
  }
  if (const std::optional<std::string> meant = meant_by(words[0]))
    return std::unexpected(usage_error("unknown command " + in_quotes(words[0]) + "; " + *meant));
  names.push_back("help");
  for (const CommandSpec& command : commands) {  // a mistyped first word of two
    if (!command.hidden && command.name.find(' ') != std::string::npos)
      names.push_back(command.name.substr(0, command.name.find(' ')));
  }
  const bool second_may_belong =
      words.size() > 1 && nearest(two, names) && nearest(two, names)->find(' ') != std::string::npos;
  if (const auto near = nearest(words[0], names); near && !second_may_belong) {
    const bool is_group =
        std::ranges::none_of(commands, [&](const CommandSpec& command) { return command.name == *near; }) &&
        *near != "help";
    if (is_group)
      return std::unexpected(usage_error("unknown command " + in_quotes(words[0]) + "; did you mean '" + *near +
                                         "'? 'fenceline help " + *near + "' lists its commands"));
  }
  return std::unexpected(
      usage_error("unknown command " + in_quotes(words[0]) + "; " +
                  did_you_mean(second_may_belong ? two : words[0], names, "'fenceline help' lists them")));
}

std::vector<std::string> option_names(const CommandSpec& command) {
  std::vector<std::string> names{"--help"};
  for (const OptionSpec& option : command.options) names.push_back(option.name);
  for (const OptionSpec& option : global_options()) names.push_back(option.name);
  return names;
}

Error see_help(const CommandSpec& command, const std::string& what) {
  return usage_error(what + "; see 'fenceline help " + command.name + "'");
}

std::string first_argument(const CommandSpec& command) {
  return command.arguments.empty() ? "" : " " + command.arguments.front().name;
}

// One flat command as CLI11 sees it.
class Reader {
 public:
  explicit Reader(const CommandSpec& command) : command_(command) {
    app_.set_help_flag("");
    app_.allow_extras();
    help_ = app_.add_flag("-h,--help")->disable_flag_override();
    for (const OptionSpec& option : global_options()) add(option);
    for (const OptionSpec& option : command.options) add(option);
  }

  Result<void> read(Words words, Invocation& into, bool& help) {
    if (const auto empty = option_with_empty_value(words))
      return std::unexpected(see_help(command_, "option " + *empty + " has no value behind '='"));
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // CLI11 takes them from the back
    try {
      app_.parse(std::move(reversed));
    } catch (const CLI::ArgumentMismatch&) {
      return std::unexpected(see_help(command_, option_without_value(words)));
    } catch (const CLI::Error& error) {
      return std::unexpected(see_help(command_, one_line(error.what())));
    }
    help = help_->count() > 0;
    if (help) return {};
    for (const auto& [name, option] : options_) {
      if (option->count() > 0) into.options[name] = option->results();
    }
    for (const std::string& name : flags_) {
      if (app_.count(name) > 0) into.options[name] = {""};
    }
    return take_arguments(into);
  }

 private:
  // Lists take their queue by an option.
  std::string meant_queue(const std::string& word) const {
    if (command_.name == "enqueue") return "; the payload goes behind --payload, as JSON";
    const bool has_queue =
        std::ranges::any_of(command_.options, [](const OptionSpec& option) { return option.name == "--queue"; });
    return has_queue && command_.arguments.empty() ? "; for one queue use --queue " + word : "";
  }

  void add(const OptionSpec& spec) {
    if (spec.value.empty()) {
      app_.add_flag(spec.letter.empty() ? spec.name : spec.letter + "," + spec.name)->disable_flag_override();
      flags_.push_back(spec.name);
      return;
    }
    CLI::Option* added = app_.add_option(spec.letter.empty() ? spec.name : spec.letter + "," + spec.name, take_);
    // Without extra arguments, or it would split a value that looks like "[1,2]".
    added->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    options_.emplace_back(spec.name, added);
  }

  // Arguments are what CLI11 left: given to it, it would split one that looks like "[a,b]".
  Result<void> take_arguments(Invocation& into) const {
    std::size_t next = 0;
    for (const std::string& word : app_.remaining()) {
      if (is_option(word)) {
        const std::string name = name_of_option(word);
        return std::unexpected(usage_error(
            "unknown option " + in_quotes(name) + " of 'fenceline " + command_.name + "'; " +
            did_you_mean(name, option_names(command_), "see 'fenceline help " + command_.name + "'", "--")));
      }
      if (next == command_.arguments.size())
        return std::unexpected(see_help(command_, in_quotes(word) + " is one argument too many" + meant_queue(word)));
      into.arguments[command_.arguments[next].name].push_back(word);
      if (!command_.arguments[next].repeated) ++next;
    }
    for (const ArgumentSpec& argument : command_.arguments) {
      if (argument.required && !into.arguments.contains(argument.name))
        return std::unexpected(see_help(command_, "'fenceline " + command_.name + "' needs " + argument.name));
    }
    return {};
  }

  // The name of an option that stands as "--ttl=": CLI11 would take the next word for its value, whatever that is.
  std::optional<std::string> option_with_empty_value(Words words) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string name = name_of_option(words[i]);
      const OptionSpec* option = find_option(command_.options, name);
      if (!option) option = find_option(global_options(), name);
      if (!option) continue;
      if (words[i] == name + "=") return name;
      if (!option->value.empty() && words[i] == name) ++i;
    }
    return std::nullopt;
  }

  std::string option_without_value(Words words) const {
    const std::string last = words.empty() ? "" : words.back();
    const OptionSpec* option = find_option(command_.options, last);
    if (!option) option = find_option(global_options(), last);
    if (!option || option->value.empty()) return "an option has too many or too few values";
    return "option " + last + " needs a value (" + option->value + ")";
  }

  const CommandSpec& command_;
  const CLI::callback_t take_ = [](const CLI::results_t&) { return true; };
  CLI::App app_;
  CLI::Option* help_ = nullptr;
  std::vector<std::string> flags_;
  std::vector<std::pair<std::string, CLI::Option*>> options_;
};

Result<Parsed> help_for(const std::vector<CommandSpec>& commands, Words words) {
  Parsed parsed{.wish = Parsed::Wish::help};
  if (words.empty()) return parsed;
  if (is_option(words[0]))
    return std::unexpected(usage_error("'fenceline help' takes a command, not the option " + in_quotes(words[0]) +
                                       "; 'fenceline help jobs' explains one"));
  const auto topic = std::ranges::find(help_topics(), words[0], &HelpTopic::name);
  if (words.size() == 1 && topic != help_topics().end()) {
    parsed.topic = &*topic;
    return parsed;
  }
  const std::string group = words[0] + " ";
  const bool is_group = std::ranges::any_of(
      commands, [&](const CommandSpec& command) { return !command.hidden && command.name.starts_with(group); });
  if (words.size() == 1 && is_group) {
    parsed.group = words[0];
    return parsed;
  }
  const Result<FoundCommand> found = find_command(commands, words);
  if (!found) return std::unexpected(found.error());
  parsed.command = found->spec;
  return parsed;
}

// `typed` follows the global options `before`; `to_run` is what follows the first `--`.
Result<Parsed> parse_command(const std::vector<CommandSpec>& commands, Words before, Words typed,
                             std::optional<Words> to_run) {
  if (asks_for_help(typed[0])) return help_for(commands, {});
  if (typed[0] == "help") return help_for(commands, typed.subspan(1));
  if (typed.size() == 2 && asks_for_help(typed[1])) {
    if (const Result<Parsed> help = help_for(commands, typed.first(1)); help && !help->group.empty()) return help;
  }
  static const std::vector<std::string> kVersion{"version"};
  const Result<FoundCommand> found = find_command(commands, typed[0] == "--version" ? Words(kVersion) : typed);
  if (!found) return std::unexpected(found.error());

  Parsed parsed{.command = found->spec};
  std::vector<std::string> rest(before.begin(), before.end());
  rest.insert(rest.end(), typed.begin() + static_cast<std::ptrdiff_t>(found->words), typed.end());
  bool help = false;
  if (auto ok = Reader(*found->spec).read(rest, parsed.invocation, help); !ok) return std::unexpected(ok.error());
  if (help) return Parsed{.wish = Parsed::Wish::help, .command = found->spec};
  if (to_run) {
    if (!found->spec->takes_command)
      return std::unexpected(
          see_help(*found->spec, "'fenceline " + found->spec->name + "' takes no command after '--'"));
    parsed.invocation.command.assign(to_run->begin(), to_run->end());
  }
  if (found->spec->takes_command && parsed.invocation.command.empty())
    return std::unexpected(see_help(*found->spec, "'fenceline " + found->spec->name +
                                                      "' needs a command after '--', as in: fenceline " +
                                                      found->spec->name + first_argument(*found->spec) + " -- CMD"));
  parsed.invocation.json = parsed.invocation.options.contains("--json");
  return parsed;
}

}  // namespace

const std::vector<OptionSpec>& global_options() {
  static const std::vector<OptionSpec> options{
      {"--store", "URL", "store to use; default FENCELINE_STORE, fenceline.toml, then sqlite:fenceline.db"},
      {"--namespace", "N",
       "part of the store with its own queues and locks; default FENCELINE_NAMESPACE, fenceline.toml, then 'default'"},
      {"--config", "FILE", "settings file; default FENCELINE_CONFIG, then fenceline.toml in this folder"},
      {"--json", "", "print JSON: one object, or one per line for streams"},
      {"--require", "A|B|C",
       "refuse a store of a lower class: A loses nothing if one of several machines dies, B loses nothing in a crash, "
       "C may lose the last moments"},
      {"--accept", "shared-fs|no-sync|eviction|open-listen", "allow something unsafe that is refused, by name", true},
  };
  return options;
}

Result<Parsed> parse(const std::vector<CommandSpec>& commands, const std::vector<std::string>& words) {
  if (auto ok = check_words(words); !ok) return std::unexpected(ok.error());
  const auto dashes = std::ranges::find(words, "--");
  const Words ours(words.begin(), dashes);
  const Result<std::size_t> start = skip_global_options(ours);
  if (!start) return std::unexpected(start.error());
  const Words typed = ours.subspan(*start);
  if (typed.empty()) {
    if (dashes != words.end() || *start > 0)
      return std::unexpected(usage_error("no command was given; 'fenceline help' lists them"));
    return Parsed{.wish = Parsed::Wish::overview};
  }
  std::optional<Words> to_run;
  if (dashes != words.end()) to_run = Words(dashes + 1, words.end());
  Result<Parsed> parsed = parse_command(commands, ours.first(*start), typed, to_run);
  if (parsed || typed.size() < 2 || typed[0] == "help") return parsed;
  const std::string two = typed[0] + " " + typed[1];  // "jobs list": a command, and a word too many
  if (const std::optional<std::string> meant = meant_by(two))
    return std::unexpected(usage_error("unknown command " + in_quotes(two) + "; " + *meant));
  return parsed;
}

}  // namespace fenceline::cli
