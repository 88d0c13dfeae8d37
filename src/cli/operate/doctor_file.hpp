// Whether the file of an embedded store is whole, page by page. Workers do not look for it all the time; doctor does.
#pragma once

#include <string>

#include "base/time.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline::cli {

// Finding `file`: SQLite's own quick check, for at most `budget`. It reads, and takes no lock that others wait for.
Finding file_finding(const Runtime& runtime, const std::string& path, Duration budget);

}  // namespace fenceline::cli
