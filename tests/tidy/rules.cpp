#include "rules.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

namespace fenceline::tidy {
namespace {

struct Home {
  std::vector<std::string> hints;  // one of these is in a line before `what`, which is slow, is tried
  std::regex what;
  std::string name;
  std::vector<std::string> homes;  // path prefixes
  std::string why;
};

const std::vector<Home>& homes() {
  static const std::vector<Home> rules{
      {{"_clock", "clock_gettime", "gettimeofday", "time("},
       std::regex(R"((steady_clock|system_clock|high_resolution_clock)\b|\bclock_gettime\s*\()"
                  R"(|\bgettimeofday\s*\(|\btime\s*\(\s*(nullptr|NULL|0)\s*\))"),
       "a clock",
       {"src/runtime/", "tests/"},
       "only a Clock tells the time, so that it can be simulated"},
      {{"thread", "async"},
       std::regex(R"(\bstd::(jthread|thread|async)\b|\bpthread_create\b)"),
       "a thread",
       {"src/runtime/", "tests/"},
       "Runtime::spawn runs things side by side"},
      {{"this_thread", "sleep"},
       std::regex(R"(this_thread::|\busleep\s*\(|\bnanosleep\s*\(|\bsleep\s*\()"),
       "a sleep",
       {"src/runtime/", "tests/"},
       "Runtime::sleep_until waits, so that virtual time can pass"},
      {{"condition_variable"},
       std::regex(R"(\bstd::condition_variable)"),
       "a condition variable",
       {"src/runtime/", "tests/"},
       "an Event is the only condition"},
      {{"random_device", "mt19937", "random_engine", "uniform_", "rand"},
       std::regex(
           R"(\brandom_device\b|\bstd::(mt19937|default_random_engine|uniform_)|\bs?rand\s*\(|\bgetrandom\s*\()"),
       "chance",
       {"src/runtime/", "tests/", "src/cli/pipelines/tracker_key.cpp"},
       "chance comes from Runtime::random(), so that a seed repeats it (but never a key)"},
      {{"sqlite3"},
       std::regex(R"(#include\s*[<"]sqlite3)"),
       "SQLite's header",
       {"src/backends/sqlite/", "tests/", "src/cli/operate/version.cpp", "src/bench/raw_sqlite.cpp"},
       "a library stays in its adapter"},
      {{"libpq"},
       std::regex(R"(#include\s*[<"]libpq)"),
       "libpq's header",
       {"src/backends/postgres/", "src/bench/", "tests/"},
       "a library stays in its adapter"},
      {{"openssl", "hiredis"},
       std::regex(R"(#include\s*[<"](openssl|hiredis)/)"),
       "a header of OpenSSL or hiredis",
       {"src/backends/redis/", "tests/"},
       "a library stays in its adapter"},
      {{"curl"},
       std::regex(R"(#include\s*[<"]curl/)"),
       "libcurl's header",
       {"src/http/"},
       "a library stays in its adapter"},
      {{"boost"},
       std::regex(R"(#include\s*[<"]boost/)"),
       "a header of Boost",
       {"src/http/http_server.cpp"},
       "one source knows the HTTP server's library"},
      {{"prometheus"},
       std::regex(R"(#include\s*[<"]prometheus/)"),
       "a header of prometheus-cpp",
       {"src/metrics/metrics.cpp"},
       "one source knows the metrics' library"},
      {{"cctz"},
       std::regex(R"(#include\s*[<"]cctz/)"),
       "a header of cctz",
       {"src/model/time_zone.cpp", "tests/"},
       "one source knows the time zones' library"},
      {{"CLI/"},
       std::regex(R"(#include\s*[<"]CLI/)"),
       "CLI11's header",
       {"src/cli/frame/parse.cpp"},
       "one source knows the command line's library"},
      {{"toml"},
       std::regex(R"(#include\s*[<"]toml)"),
       "TOML's header",
       {"src/cli/frame/config.cpp", "src/cli/pipelines/pipeline_file.cpp"},
       "a library stays in its adapter"},
      {{"fork"},
       std::regex(R"(\bfork\s*\()"),
       "fork",
       {"tests/", "src/backends/sqlite/", "src/runtime/child_process"},
       "no connection crosses a fork: posix_spawn instead"},
      {{"system", "popen"}, std::regex(R"(\bsystem\s*\(|\bpopen\s*\()"), "a shell", {}, "commands run without a shell"},
      {{"co_"}, std::regex(R"(\bco_(await|return|yield)\b)"), "a coroutine", {}, "g++ 12 miscompiles them"},
      {{"catch"},
       std::regex(R"(catch\s*\(\s*\.\.\.\s*\))"),
       "catch (...)",
       {"src/cli/main.cpp", "src/runtime/", "sim/", "tests/"},
       "it would swallow the kill of a simulated process"},
  };
  return rules;
}

bool is_test(std::string_view path) { return path.starts_with("tests/") || path.ends_with("_test.cpp"); }

std::string without_comment(const std::string& line) {
  const std::size_t at = line.find("//");
  return at == std::string::npos ? line : line.substr(0, at);
}

template <class Visit>
void each_line(const SourceFile& file, Visit visit) {
  std::istringstream lines(file.text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) visit(number, line);
}

std::string at(const SourceFile& file, int line) { return file.path + ":" + std::to_string(line) + ": "; }

// In UTF-8 every character has one byte that does not continue another one.
std::size_t count_characters(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::vector<SourceFile> read_files(const std::string& root, const std::vector<std::string>& folders,
                                   const std::vector<std::string>& extensions) {
  std::vector<SourceFile> files;
  const auto read = [&](const std::filesystem::path& path) {
    if (std::find(extensions.begin(), extensions.end(), path.extension()) == extensions.end()) return;
    files.push_back({std::filesystem::relative(path, root).string(), read_text(path)});
  };
  for (const std::string& folder : folders) {
    const std::filesystem::path place = std::filesystem::path(root) / folder;
    if (folder.empty()) {
      for (const auto& entry : std::filesystem::directory_iterator(place))
        if (entry.is_regular_file()) read(entry.path());
      continue;
    }
    for (auto it = std::filesystem::recursive_directory_iterator(place); it != std::filesystem::end(it); ++it) {
      if (it->path().filename() == "node_modules") it.disable_recursion_pending();
      else if (it->is_regular_file()) read(it->path());
    }
  }
  std::sort(files.begin(), files.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::vector<std::string> all_matches(const SourceFile& file, const std::regex& what) {
  std::vector<std::string> found;
  for (auto it = std::sregex_iterator(file.text.begin(), file.text.end(), what); it != std::sregex_iterator(); ++it)
    found.push_back((*it)[1]);
  return found;
}

}  // namespace

Complaints things_away_from_home(const SourceFile& file) {
  Complaints complaints;
  if (is_test(file.path)) return complaints;
  each_line(file, [&](int number, const std::string& line) {
    const std::string code = without_comment(line);
    for (const Home& home : homes()) {
      const bool at_home = std::any_of(home.homes.begin(), home.homes.end(),
                                       [&](const std::string& prefix) { return file.path.starts_with(prefix); });
      const bool hinted = std::any_of(home.hints.begin(), home.hints.end(),
                                      [&](const std::string& hint) { return code.find(hint) != std::string::npos; });
      if (!at_home && hinted && std::regex_search(code, home.what))
        complaints.push_back(at(file, number) + home.name + " away from home: " + home.why);
    }
  });
  return complaints;
}

Complaints includes_of_public_headers(const SourceFile& file) {
  Complaints complaints;
  if (!file.path.starts_with("include/")) return complaints;
  static const std::regex allowed(R"re(^\s*#include\s+(<[a-z_]+>|"fenceline/[a-z_]+\.hpp"))re");
  static const std::regex nlohmann(R"re(^\s*#include\s+<nlohmann/json\.hpp>)re");
  each_line(file, [&](int number, const std::string& line) {
    if (line.find("#include") == std::string::npos || without_comment(line).find("#include") == std::string::npos)
      return;
    const bool its_library = file.path == "include/fenceline/json.hpp" && std::regex_search(line, nlohmann);
    if (!std::regex_search(line, allowed) && !its_library)
      complaints.push_back(at(file, number) +
                           "a public header includes only the standard library and \"fenceline/...\"");
  });
  return complaints;
}

Complaints untidy_text(const SourceFile& file) {
  static const std::regex unfinished(std::string("\\b(TO") + "DO|FIX" + "ME|XX" + "X)\\b");
  static const std::regex machine_path(R"(["' ]/(work|root|home)/)");
  Complaints complaints;
  int lines = 0;
  each_line(file, [&](int number, const std::string& line) {
    lines = number;
    if (line.find_first_of("TFX") != std::string::npos && std::regex_search(line, unfinished))
      complaints.push_back(at(file, number) + "an unfinished mark");
    if (line.find('/') != std::string::npos && std::regex_search(line, machine_path))
      complaints.push_back(at(file, number) + "a path of some machine");
  });
  if (lines > 600) complaints.push_back(file.path + ": " + std::to_string(lines) + " lines: is it one thing?");
  return complaints;
}

Complaints lines_too_long(const SourceFile& file) {
  const bool document = file.path.ends_with(".md");
  const std::size_t most = document ? 100 : 120;
  Complaints complaints;
  bool fenced = false;        // between ``` and ```
  bool indented = false;      // a code block by four blanks, which begins after an empty line
  bool after_nothing = true;  // the line before is empty
  each_line(file, [&](int number, const std::string& line) {
    const std::size_t begin = line.find_first_not_of(' ');
    const std::string_view text = begin == std::string::npos ? "" : std::string_view(line).substr(begin);
    const bool mark = text.starts_with("```");
    if (mark) fenced = !fenced;
    if (after_nothing) indented = begin != std::string::npos && begin >= 4;
    after_nothing = text.empty();
    if (document && (fenced || mark || indented || text.starts_with("|"))) return;
    const std::size_t columns = count_characters(line);
    if (columns > most)
      complaints.push_back(at(file, number) + std::to_string(columns) + " columns, and " + std::to_string(most) +
                           " are the most: break the line");
  });
  return complaints;
}

std::vector<std::string> logged_events(const SourceFile& file) {
  static const std::regex logged(R"re(\b\w*log\w*(?:\.|->|\(\)\.)(?:debug|info|warn|error)\(\s*"([a-z_]+)")re");
  return is_test(file.path) ? std::vector<std::string>{} : all_matches(file, logged);
}

std::vector<std::string> passed_crash_points(const SourceFile& file) {
  static const std::regex passed(R"(FENCELINE_CRASH_POINT\(\s*(\w+)\s*\))");
  return file.path == "src/base/crash_point.hpp" ? std::vector<std::string>{} : all_matches(file, passed);
}

std::vector<std::string> defined_tests(const SourceFile& file) {
  static const std::regex test(R"(\bTEST(?:_P|_F)?\(\s*(\w+)\s*,\s*(\w+)\s*\))");
  std::vector<std::string> found;
  for (auto it = std::sregex_iterator(file.text.begin(), file.text.end(), test); it != std::sregex_iterator(); ++it)
    found.push_back((*it)[1].str() + "." + (*it)[2].str());
  return found;
}

std::vector<std::string> tests_named_in(const std::string& document) {
  static const std::regex name(R"(`([A-Z]\w+\.[A-Z]\w+|tests/[a-z_/]+)`)");
  return all_matches({"", document}, name);
}

std::vector<std::string> promises_listed_in(const std::string& document) {
  static const std::regex row(R"(\n\| ([A-Z][0-9]) \|)");
  return all_matches({"", document}, row);
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<SourceFile> read_tree(const std::string& root) {
  return read_files(root, {"src", "sim", "check", "include", "tests"}, {".hpp", ".cpp"});
}

std::vector<SourceFile> read_examples(const std::string& root) {
  return read_files(root, {"examples"}, {".hpp", ".cpp"});
}

std::vector<SourceFile> read_documents(const std::string& root) {
  return read_files(root, {"", "docs", "bench", "examples"}, {".md"});
}

}  // namespace fenceline::tidy
