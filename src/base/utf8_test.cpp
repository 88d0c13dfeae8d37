#include "base/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace fenceline {
namespace {

TEST(Utf8, AcceptsTheFirstAndLastCharacterOfEachLength) {
  for (const std::string text : {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                 "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_valid_utf8(text));
    EXPECT_EQ(utf8_sequence_length(text), text.size());
  }
  EXPECT_TRUE(is_valid_utf8(std::string(1, '\0')));
  EXPECT_TRUE(is_valid_utf8(""));
}

TEST(Utf8, RefusesWhatIsNotACharacter) {
  for (const std::string text : {
           "\x80", "\xbf", "\xff", "\xfe",                  // not a start
           "\xc0\x80", "\xc1\xbf",                          // overlong
           "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",              // overlong
           "\xed\xa0\x80", "\xed\xbf\xbf",                  // surrogates
           "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",          // past the last one
           "\xc2", "\xe0\xa0", "\xf0\x90\x80",              // cut off
           "\xc2\x41", "\xe1\x80\x41", "\xf1\x80\x80\x41",  // not continued
       }) {
    EXPECT_FALSE(is_valid_utf8(text));
    EXPECT_EQ(utf8_sequence_length(text), 0u);
    EXPECT_FALSE(is_valid_utf8("good" + text + "good"));
  }
}

TEST(Utf8, KnowsExactlyTheTwoByteCharacters) {
  int valid = 0;
  for (int first = 0x80; first < 0x100; ++first) {
    for (int second = 0; second < 0x100; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      if (is_valid_utf8(text)) ++valid;
    }
  }
  EXPECT_EQ(valid, 0x800 - 0x80);
}

TEST(Utf8, HasNoLengthForNothing) { EXPECT_EQ(utf8_sequence_length(""), 0u); }

}  // namespace
}  // namespace fenceline
