#include "backends/redis/scripts.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>

#include "base/check.hpp"

namespace fenceline::redis {
namespace {

constexpr std::string_view kNeeds = "-- needs:";

const LuaFile* file_of(const std::vector<LuaFile>& files, std::string_view stem) {
  const auto found = std::ranges::find_if(files, [&](const LuaFile& file) { return file.name.substr(0, file.name.rfind('.')) == stem; });
  return found == files.end() ? nullptr : &*found;
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
  std::istringstream needs(found->text.substr(kNeeds.size(), found->text.find('\n') - kNeeds.size()));
  std::string text;
  for (std::string name; needs >> name;) {
    const LuaFile* module = file_of(files, name);
    if (!module) return "";
    text += module->text;
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
