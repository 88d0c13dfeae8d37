// The scripts of the verbs. A verb is a file lua/NN_VERB.lua; its first line names the modules that come before it, in
// their order:
//   -- needs: 00_core 10_jobs
// A module whose first line is `-- after: 09_batches` comes after that one, which need not be named then; none comes
// twice. `-- part after:` is the same for what is no module, but the first part of a verb.
//
// As a script a verb is all of them in one text, so a part can end it by `return`: then what follows is not even
// defined. As a function it is its parts and its own file, in a library of all verbs in which each module is defined
// once, and not anew at each call. A module therefore only defines, with nothing but Lua itself: what a call needs
// before it can use one is made by begin() of 00_core.lua, which comes behind that file in a script and in its place in
// a function. Made once, when the first is asked for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/command.hpp"

namespace fenceline::redis {

struct LuaFile {
  std::string_view name;  // "30_claim.lua"
  std::string text;
};
// In the order of their names. The source is made at build time.
std::vector<LuaFile> lua_files();

// The text of a verb with all that it needs; empty if a file is missing.
std::string script_text(const std::vector<LuaFile>& files, std::string_view verb);

// All verbs as functions NAME_VERB, under a name that is a digest of their text: two versions of this program never
// meet. But for gated_key, which other programs call too.
const Library& library();

// Of "claim" for 30_claim.lua. A verb that is not there, or needs what is not there, ends the process: it is a bug of
// the build. Answers the same object each time, so that a verb's source keeps it: static const Script& claim =
// script_of("claim");
const Script& script_of(std::string_view verb);

}  // namespace fenceline::redis
