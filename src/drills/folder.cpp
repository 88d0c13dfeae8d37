#include "drills/folder.hpp"

#include <cstdlib>
#include <filesystem>

#include "base/check.hpp"

namespace fenceline::cli {

DrillFolder::DrillFolder(const std::string& parent) {
  const std::filesystem::path above =
      parent.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(parent);
  std::string pattern = (above / "fenceline-drill-XXXXXX").string();
  check(::mkdtemp(pattern.data()) != nullptr, "a folder for the drill can be made");
  path_ = pattern;
}

DrillFolder::~DrillFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string folder_of_store(const std::string& store_url) {
  const std::string folder = std::filesystem::path(store_url.substr(kEmbedded.size())).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace fenceline::cli
