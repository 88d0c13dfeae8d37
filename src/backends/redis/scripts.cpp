#include "backends/redis/scripts.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "base/check.hpp"

namespace fenceline::redis {
namespace {

constexpr std::string_view kNeeds = "-- needs:";
constexpr std::string_view kAfter = "-- after:";
constexpr std::string_view kPart = "-- part after:";
constexpr std::string_view kCore = "00_core.lua";
constexpr std::string_view kBegin = "begin()\n";
constexpr std::string_view kForOthersToo = "gated_key";

const LuaFile* file_of(const std::vector<LuaFile>& files, std::string_view stem) {
  const auto found = std::ranges::find_if(
      files, [&](const LuaFile& file) { return file.name.substr(0, file.name.rfind('.')) == stem; });
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

// Modules and parts in their order, each with those that it comes after. False: one is missing.
bool each_needed(const std::vector<LuaFile>& files, const LuaFile& verb,
                 const std::function<void(const LuaFile&)>& visit) {
  std::set<std::string, std::less<>> there;
  for (const std::string& name : named_in(verb.text, kNeeds)) {
    const LuaFile* module = file_of(files, name);
    if (!module) return false;
    std::vector<std::string> wanted = named_in(module->text, module->text.starts_with(kPart) ? kPart : kAfter);
    wanted.push_back(name);
    for (const std::string& one : wanted) {
      const LuaFile* file = file_of(files, one);
      if (!file) return false;
      if (there.insert(one).second) visit(*file);
    }
  }
  return true;
}

bool is_core(const LuaFile& file) { return file.name == kCore; }

// Modules that verbs share at their beginning stand around them; in Lua what is local to a block counts only there, and
// a function may have 200 such names.
struct Block {
  std::vector<std::pair<const LuaFile*, Block>> inner;
  std::string verbs;

  Block& in(const LuaFile& module) {
    const auto found = std::ranges::find_if(inner, [&](const auto& each) { return each.first == &module; });
    return found != inner.end() ? found->second : inner.emplace_back(&module, Block{}).second;
  }
  void append_to(std::string& out) const {
    out += verbs;
    for (const auto& [module, block] : inner) {
      out += "do\n" + module->text;
      block.append_to(out);
      out += "end\n";
    }
  }
};

Library library_of(const std::vector<LuaFile>& files) {
  Block all;
  for (const LuaFile& file : files) {
    if (!file.text.starts_with(kNeeds) || verb_in(file.name) == kForOthersToo) continue;
    Block* block = &all;
    std::string body;
    const bool complete = each_needed(files, file, [&](const LuaFile& needed) {
      if (needed.text.starts_with(kPart)) body += needed.text;
      else block = &block->in(needed);
      if (is_core(needed)) body += kBegin;
    });
    check(complete, "a script of the program needs a module that is not there");
    body += file.text;
    const bool goes_on = body.find("goes_on_when_full()") != std::string::npos;
    block->verbs += "redis.register_function{function_name = NAME .. '" + std::string(verb_in(file.name)) + "'" +
                    (goes_on ? ", flags = {'allow-oom'}" : "") +
                    ", callback = function(keys, arguments)\nKEYS, ARGV = keys, arguments\n" + body + "end}\n";
  }
  std::string text;
  all.append_to(text);
  const std::string name = "fenceline_" + sha1_hex(text).substr(0, 16);
  return {name, "#!lua name=" + name + "\nlocal NAME, KEYS, ARGV = '" + name + "_'\n" + text};
}

std::map<std::string, std::unique_ptr<const Script>, std::less<>> all_scripts() {
  const std::vector<LuaFile> files = lua_files();
  std::map<std::string, std::unique_ptr<const Script>, std::less<>> scripts;
  for (const LuaFile& file : files) {
    if (!file.text.starts_with(kNeeds)) continue;  // a module
    const std::string verb(verb_in(file.name));
    std::string text = script_text(files, verb);
    check(!text.empty(), "a script of the program needs a module that is not there");
    const bool is_function = verb != kForOthersToo;
    scripts.emplace(verb,
                    std::make_unique<const Script>(std::move(text), is_function ? library().name + "_" + verb : "",
                                                   is_function ? &library() : nullptr));
  }
  return scripts;
}

}  // namespace

std::string script_text(const std::vector<LuaFile>& files, std::string_view verb) {
  const auto found = std::ranges::find_if(
      files, [&](const LuaFile& file) { return verb_in(file.name) == verb && file.text.starts_with(kNeeds); });
  if (found == files.end()) return "";
  std::string text;
  const bool complete = each_needed(files, *found, [&](const LuaFile& needed) {
    text += needed.text;
    if (is_core(needed)) text += kBegin;
  });
  return complete ? text + found->text : "";
}

const Library& library() {
  static const Library made = library_of(lua_files());
  return made;
}

const Script& script_of(std::string_view verb) {
  static const auto scripts = all_scripts();
  const auto found = scripts.find(verb);
  check(found != scripts.end(), "a script of the program is not there");
  return *found->second;
}

}  // namespace fenceline::redis
