// Rules for the documents: links lead somewhere, and paragraphs stay short.
#pragma once

#include "rules.hpp"

namespace fenceline::tidy {

// Links to files that do not exist below `root`, and to headings that their page does not have.
Complaints broken_links(const SourceFile& document, const std::string& root);

// The address of a heading within its page, as GitHub makes it: "What is promised" is "what-is-promised".
std::string anchor_of(const std::string& heading);

}  // namespace fenceline::tidy
