#include "backends/redis/scripts.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "base/check.hpp"

namespace fenceline::redis {
namespace {

constexpr std::string_view kNeeds = "-- needs:";
constexpr std::string_view kAfter = "-- after:";

const LuaFile* file_of(const std::vector<LuaFile>& files, std::string_view stem) {
  const auto found = std::ranges::find_if(files, [&](const LuaFile& file) { return file.name.substr(0, file.name.rfind('.')) == stem; });
  return found == files.end() ? nullptr : &*found;
}

// The words of the first line, if it begins so.
std::vector<std::string> named_in(std::string_view text, std::string_view beginning) {
  if (!text.starts_with(beginning)) return {};
  std::istringstream line(std::string(text.substr(beginning.size(), text.find('\n') - beginning.size())));
  return {std::istream_iterator<std::string>(line), {}};
}

// "30_claim.lua" is the verb claim.
std::string_view verb_in(std::string_view file) {
  file = file.substr(0, file.rfind('.'));
  return file.substr(std::min(file.size(), file.find('_') + 1));
}

std::map<std::string, std::unique_ptr<const Script>, std::less<>> all_scripts() {
  const std::vector<LuaFile> files = lua_files();
  std::map<std::string, std::unique_ptr<const Script>, std::less<>> scripts;
  for (const LuaFile& file : files) {
    if (!file.text.starts_with(kNeeds)) continue;  // a module
    std::string text = script_text(files, verb_in(file.name));
    check(!text.empty(), "a script of the program needs a module that is not there");
    scripts.emplace(verb_in(file.name), std::make_unique<const Script>(std::move(text)));
  }
  return scripts;
}

}  // namespace

std::string script_text(const std::vector<LuaFile>& files, std::string_view verb) {
  const auto found = std::ranges::find_if(files, [&](const LuaFile& file) { return verb_in(file.name) == verb && file.text.starts_with(kNeeds); });
  if (found == files.end()) return "";
  std::string text;
  std::set<std::string, std::less<>> there;
  for (const std::string& name : named_in(found->text, kNeeds)) {
    const LuaFile* module = file_of(files, name);
    if (!module) return "";
    std::vector<std::string> wanted = named_in(module->text, kAfter);
    wanted.push_back(name);
    for (const std::string& one : wanted) {
      const LuaFile* file = file_of(files, one);
      if (!file) return "";
      if (there.insert(one).second) text += file->text;
    }
  }
  return text + found->text;
}

const Script& script_of(std::string_view verb) {
  static const auto scripts = all_scripts();
  const auto found = scripts.find(verb);
  check(found != scripts.end(), "a script of the program is not there");
  return *found->second;
}

}  // namespace fenceline::redis
