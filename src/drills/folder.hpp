#pragma once

#include <string>

namespace fenceline::cli {

// A folder that is removed with all it holds when it goes away.
class DrillFolder {
 public:
  // In `parent`, or where temporary files are if it is empty.
  explicit DrillFolder(const std::string& parent = "");
  ~DrillFolder();
  DrillFolder(const DrillFolder&) = delete;
  DrillFolder& operator=(const DrillFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace fenceline::cli
