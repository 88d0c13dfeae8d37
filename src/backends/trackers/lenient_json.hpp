// Members of JSON that others wrote, which may be anything: what is missing or odd is empty.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace fenceline::tracker {

inline std::string text_at(const nlohmann::json& value, const char* name) {
  const auto at = value.is_object() ? value.find(name) : value.end();
  return at != value.end() && at->is_string() ? at->get<std::string>() : std::string();
}

inline std::int64_t number_at(const nlohmann::json& value, const char* name) {
  const auto at = value.is_object() ? value.find(name) : value.end();
  return at != value.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
}

inline bool flag_at(const nlohmann::json& value, const char* name) {
  const auto at = value.is_object() ? value.find(name) : value.end();
  return at != value.end() && at->is_boolean() && at->get<bool>();
}

inline nlohmann::json member(const nlohmann::json& value, const char* name) {
  const auto at = value.is_object() ? value.find(name) : value.end();
  return at != value.end() ? *at : nlohmann::json::object();
}

}  // namespace fenceline::tracker
