// Keeps clocks, threads, chance and includes at home, and what the documents list whole.
#include <gtest/gtest.h>

#include <set>

#include "base/crash_point.hpp"
#include "check/switches.hpp"
#include "rules.hpp"

namespace fenceline::tidy {
namespace {

const std::vector<SourceFile>& tree() {
  static const std::vector<SourceFile> files = read_tree(FENCELINE_SOURCE_DIR);
  return files;
}

std::string joined(const Complaints& complaints) {
  std::string text;
  for (const std::string& complaint : complaints) text += "\n  " + complaint;
  return text;
}

Complaints over(const std::vector<SourceFile>& files, Complaints (*rule)(const SourceFile&)) {
  Complaints all;
  for (const SourceFile& file : files) {
    const Complaints some = rule(file);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}
Complaints over_the_tree(Complaints (*rule)(const SourceFile&)) { return over(tree(), rule); }

TEST(Tidy, ClocksThreadsChanceAndLibrariesAreAtHome) {
  const Complaints complaints = over_the_tree(things_away_from_home);
  EXPECT_TRUE(complaints.empty()) << joined(complaints);
}

TEST(Tidy, PublicHeadersIncludeOnlyTheStandardLibraryAndEachOther) {
  const Complaints complaints = over_the_tree(includes_of_public_headers);
  EXPECT_TRUE(complaints.empty()) << joined(complaints);
}

TEST(Tidy, FilesAreFinishedAndOfOneJob) {
  const Complaints complaints = over_the_tree(untidy_text);
  EXPECT_TRUE(complaints.empty()) << joined(complaints);
}

TEST(Tidy, LinesFit) {
  const std::vector<SourceFile> documents = read_documents(FENCELINE_SOURCE_DIR);
  EXPECT_GE(documents.size(), 50U) << "the rule reads too few documents to mean anything";
  for (const Complaints& complaints : {over_the_tree(lines_too_long), over(documents, lines_too_long),
                                       over(read_examples(FENCELINE_SOURCE_DIR), lines_too_long)})
    EXPECT_TRUE(complaints.empty()) << joined(complaints);
}

TEST(Tidy, EveryLoggedEventStandsInTheEventsPage) {
  const std::string page = read_text(std::string(FENCELINE_SOURCE_DIR) + "/docs/events.md");
  std::set<std::string> events;
  for (const SourceFile& file : tree()) {
    for (const std::string& event : logged_events(file)) events.insert(event);
  }
  EXPECT_GE(events.size(), 10U) << "the rule finds too few events to mean anything";
  for (const std::string& event : events)
    EXPECT_NE(page.find("`" + event + "`"), std::string::npos) << event << " is not in docs/events.md";
}

TEST(Tidy, EveryListedCrashPointIsPassedSomewhere) {
  std::set<std::string> passed;
  for (const SourceFile& file : tree()) {
    for (const std::string& point : passed_crash_points(file)) passed.insert(point);
  }
  for (const CrashPointInfo& info : crash_points())
    EXPECT_TRUE(passed.contains(std::string(info.name))) << info.name << " is listed, but no code passes it";
  EXPECT_GE(passed.size(), 25U);
}

TEST(Tidy, TheTableOfCrashPointsIsTheList) {
  const std::string page = read_text(std::string(FENCELINE_SOURCE_DIR) + "/docs/testing.md");
  for (const CrashPointInfo& info : crash_points()) {
    const std::string begin = "| `" + std::string(info.name) + "` | " + std::string(info.meaning) + " | ";
    const std::string end = " | `fenceline drill kill --point " + std::string(info.name) + "` |";
    EXPECT_NE(page.find(begin), std::string::npos) << "docs/testing.md lacks the row: " << begin;
    EXPECT_NE(page.find(end), std::string::npos) << "docs/testing.md does not say what tests " << info.name;
  }
}

TEST(Tidy, EveryTestThatTheGuaranteesNameExists) {
  std::set<std::string> defined;
  for (const SourceFile& file : tree()) {
    for (const std::string& test : defined_tests(file)) defined.insert(test);
  }
  const std::vector<std::string> named =
      tests_named_in(read_text(std::string(FENCELINE_SOURCE_DIR) + "/docs/guarantees-tests.md"));
  EXPECT_GE(named.size(), 25U);
  for (const std::string& test : named) {
    const bool is_script = test.starts_with("tests/");
    EXPECT_TRUE(is_script ? !read_text(std::string(FENCELINE_SOURCE_DIR) + "/" + test).empty() : defined.contains(test))
        << test << " does not exist";
  }
}

TEST(Tidy, NoPromiseIsWithoutATest) {
  const std::string root = FENCELINE_SOURCE_DIR;
  const std::vector<std::string> promises = promises_listed_in(read_text(root + "/docs/guarantees.md"));
  const std::string index = read_text(root + "/docs/guarantees-tests.md");
  EXPECT_GE(promises.size(), 25U);
  for (const std::string& promise : promises)
    EXPECT_NE(index.find("\n| " + promise + " | `"), std::string::npos) << "docs/guarantees-tests.md lacks " << promise;
}

TEST(Tidy, TheTableOfClassesIsTheCheckersOwn) {
  const std::string page = read_text(std::string(FENCELINE_SOURCE_DIR) + "/docs/guarantees.md");
  for (const audit::PromiseRow& row : audit::promises()) {
    std::string line = "| " + std::string(row.promise) + " |";
    for (const audit::Keeps keeps : {row.a, row.b, row.c, row.d}) line += " " + std::string(to_string(keeps)) + " |";
    EXPECT_NE(page.find("\n" + line + "\n"), std::string::npos) << "docs/guarantees.md lacks the row " << line;
  }
}

TEST(Tidy, TheCodeOfTheGuardedPageIsThatOfTheExamples) {
  const std::string root = FENCELINE_SOURCE_DIR;
  const std::string page = read_text(root + "/docs/tables-sqlite.md");
  const std::string examples =
      read_text(root + "/examples/cpp/accounts.cpp") + read_text(root + "/examples/cpp/outbox.cpp");
  const std::string begin = "```cpp\n";
  int blocks = 0;
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    const std::string block = page.substr(from, page.find("```", from) - from);
    EXPECT_NE(examples.find(block), std::string::npos) << block;
    blocks += 1;
  }
  EXPECT_GE(blocks, 5);
}

// The rules can fail: each is shown a file that breaks it.
TEST(TidyRules, FindAClockAThreadAndChanceAwayFromHome) {
  EXPECT_EQ(things_away_from_home({"src/services/x.cpp", "auto t = std::chrono::steady_clock::now();"}).size(), 1U);
  EXPECT_EQ(things_away_from_home({"src/services/x.cpp", "std::jthread t;"}).size(), 1U);
  EXPECT_EQ(things_away_from_home({"src/model/x.cpp", "std::random_device d;"}).size(), 1U);
  EXPECT_EQ(things_away_from_home({"src/services/x.cpp", "try {} catch (...) {}"}).size(), 1U);
  EXPECT_TRUE(things_away_from_home({"src/runtime/x.cpp", "std::jthread t;"}).empty());
  EXPECT_TRUE(things_away_from_home({"src/model/x.cpp", "// not a std::thread"}).empty());
}

TEST(TidyRules, FindALineThatIsTooLong) {
  const std::string words(101, 'w');
  EXPECT_EQ(lines_too_long({"docs/x.md", "A page.\n\n- " + words}).size(), 1U);
  EXPECT_EQ(lines_too_long({"docs/x.md", "- item\n    " + words}).size(), 1U);
  EXPECT_EQ(lines_too_long({"docs/x.md", "```\n" + words + "\n```\n" + words}).size(), 1U);
  EXPECT_TRUE(lines_too_long({"docs/x.md", "| " + words + " |\n\n    " + words + "\n    " + words}).empty());
  EXPECT_TRUE(lines_too_long({"docs/x.md", std::string(98, 'w') + "\u2026\u2026"}).empty());
  EXPECT_EQ(lines_too_long({"src/x.cpp", std::string(121, 'w')}).size(), 1U);
  EXPECT_TRUE(lines_too_long({"src/x.cpp", std::string(120, 'w')}).empty());
}

TEST(TidyRules, FindAPrivateIncludeInAPublicHeader) {
  const std::string path = "include/fenceline/x.hpp";
  EXPECT_EQ(includes_of_public_headers({path, "#include \"base/result.hpp\""}).size(), 1U);
  EXPECT_EQ(includes_of_public_headers({path, "#include <sqlite3.h>"}).size(), 1U);
  EXPECT_EQ(includes_of_public_headers({path, "#include <nlohmann/json.hpp>"}).size(), 1U);
  EXPECT_TRUE(includes_of_public_headers({path, "#include <string>\n#include \"fenceline/job.hpp\""}).empty());
  EXPECT_TRUE(includes_of_public_headers({"src/base/x.hpp", "#include \"base/result.hpp\""}).empty());
}

TEST(TidyRules, FindAnUnfinishedMarkAndALongFile) {
  EXPECT_EQ(untidy_text({"src/base/x.cpp", std::string("// TO") + "DO later"}).size(), 1U);
  EXPECT_EQ(untidy_text({"src/base/x.cpp", std::string(700, '\n')}).size(), 1U);
}

}  // namespace
}  // namespace fenceline::tidy
