// Whether the file of an embedded store is whole, page by page. Workers do not look for it all the time; doctor does.
#pragma once

#include <string>

#include "base/time.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline::sqlite {

// Finding `file`: SQLite's own quick check, for at most `budget`. It reads, and takes no lock that others wait for.
Finding check_file(const Runtime& runtime, const std::string& path, Duration budget);

}  // namespace fenceline::sqlite
