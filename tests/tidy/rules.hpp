// The house rules that a compiler does not check, as data: what belongs where. layers.hpp has which way includes point.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fenceline::tidy {

struct SourceFile {
  std::string path;  // from the root: "src/base/log.cpp"
  std::string text;
};

// Each a sentence: "src/x.cpp:12: std::thread outside src/runtime: ...". Empty: all is well.
using Complaints = std::vector<std::string>;

// Clocks, threads, chance, sleeps and foreign libraries stay at home.
Complaints things_away_from_home(const SourceFile& file);

// A public header stands alone: it includes the standard library and other public headers, nothing else. (The optional
// json.hpp also nlohmann's.)
Complaints includes_of_public_headers(const SourceFile& file);

// No file outgrows one job; no unfinished mark; no absolute path of some machine.
Complaints untidy_text(const SourceFile& file);

// Every line fits: 120 columns of a source, whatever is in it; 100 of a document, but for code blocks and tables. A
// column is a character, however many bytes it has.
Complaints lines_too_long(const SourceFile& file);

// Names of events that the file logs: log.info("lease_lost", ...).
std::vector<std::string> logged_events(const SourceFile& file);

// Names of crash points that the file passes.
std::vector<std::string> passed_crash_points(const SourceFile& file);

// Names of the tests that the file defines: "Suite.Name".
std::vector<std::string> defined_tests(const SourceFile& file);

// Test names, and paths under tests/, that a document sets in backquotes.
std::vector<std::string> tests_named_in(const std::string& document);

// Names of promises ("L3") that begin a row of a table.
std::vector<std::string> promises_listed_in(const std::string& document);

// Every *.hpp and *.cpp of src, sim, check, include and tests, sorted by path.
std::vector<SourceFile> read_tree(const std::string& root);
// Every *.hpp and *.cpp of examples.
std::vector<SourceFile> read_examples(const std::string& root);
// Every *.md of the root, docs, bench and examples.
std::vector<SourceFile> read_documents(const std::string& root);
std::string read_text(const std::string& path);

}  // namespace fenceline::tidy
