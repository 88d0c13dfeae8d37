#include "cli/frame/parse.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/frame/habits.hpp"
#include "cli/frame/help.hpp"

namespace fenceline::cli {
namespace {

const std::vector<CommandSpec>& commands() {
  static const std::vector<CommandSpec> specs{
      {.name = "enqueue",
       .arguments = {{"QUEUE", ""}},
       .options = {{"--payload", "JSON", ""}, {"--priority", "N", ""}}},
      {.name = "jobs", .options = {{"--all", "", ""}, {"--queue", "Q", ""}}},
      {.name = "job show", .arguments = {{"ID", ""}}},
      {.name = "job wait", .arguments = {{"ID", ""}}},
      {.name = "work",
       .arguments = {{"QUEUE", "", true, true}},
       .options = {{"--ttl", "D", ""}},
       .takes_command = true},
      {.name = "version"},
      {.name = "secret", .hidden = true},
  };
  return specs;
}

Parsed parsed(const std::vector<std::string>& words) {
  Result<Parsed> result = parse(commands(), words);
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : Parsed{};
}

std::string complaint(const std::vector<std::string>& words, int status = kExitUsage) {
  const Result<Parsed> result = parse(commands(), words);
  if (result) return "";
  EXPECT_EQ(exit_code(result.error()), status);
  return error_text(result.error());
}

TEST(Parse, AnOptionWithNothingBehindItsEqualsSignDoesNotTakeTheNextWord) {
  const std::string refused = "option --ttl has no value behind '='; see 'fenceline help work'";
  EXPECT_EQ(complaint({"work", "q", "--ttl=", "--store", "sqlite:x", "--", "true"}), refused);
  EXPECT_EQ(complaint({"work", "--ttl=", "30s", "q", "--", "true"}), refused);
  EXPECT_NE(complaint({"--store=", "sqlite:x", "version"}), "");
  EXPECT_EQ(parsed({"enqueue", "q", "--payload", "--ttl="}).invocation.value("--payload"), "--ttl=");
}

TEST(Parse, GlobalOptionsStandBeforeOrAfterTheCommand) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--store", "sqlite:x", "--json", "enqueue", "mail"},
                                             {"enqueue", "--json", "mail", "--store", "sqlite:x"},
                                             {"--store=sqlite:x", "enqueue", "mail", "--json"}}) {
    const Parsed p = parsed(words);
    ASSERT_TRUE(p.command);
    EXPECT_EQ(p.command->name, "enqueue");
    EXPECT_EQ(p.invocation.value("--store"), "sqlite:x");
    EXPECT_TRUE(p.invocation.json);
    EXPECT_EQ(p.invocation.argument("QUEUE"), "mail");
  }
}

TEST(Parse, AQueueMayBeNamedLikeACommand) {
  EXPECT_EQ(parsed({"enqueue", "jobs"}).invocation.argument("QUEUE"), "jobs");
}

TEST(Parse, ValuesAreTakenAsTheyAre) {
  const Parsed p = parsed({"enqueue", "[a,b]", "--payload", "[1,2]", "--priority", "-5"});
  EXPECT_EQ(p.invocation.argument("QUEUE"), "[a,b]");
  EXPECT_EQ(p.invocation.value("--payload"), "[1,2]");
  EXPECT_EQ(p.invocation.value("--priority"), "-5");
  EXPECT_EQ(parsed({"enqueue", "q", "--payload", "{}"}).invocation.value("--payload"), "{}");
  EXPECT_EQ(parsed({"enqueue", "q", "--payload", ""}).invocation.value("--payload"), "");
  EXPECT_EQ(parsed({"enqueue", "q", "--payload=\"a=b\""}).invocation.value("--payload"), "\"a=b\"");
}

TEST(Parse, TheLastValueOfARepeatedOptionCounts) {
  EXPECT_EQ(parsed({"enqueue", "q", "--payload", "1", "--payload", "2"}).invocation.value("--payload"), "2");
}

TEST(Parse, TwoWordsNameACommand) {
  EXPECT_EQ(parsed({"job", "show", "x"}).command->name, "job show");
  EXPECT_NE(complaint({"job"}).find("'fenceline job show', 'fenceline job wait'"), std::string::npos);
  EXPECT_NE(complaint({"job", "shwo", "x"}).find("did you mean 'job show'?"), std::string::npos);
}

TEST(Parse, WordsAfterTwoDashesAreNotParsed) {
  const Parsed p = parsed({"work", "a", "b", "--ttl", "5s", "--", "cmd", "--ttl", "--help", "--"});
  EXPECT_EQ(p.invocation.arguments.at("QUEUE"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(p.invocation.command, (std::vector<std::string>{"cmd", "--ttl", "--help", "--"}));
  EXPECT_EQ(p.invocation.value("--ttl"), "5s");
}

TEST(Parse, ACommandThatRunsOneNeedsIt) {
  EXPECT_NE(complaint({"work", "a"}).find("needs a command after '--'"), std::string::npos);
  EXPECT_NE(complaint({"work", "a", "--"}).find("needs a command after '--'"), std::string::npos);
  EXPECT_NE(complaint({"work", "a"}).find("as in: fenceline work QUEUE -- CMD"), std::string::npos);
  EXPECT_NE(complaint({"jobs", "--", "x"}).find("takes no command after '--'"), std::string::npos);
}

TEST(Parse, SuggestsTheNearestName) {
  EXPECT_NE(complaint({"enqeue", "q"}).find("did you mean 'enqueue'?"), std::string::npos);
  EXPECT_NE(complaint({"enqueue", "q", "--priorty", "5"}).find("did you mean '--priority'?"), std::string::npos);
  EXPECT_EQ(complaint({"job", "foo"}).find("did you mean"), std::string::npos) << "a word of its own is no slip";
  EXPECT_NE(complaint({"--jsn", "jobs"}).find("did you mean '--json'?"), std::string::npos);
  EXPECT_EQ(complaint({"secre"}).find("secret"), std::string::npos) << "a hidden command was named";
}

TEST(Parse, WordsOfOtherProgramsNameTheRightCommand) {
  const auto said = [](const std::vector<std::string>& words) {
    const Result<Parsed> result = parse(all_commands(), words);
    return result ? "" : error_text(result.error());
  };
  EXPECT_EQ(said({"enque", "mail"}), "unknown command 'enque'; did you mean 'enqueue'?");
  EXPECT_EQ(said({"retry", "x"}), "unknown command 'retry'; did you mean 'job retry' or 'dead redrive'?");
  EXPECT_EQ(said({"job", "result", "x"}), "unknown command 'job result'; did you mean 'job wait'?");
  EXPECT_EQ(said({"logs"}), "unknown command 'logs'; did you mean 'job logs'?");
  EXPECT_EQ(said({"status"}), "unknown command 'status'; did you mean 'jobs', 'top' or 'doctor'?");
  EXPECT_EQ(said({"unlock", "deploy"}), "unknown command 'unlock'; did you mean 'locks break'?");
  EXPECT_EQ(said({"jobs", "list"}), "unknown command 'jobs list'; did you mean 'jobs'?");
  EXPECT_EQ(said({"--json", "job", "list"}), "unknown command 'job list'; did you mean 'jobs'?");
  EXPECT_EQ(said({"lock", "list"}), "unknown command 'lock list'; did you mean 'locks list'?");
  EXPECT_EQ(said({"help", "retry"}), "unknown command 'retry'; did you mean 'job retry' or 'dead redrive'?");
}

TEST(Parse, EverySuggestionIsACommandAndNoCommandIsTakenForOne) {
  const std::vector<CommandSpec> all = all_commands();
  const auto is_command = [&](std::string_view name) {
    return std::ranges::any_of(all,
                               [&](const CommandSpec& command) { return command.name == name && !command.hidden; });
  };
  for (const Habit& habit : habits()) {
    EXPECT_FALSE(is_command(habit.typed)) << habit.typed;
    for (const std::string_view name : habit.meant) EXPECT_TRUE(is_command(name)) << name;
  }
}

TEST(Parse, NamesMissingAndExtraArguments) {
  EXPECT_NE(complaint({"enqueue"}).find("needs QUEUE"), std::string::npos);
  EXPECT_NE(complaint({"enqueue", "a", "b"}).find("'b' is one argument too many; the payload goes behind --payload"),
            std::string::npos);
  EXPECT_NE(complaint({"jobs", "mail"}).find("for one queue use --queue mail"), std::string::npos);
  EXPECT_NE(complaint({"enqueue", "a", "--payload"}).find("--payload needs a value (JSON)"), std::string::npos);
  EXPECT_FALSE(complaint({"jobs", "--all=no"}).empty());
  EXPECT_FALSE(complaint({"--store"}).empty());
  EXPECT_FALSE(complaint({"--"}).empty());
}

TEST(Parse, BytesThatAreNotTextAreRefused) {
  EXPECT_NE(complaint({"enqueue", "\xff"}, kExitBadInput).find("not valid UTF-8"), std::string::npos);
  EXPECT_NE(complaint({"work", "a", "--", "\xc3"}, kExitBadInput).find("argument 4"), std::string::npos);
  EXPECT_NE(complaint({"enqueue", std::string("a\0b", 3)}, kExitBadInput).find("not valid UTF-8"), std::string::npos);
}

TEST(Parse, HelpIsAskedForInEveryWay) {
  EXPECT_EQ(parsed({}).wish, Parsed::Wish::overview);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"help"}, {"--help"}, {"-h"}, {"--json", "--help"}}) {
    EXPECT_EQ(parsed(words).wish, Parsed::Wish::help);
    EXPECT_EQ(parsed(words).command, nullptr);
  }
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"help", "job", "show"}, {"job", "show", "--help"}, {"job", "show", "-h"}}) {
    EXPECT_EQ(parsed(words).wish, Parsed::Wish::help);
    EXPECT_EQ(parsed(words).command->name, "job show");
  }
  EXPECT_EQ(parsed({"help", "exit-codes"}).topic->name, "exit-codes");
  EXPECT_EQ(parsed({"help", "environment"}).topic->name, "environment");
  EXPECT_NE(complaint({"help", "jbos"}).find("did you mean 'jobs'?"), std::string::npos);
}

TEST(Parse, ALongNameIsNotRepeatedInFull) { EXPECT_LT(complaint({std::string(10'240, 'q')}).size(), 200U); }

}  // namespace
}  // namespace fenceline::cli
