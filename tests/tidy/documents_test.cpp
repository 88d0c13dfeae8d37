#include "documents.hpp"

#include <gtest/gtest.h>

namespace fenceline::tidy {
namespace {

TEST(Tidy, LinksInDocumentsLeadToPagesAndHeadingsThatExist) {
  const std::vector<SourceFile> documents = read_documents(FENCELINE_SOURCE_DIR);
  EXPECT_GE(documents.size(), 50U) << "the rule reads too few documents to mean anything";
  for (const SourceFile& document : documents) {
    for (const std::string& complaint : broken_links(document, FENCELINE_SOURCE_DIR)) ADD_FAILURE() << complaint;
  }
}

TEST(TidyRules, FindALinkThatLeadsNowhere) {
  const std::string root = FENCELINE_SOURCE_DIR;
  EXPECT_EQ(broken_links({"docs/x.md", "see [y](no-such-page.md)"}, root).size(), 1U);
  EXPECT_EQ(broken_links({"docs/x.md", "see [y](../README.md#no-such-heading)"}, root).size(), 1U);
  EXPECT_EQ(broken_links({"docs/x.md", "# Here\n[there](#there)"}, root).size(), 1U);
  EXPECT_TRUE(broken_links({"docs/x.md", "# Here\n[here](#here) [web](https://a/b) [up](../README.md)"}, root).empty());
  EXPECT_TRUE(broken_links({"docs/x.md", "```\n[y](no-such-page.md)\n```"}, root).empty());
}

TEST(TidyRules, MakeTheAnchorOfAHeadingAsGitHubDoes) {
  EXPECT_EQ(anchor_of("What is `fenceline top`?"), "what-is-fenceline-top");
  EXPECT_EQ(anchor_of("After a restore: `behind`"), "after-a-restore-behind");
  EXPECT_EQ(anchor_of("C++"), "c");
}

}  // namespace
}  // namespace fenceline::tidy
