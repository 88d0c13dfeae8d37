// What most tests of job commands do first: enqueue something, look at it, let a worker run it.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"

namespace fenceline::e2e {

inline std::string trimmed(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline Words joined(Words first, const Words& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

// The id of one new job of queue q.
inline std::string enqueue(const Workplace& place, const Words& options = {}, const Setting& setting = {}) {
  const Ended ended = place.fenceline(joined({"enqueue", "q"}, options), setting);
  EXPECT_EQ(ended.status, 0) << ended.err;
  return trimmed(ended.out);
}

// What a command prints with --json.
inline Json answer(const Workplace& place, const Words& words) {
  const Ended ended = place.fenceline(joined(words, {"--json"}));
  EXPECT_EQ(ended.status, 0) << ended.err;
  const Json parsed = Json::parse(ended.out, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << ended.out << ended.err;
  return parsed;
}

inline Json show(const Workplace& place, const std::string& id) { return answer(place, {"job", "show", id}); }

// Runs what waits in q, with a shell as the handler.
inline void drain(const Workplace& place, const std::string& script, const Words& options = {}) {
  const Ended ended = place.fenceline(joined(joined({"work", "q", "--drain"}, options), {"--", "sh", "-c", script}));
  EXPECT_EQ(ended.status, 0) << ended.err;
}

// The reasons that `job explain` gives, by name.
inline std::map<std::string, std::string> explained(const Workplace& place, const std::string& id) {
  std::map<std::string, std::string> out;
  for (const Json& reason : Json(answer(place, {"job", "explain", id})["reasons"]))
    out[reason["reason"]] = reason["text"];
  return out;
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace fenceline::e2e
