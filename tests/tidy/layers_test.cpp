// Keeps declarations, includes and the drawing of the architecture the same.
#include "layers.hpp"

#include <gtest/gtest.h>

namespace fenceline::tidy {
namespace {

const std::vector<Part>& all_parts() {
  static const std::vector<Part> parts = read_parts(FENCELINE_SOURCE_DIR);
  return parts;
}

std::string listed(const Complaints& complaints) {
  std::string text;
  for (const std::string& complaint : complaints) text += "\n  " + complaint;
  return text;
}

TEST(Layers, EveryIncludeIsDeclared) {
  EXPECT_GE(all_parts().size(), 30U);
  Complaints complaints;
  for (const SourceFile& file : read_tree(FENCELINE_SOURCE_DIR))
    for (const std::string& complaint : undeclared_includes(file, all_parts())) complaints.push_back(complaint);
  EXPECT_TRUE(complaints.empty()) << listed(complaints);
}

TEST(Layers, EveryDeclarationIsUsed) {
  const Complaints complaints = unused_declarations(read_tree(FENCELINE_SOURCE_DIR), all_parts());
  EXPECT_TRUE(complaints.empty()) << listed(complaints);
}

TEST(Layers, TheDrawingShowsEveryFolderAndDependenciesPointDown) {
  const std::string page = read_text(std::string(FENCELINE_SOURCE_DIR) + "/docs/architecture.md");
  const Complaints complaints = wrongly_drawn(page, all_parts());
  EXPECT_TRUE(complaints.empty()) << listed(complaints);
}

// What judges the program shares nothing with it but the format.
TEST(Layers, TheCheckerKnowsOnlyTheFormatOfHistories) {
  for (const Part& part : all_parts()) {
    if (part.name != "check") continue;
    EXPECT_EQ(part.depends, std::vector<std::string>{"history_format"});
  }
}

// The rules can fail: each is shown something that breaks it.
TEST(LayerRules, ReadADeclaration) {
  const std::vector<Part> parts =
      parts_declared_in("src/backends/x/CMakeLists.txt",
                        "# fenceline_library(not DEPENDS this)\n"
                        "fenceline_library(x DEPENDS base\n  model LINK y::y TEST_DEPENDS memory)");
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].folder, "backends/x");
  EXPECT_EQ(parts[0].depends, (std::vector<std::string>{"base", "model"}));
}

TEST(LayerRules, FindAnIncludeThatNobodyDeclared) {
  const std::vector<Part> parts{{"base", "base", {}}, {"model", "model", {"base"}}};
  EXPECT_EQ(undeclared_includes({"src/base/x.cpp", "#include \"model/job.hpp\""}, parts).size(), 1U);
  EXPECT_TRUE(undeclared_includes({"src/model/x.cpp", "#include \"base/result.hpp\""}, parts).empty());
  EXPECT_TRUE(undeclared_includes({"src/base/x_test.cpp", "#include \"model/job.hpp\""}, parts).empty());
  EXPECT_EQ(unused_declarations({{"src/model/x.cpp", "int x;"}}, parts).size(), 1U);
  const std::vector<Part> gated{{"gates", "gates", {}}, {"model", "model", {}}};
  EXPECT_EQ(undeclared_includes({"src/model/x.cpp", "#include \"fenceline/gated_file.hpp\""}, gated).size(), 1U);
}

TEST(LayerRules, FindAFolderThatIsMissingOrDrawnBelowWhatItUses) {
  const std::vector<Part> parts{{"base", "base", {}}, {"model", "model", {"base"}}};
  EXPECT_TRUE(wrongly_drawn("\n## Layers\n```\nmodel   values\nbase\n```\n", parts).empty());
  EXPECT_EQ(wrongly_drawn("\n## Layers\n```\nbase\nmodel\n```\n", parts).size(), 1U);
  EXPECT_EQ(wrongly_drawn("\n## Layers\n```\nmodel\n```\n", parts).size(), 1U);
  EXPECT_EQ(wrongly_drawn("\n## Layers\n```\nmodel\nbase base\n```\n", parts).size(), 1U);
}

}  // namespace
}  // namespace fenceline::tidy
