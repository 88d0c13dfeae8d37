// What a drill has around it: a folder of its own, the place of the store, and time.
#pragma once

#include <string>
#include <string_view>

#include "base/time.hpp"

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

inline constexpr Duration kProcessMost = std::chrono::seconds{60};  // for one of a drill: far more than it needs
inline constexpr Duration kSlack = std::chrono::seconds{30};        // for a busy machine; nothing is judged by it

// What the URL of a store begins with that is embedded in its users' processes.
inline constexpr std::string_view kEmbedded = "sqlite:";
// Where the file of such a store is.
std::string folder_of_store(const std::string& store_url);

}  // namespace fenceline::cli
