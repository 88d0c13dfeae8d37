#include "documents.hpp"

#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

namespace fenceline::tidy {
namespace {

// The lines of a document without its code blocks.
std::vector<std::string> prose(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  bool fenced = false;
  for (std::string line; std::getline(in, line);) {
    const bool mark =
        line.find_first_not_of(' ') != std::string::npos && line.compare(line.find_first_not_of(' '), 3, "```") == 0;
    if (mark) fenced = !fenced;
    lines.push_back(fenced || mark ? "" : line);
  }
  return lines;
}

std::set<std::string> anchors_in(const std::string& text) {
  std::set<std::string> anchors;
  for (const std::string& line : prose(text)) {
    const std::size_t begin = line.find_first_not_of('#');
    if (begin == 0 || begin == std::string::npos || line[begin] != ' ') continue;
    anchors.insert(anchor_of(line.substr(begin + 1)));
  }
  return anchors;
}

}  // namespace

std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char letter : heading) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == ' ') anchor += '-';
    if (std::isalnum(byte) != 0 || letter == '-' || letter == '_' || byte >= 128)
      anchor += static_cast<char>(std::tolower(byte));
  }
  return anchor;
}

Complaints broken_links(const SourceFile& document, const std::string& root) {
  static const std::regex link(R"(\]\(([^)\s#]*)(#[^)\s]*)?\))");
  Complaints complaints;
  int number = 0;
  for (const std::string& line : prose(document.text)) {
    number += 1;
    for (auto it = std::sregex_iterator(line.begin(), line.end(), link); it != std::sregex_iterator(); ++it) {
      const std::string target = (*it)[1];
      const std::string heading = (*it)[2];
      if (target.find("://") != std::string::npos) continue;
      const std::filesystem::path folder = std::filesystem::path(document.path).parent_path();
      const std::string page = target.empty() ? document.path : (folder / target).lexically_normal().string();
      const std::string at = document.path + ":" + std::to_string(number) + ": ";
      if (!target.empty() && !std::filesystem::exists(root + "/" + page)) {
        complaints.push_back(at + target + " does not exist");
      } else if (!heading.empty() && page.ends_with(".md")) {
        const std::string text = target.empty() ? document.text : read_text(root + "/" + page);
        if (!anchors_in(text).contains(heading.substr(1)))
          complaints.push_back(at + page + " has no heading " + heading);
      }
    }
  }
  return complaints;
}

}  // namespace fenceline::tidy
