#include "base/text.hpp"

#include <gtest/gtest.h>

namespace fenceline {
namespace {

TEST(Text, OfSeveralLinesIsShownInOne) {
  EXPECT_EQ(one_line("a\r\n\tb\x7f"), "a b");
  EXPECT_EQ(one_line("\na"), "a");
  EXPECT_EQ(one_line("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
}

TEST(Text, OfAnyLengthIsShownBriefly) {
  EXPECT_EQ(shown_briefly("a\tb\xc3"), "a?b?");
  EXPECT_EQ(shown_briefly("gr\xc3\xbc\xc3\x9f"
                          "e-\xe6\x97\xa5"),
            "gr\xc3\xbc\xc3\x9f"
            "e-\xe6\x97\xa5")
      << "as it was typed";
  EXPECT_EQ(shown_briefly("a\xc2\x9b"
                          "2J"),
            "a?2J")
      << "nothing that steers a terminal";
  EXPECT_EQ(shown_briefly(std::string(40, 'x')), std::string(40, 'x'));
  EXPECT_EQ(shown_briefly(std::string(41, 'x')), std::string(40, 'x') + "...");
}

TEST(Text, LowerCaseChangesLettersOfAsciiOnly) { EXPECT_EQ(lower_case("AZ[@9\xc3\x9c"), "az[@9\xc3\x9c"); }

TEST(Text, PercentSignsThatAreNotWholeAreNoText) {
  EXPECT_EQ(percent_decoded("a%2Fb%20%c3"), "a/b \xc3");
  for (const char* wrong : {"%", "%2", "a%zz", "%2g"}) EXPECT_EQ(percent_decoded(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace fenceline
