// Which way dependencies point: what CMake declares, what the sources include, and the drawing in docs/architecture.md
// must say the same.
#pragma once

#include <string>
#include <vector>

#include "rules.hpp"

namespace fenceline::tidy {

// A folder that is one target: fenceline_library(NAME DEPENDS ...).
struct Part {
  std::string name;
  std::string folder;  // as an include names it: "model", "backends/sqlite", "sim/checks"
  std::vector<std::string> depends;
};

// What a CMakeLists.txt declares. `path` is that of the file, from the root.
std::vector<Part> parts_declared_in(const std::string& path, const std::string& text);
// The same for every CMakeLists.txt of src, sim and check.
std::vector<Part> read_parts(const std::string& root);

// A source includes only what its folder declares; a folder declares only what its sources include.
Complaints undeclared_includes(const SourceFile& file, const std::vector<Part>& parts);
Complaints unused_declarations(const std::vector<SourceFile>& files, const std::vector<Part>& parts);

// The first code block below the heading "## Layers", one layer a line, the highest first. Every folder stands in it
// once, and depends only on folders in lines below its own.
Complaints wrongly_drawn(const std::string& page, const std::vector<Part>& parts);

}  // namespace fenceline::tidy
