// Reads what a store keeps as JSON text: members of an object, each of one kind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace fenceline {

// Takes members out of an object; the first that is missing or of another kind is remembered.
class Members {
 public:
  using Json = nlohmann::ordered_json;

  explicit Members(const Json& object) : object_(object) {}

  std::string text(const char* name) {
    return taken<std::string>(name, [](const Json& value) { return value.is_string(); });
  }
  std::int64_t number(const char* name) {
    return taken<std::int64_t>(name, [](const Json& value) { return value.is_number_integer(); });
  }
  bool flag(const char* name) {
    return taken<bool>(name, [](const Json& value) { return value.is_boolean(); });
  }
  Duration duration(const char* name) { return Duration{number(name)}; }
  WallTime at(const char* name) { return WallTime{duration(name)}; }
  std::optional<WallTime> maybe_at(const char* name) {
    const auto found = object_.find(name);
    if (found != object_.end() && found->is_null()) return std::nullopt;
    return at(name);
  }
  template <class Value>
  Value word(const char* name, std::optional<Value> (*parse)(std::string_view)) {
    const std::optional<Value> value = parse(text(name));
    if (!value) missing(name);
    return value.value_or(Value{});
  }
  std::vector<std::string> texts(const char* name) {
    const auto all_text = [](const Json& value) {
      return value.is_array() && std::ranges::all_of(value, [](const Json& item) { return item.is_string(); });
    };
    return taken<std::vector<std::string>>(name, all_text);
  }
  Json objects(const char* name) {
    const auto all_objects = [](const Json& value) {
      return value.is_array() && std::ranges::all_of(value, [](const Json& item) { return item.is_object(); });
    };
    return taken<Json>(name, all_objects);
  }
  // An object, or null.
  Json maybe_object(const char* name) {
    return taken<Json>(name, [](const Json& value) { return value.is_object() || value.is_null(); });
  }

  // What another reader found wrong counts here too.
  void also(const Members& part) {
    if (wrong_.empty()) wrong_ = part.wrong_;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  template <class Value, class Fits>
  Value taken(const char* name, Fits fits) {
    const auto found = object_.find(name);
    if (found != object_.end() && fits(*found)) return found->template get<Value>();
    missing(name);
    return Value{};
  }
  void missing(const char* name) {
    if (wrong_.empty()) wrong_ = name;
  }

  const Json& object_;
  std::string wrong_;
};

}  // namespace fenceline
