#include "layers.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace fenceline::tidy {
namespace {

// "src/model/job.hpp" -> "model/job.hpp".
std::string_view below_src(std::string_view path) { return path.starts_with("src/") ? path.substr(4) : path; }

// Public headers that declare what a folder implements; the others are values and interfaces, which all may include.
const std::map<std::string, std::string, std::less<>>& homes_of_public_headers() {
  static const std::map<std::string, std::string, std::less<>> homes{
      {"fenceline/fenceline.hpp", "library"},
      {"fenceline/election.hpp", "services"},
      {"fenceline/lock_client.hpp", "services"},
      {"fenceline/locks.hpp", "services"},
      {"fenceline/loop_lock.hpp", "services"},
      {"fenceline/singleton.hpp", "services"},
      {"fenceline/gated_file.hpp", "gates"},
      {"fenceline/gated_key.hpp", "redis"},
      {"fenceline/sqlite.hpp", "sqlite"},
      {"fenceline/postgres.hpp", "postgres"},
      {"fenceline/sim.hpp", "sim"},
  };
  return homes;
}

const Part* part_of(std::string_view path, const std::vector<Part>& parts) {
  const Part* found = nullptr;
  if (const auto home = homes_of_public_headers().find(path); home != homes_of_public_headers().end()) {
    const auto part =
        std::find_if(parts.begin(), parts.end(), [&](const Part& one) { return one.name == home->second; });
    return part == parts.end() ? nullptr : &*part;
  }
  path = below_src(path);
  for (const Part& part : parts) {  // a folder in a folder may be a part of its own
    if (path.starts_with(part.folder + "/") && (found == nullptr || part.folder.size() > found->folder.size()))
      found = &part;
  }
  return found;
}

bool is_test_source(std::string_view path) { return path.starts_with("tests/") || path.ends_with("_test.cpp"); }

std::vector<const Part*> included_parts(const SourceFile& file, const std::vector<Part>& parts) {
  static const std::regex include(R"re(^\s*#include\s+"([^"]+)")re", std::regex::multiline);
  std::vector<const Part*> found;
  for (auto it = std::sregex_iterator(file.text.begin(), file.text.end(), include); it != std::sregex_iterator();
       ++it) {
    if (const Part* part = part_of((*it)[1].str(), parts)) found.push_back(part);
  }
  return found;
}

bool declares(const Part& part, const std::string& name) {
  return std::find(part.depends.begin(), part.depends.end(), name) != part.depends.end();
}

}  // namespace

std::vector<Part> parts_declared_in(const std::string& path, const std::string& text) {
  static const std::regex comment("#[^\n]*");
  static const std::regex library(R"(fenceline_library\(\s*(\w+)([^)]*)\))");
  const std::string folder(below_src(std::filesystem::path(path).parent_path().string()));
  const std::string code = std::regex_replace(text, comment, "");
  std::vector<Part> parts;
  for (auto it = std::sregex_iterator(code.begin(), code.end(), library); it != std::sregex_iterator(); ++it) {
    Part part{.name = (*it)[1], .folder = folder, .depends = {}};
    std::istringstream words((*it)[2].str());
    bool in_depends = false;
    for (std::string word; words >> word;) {
      const bool is_keyword =
          std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
      if (is_keyword) in_depends = word == "DEPENDS";
      else if (in_depends) part.depends.push_back(word);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<Part> read_parts(const std::string& root) {
  std::vector<Part> parts;
  for (const char* folder : {"src", "sim", "check"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root + "/" + folder)) {
      if (entry.path().filename() != "CMakeLists.txt") continue;
      const std::string path = std::filesystem::relative(entry.path(), root).string();
      for (Part& part : parts_declared_in(path, read_text(entry.path()))) parts.push_back(std::move(part));
    }
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.name < b.name; });
  return parts;
}

Complaints undeclared_includes(const SourceFile& file, const std::vector<Part>& parts) {
  Complaints complaints;
  const Part* own = part_of(file.path, parts);
  if (own == nullptr || is_test_source(file.path)) return complaints;
  for (const Part* part : included_parts(file, parts)) {
    if (part != own && !declares(*own, part->name))
      complaints.push_back(file.path + ": " + own->name + " does not declare that it depends on " + part->name);
  }
  return complaints;
}

Complaints unused_declarations(const std::vector<SourceFile>& files, const std::vector<Part>& parts) {
  std::map<std::string, std::set<std::string>> used;
  for (const SourceFile& file : files) {
    const Part* own = part_of(file.path, parts);
    if (own == nullptr || is_test_source(file.path)) continue;
    for (const Part* part : included_parts(file, parts)) used[own->name].insert(part->name);
  }
  Complaints complaints;
  for (const Part& part : parts) {
    for (const std::string& name : part.depends) {
      if (!used[part.name].contains(name))
        complaints.push_back(part.name + " declares that it depends on " + name + " and includes nothing of it");
    }
  }
  return complaints;
}

Complaints wrongly_drawn(const std::string& page, const std::vector<Part>& parts) {
  const std::size_t heading = page.find("\n## Layers\n");
  const std::size_t open = page.find("```\n", heading);
  const std::size_t close = page.find("```", open + 4);
  if (heading == std::string::npos || close == std::string::npos) return {"there is no drawing below '## Layers'"};
  Complaints complaints;
  std::map<std::string, int> line_of;  // by the part's name
  std::istringstream drawing(page.substr(open + 4, close - open - 4));
  std::string line;
  for (int number = 1; std::getline(drawing, line); ++number) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& one) { return one.folder == word; });
      if (part == parts.end()) continue;  // what people read beside it
      if (!line_of.emplace(part->name, number).second) complaints.push_back(word + " is drawn twice");
    }
  }
  for (const Part& part : parts) {
    if (!line_of.contains(part.name)) {
      complaints.push_back(part.folder + " is not drawn");
      continue;
    }
    for (const std::string& below : part.depends) {
      if (line_of.contains(below) && line_of[below] <= line_of[part.name])
        complaints.push_back(part.name + " depends on " + below + ", which is not drawn below it");
    }
  }
  return complaints;
}

}  // namespace fenceline::tidy
