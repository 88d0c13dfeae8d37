// The manual page, read by a real formatter.
#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

// What the indented lines of a help begin with.
std::vector<std::string> names_in(const std::string& help) {
  std::vector<std::string> out;
  for (const std::string& line : lines_of(help)) {
    if (line == "Examples:") break;
    if (!line.starts_with("  ") || line[2] == ' ') continue;
    std::istringstream names(line.substr(2, line.find("  ", 2) - 2));
    for (std::string name; std::getline(names >> std::ws, name, ',');) out.push_back(name);
  }
  return out;
}

// Every command that `fenceline help` and the helps it leads to list.
std::vector<std::string> commands(const Workplace& place) {
  std::vector<std::string> out;
  for (const std::string& name : names_in(place.fenceline({"help"}).out)) {
    const std::string help = place.fenceline({"help", name}).out;
    if (!has(help, "\nCommands:\n")) out.push_back(name);
    else
      for (const std::string& member : names_in(help)) out.push_back(member);
  }
  return out;
}

TEST(Manual, EveryCommandIsInItAndTheFormatterHasNoComplaint) {
  const Workplace place;
  const std::vector<std::string> names = commands(place);
  EXPECT_GE(names.size(), 70U);
  const std::string page = place.write("fenceline.1", place.fenceline({"man"}).out).string();
  if (place.run({"bash", "-c", "command -v man"}).status != 0) GTEST_SKIP() << "man is not here";
  const Ended formatted = place.run({"man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", page},
                                    {.env = {{"LC_ALL", "C.UTF-8"}, {"MANWIDTH", "100"}, {"PAGER", "cat"}}});
  EXPECT_EQ(formatted.status, 0);
  EXPECT_EQ(formatted.err, "");
  const std::string text = place
                               .run({"bash", "-c", "col -b < \"$0\" 2>/dev/null || cat \"$0\"",
                                     place.write("page.txt", formatted.out).string()})
                               .out;
  for (const std::string& name : names) EXPECT_TRUE(has(text, "fenceline " + name)) << name;
  for (const char* title : {"NAME", "SYNOPSIS", "COMMANDS", "OPTIONS", "ENVIRONMENT", "FILES", "EXIT STATUS"})
    EXPECT_TRUE(has(text, title)) << title;
}

TEST(Manual, EveryCommandExplainsItselfWithExamples) {
  const Workplace place;
  for (const std::string& name : commands(place)) {
    Words words;
    std::istringstream parts(name);
    for (std::string word; parts >> word;) words.push_back(word);
    const Ended help = place.fenceline(joined({"help"}, words));
    EXPECT_EQ(help.status, 0) << name << help.err;
    EXPECT_TRUE(has(help.out, "Examples:")) << help.out;
    EXPECT_EQ(place.fenceline(joined(words, {"--help"})).out, help.out);
  }
  EXPECT_TRUE(has(place.fenceline({"help", "job"}).out, "job explain"));
  EXPECT_EQ(place.fenceline({"job", "--help"}).out, place.fenceline({"help", "job"}).out);
  EXPECT_TRUE(has(place.fenceline({"help", "exit-codes"}).out, "128 + N"));
  EXPECT_TRUE(has(place.fenceline({"help", "environment"}).out, "FENCELINE_STORE"));
  EXPECT_TRUE(has(place.fenceline({"help", "options"}).out, "--namespace"));
}

}  // namespace
}  // namespace fenceline::e2e
