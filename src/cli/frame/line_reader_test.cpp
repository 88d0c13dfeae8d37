#include "cli/frame/line_reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fenceline::cli {
namespace {

class LineReaderTest : public testing::Test {
 protected:
  LineReaderTest() {
    std::string pattern = testing::TempDir() + "lines-XXXXXX";
    const int fd = ::mkstemp(pattern.data());
    ::close(fd);
    path_ = pattern;
  }
  ~LineReaderTest() override { std::filesystem::remove(path_); }

  std::vector<std::string> lines(const std::string& text, std::size_t longest = 100) {
    std::ofstream(path_, std::ios::binary) << text;
    Result<InputFile> file = InputFile::open(path_);
    EXPECT_TRUE(file);
    LineReader reader(*file, longest);
    std::vector<std::string> out;
    while (true) {
      const auto line = reader.next();
      EXPECT_TRUE(line);
      if (!line || !*line) return out;
      out.push_back(**line);
      if (out.back().size() > longest) return out;
    }
  }

  std::string path_;
};

using Lines = std::vector<std::string>;

TEST_F(LineReaderTest, EndsOfLinesAreNoPartOfThem) {
  EXPECT_EQ(lines("a\nb\r\n\nc"), (Lines{"a", "b", "", "c"}));
  EXPECT_EQ(lines("a\n"), (Lines{"a"}));
  EXPECT_EQ(lines(""), Lines{});
  EXPECT_EQ(lines(std::string("a\0b\n", 4)), (Lines{std::string("a\0b", 3)}));
}

TEST_F(LineReaderTest, LinesMayCrossTheChunksOfAFile) {
  const std::string line(50'000, 'x');
  EXPECT_EQ(lines(line + "\n" + line + "\n" + line + "\n", 60'000), (Lines{line, line, line}));
}

TEST_F(LineReaderTest, ALineThatIsTooLongIsCutWhereThatIsKnown) {
  EXPECT_EQ(lines(std::string(100, 'x') + "\r\n", 100), (Lines{std::string(100, 'x')}));
  EXPECT_EQ(lines(std::string(1'000'000, 'x'), 100), (Lines{std::string(101, 'x')}));
}

TEST_F(LineReaderTest, AFileThatIsTooLargeIsRefused) {
  std::ofstream(path_) << "12345";
  EXPECT_EQ(read_file(path_, 5), "12345");
  EXPECT_EQ(read_file(path_, 4).error().code, Code::invalid);
  EXPECT_EQ(read_file(path_ + ".missing", 4).error().code, Code::not_found);
  EXPECT_EQ(read_file(testing::TempDir(), 4).error().code, Code::broken);
}

}  // namespace
}  // namespace fenceline::cli
