#include "backends/redis/wire.hpp"

#include <algorithm>

namespace fenceline::redis {

const std::vector<Value>& list_in(const Value& value, std::size_t least) {
  if (!value.is_list()) throw WireFailure("a list was expected");
  if (value.items.size() < least) throw WireFailure("a list is too short");
  return value.items;
}

std::int64_t number_in(const Value& value) {
  const std::optional<std::int64_t> number = whole_number(value);
  if (!number) throw WireFailure("a number was expected");
  return *number;
}

const std::string& text_in(const Value& value) {
  if (!value.is_text()) throw WireFailure("a text was expected");
  return value.text;
}

JobId id_in(std::string_view bytes) {
  JobId id;
  if (bytes.size() != id.bytes.size()) throw WireFailure("an id was expected");
  std::ranges::copy(bytes, id.bytes.begin());
  return id;
}

std::string_view bytes_of(const JobId& id) { return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()}; }

}  // namespace fenceline::redis
