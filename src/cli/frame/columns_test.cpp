#include "cli/frame/columns.hpp"

#include <gtest/gtest.h>

#include "cli/frame/table.hpp"

namespace fenceline::cli {
namespace {

TEST(Columns, LettersTakeOneTwoOrNone) {
  EXPECT_EQ(columns_of("mail"), 4);
  EXPECT_EQ(columns_of("Grüße"), 5);
  EXPECT_EQ(columns_of("出荷"), 4);
  EXPECT_EQ(columns_of("e\u0301"), 1);
  EXPECT_EQ(columns_of("\x1b[31mbad\x1b[0m"), 3);
}

TEST(Columns, TextThatDoesNotFitIsCutBetweenLetters) {
  EXPECT_EQ(cut_to_columns("mailing", 7), "mailing");
  EXPECT_EQ(cut_to_columns("mailings", 7), "maili..");
  EXPECT_EQ(cut_to_columns("出荷処理", 7), "出荷..");  // half a letter would stick out
  EXPECT_EQ(columns_of(cut_to_columns("出荷処理", 7)), 6);
  EXPECT_EQ(cut_to_columns("\x1b[31mvery bad\x1b[0m", 6), "\x1b[31mvery..\x1b[0m");
  EXPECT_EQ(cut_to_columns("abc", 1), ".");
  EXPECT_EQ(cut_to_columns("abc", 0), "");
}

TEST(Columns, ATableOfWideNamesStaysInLine) {
  const Table table{{{"name"}, {"ready", false, true}}, {{"出荷", "7"}, {"mail", "12"}}};
  EXPECT_EQ(render_columns(table, 80, false), "name  ready\n出荷      7\nmail     12\n");
}

TEST(Columns, TextIsWrappedBetweenWordsAndLongWordsWhereTheyMust) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped_to_columns("approval of publish by ana", 12), (Lines{"approval of", "publish by", "ana"}));
  EXPECT_EQ(wrapped_to_columns("", 12), Lines{""});
  EXPECT_EQ(wrapped_to_columns("abcdefgh ij", 5), (Lines{"abcde", "fgh", "ij"}));
  EXPECT_EQ(wrapped_to_columns("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 4),
            (Lines{"\xe6\x97\xa5\xe6\x9c\xac", "\xe8\xaa\x9e"}))
      << "letters of two columns";
}

}  // namespace
}  // namespace fenceline::cli
