// Values in PostgreSQL's binary format: what goes to the server and what comes back. No value is ever glued into SQL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.hpp"

struct pg_result;

namespace fenceline::postgres {

// Numbers of the server's own types: they never change.
enum class Type : unsigned {
  boolean = 16,
  bytea = 17,
  int8 = 20,
  int2 = 21,
  int4 = 23,
  text = 25,
  uuid = 2950,
  jsonb = 3802,
  bytea_array = 1001,
  int2_array = 1005,
  int4_array = 1007,
  text_array = 1009,
  int8_array = 1016,
  uuid_array = 2951,
  jsonb_array = 3807,
};

// One array of one dimension; elements may be null.
class Array {
 public:
  Array(Type element, std::size_t count);

  void add_null();
  void add_int2(std::int16_t value);
  void add_int4(std::int32_t value);
  void add_int8(std::int64_t value);
  void add_bytes(std::string_view value);  // text and bytea
  void add_uuid(const Uuid& value);
  void add_jsonb(std::string_view text);

  Type type() const;  // of the array
  const std::string& bytes() const { return bytes_; }

 private:
  Type element_;
  std::string bytes_;
};

// The parameters of one statement, in their order.
class Params {
 public:
  Params& text(std::string_view value) { return add(Type::text, std::string(value)); }
  Params& int8(std::int64_t value);
  Params& int4(std::int32_t value);
  Params& int2(std::int16_t value);
  Params& uuid(const Uuid& value);
  Params& boolean(bool value) { return add(Type::boolean, std::string(1, value ? '\1' : '\0')); }
  Params& jsonb(std::string_view text);
  Params& array(const Array& value) { return add(value.type(), value.bytes()); }
  Params& null(Type type) { return add(type, std::nullopt); }

  std::size_t size() const { return values_.size(); }
  const std::vector<Type>& types() const { return types_; }
  const std::optional<std::string>& value(std::size_t i) const { return values_[i]; }

 private:
  Params& add(Type type, std::optional<std::string> value);

  std::vector<Type> types_;
  std::vector<std::optional<std::string>> values_;
};

// The server's answer is not what its schema says. Caught where a reply is decoded.
class WireFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Of one value in binary. Throw WireFailure.
std::int64_t integer_of(std::string_view bytes);  // int2, int4, int8 and boolean, by their length
Uuid uuid_of(std::string_view bytes);
std::string_view jsonb_of(std::string_view bytes);
std::vector<Uuid> uuids_of(std::string_view bytes);

// What a statement answered.
class Rows {
 public:
  Rows() = default;
  explicit Rows(pg_result* result) : result_(result) {}
  ~Rows();
  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&& other) noexcept;

  int size() const;
  Type type(int column) const;
  bool is_null(int row, int column) const;
  std::string_view bytes(int row, int column) const;  // empty for null
  std::string text(int row, int column) const { return std::string(bytes(row, column)); }
  std::int64_t integer(int row, int column) const { return integer_of(bytes(row, column)); }
  std::int64_t integer_or(int row, int column, std::int64_t otherwise) const {
    return is_null(row, column) ? otherwise : integer(row, column);
  }
  std::optional<std::int64_t> optional_integer(int row, int column) const;
  Uuid uuid(int row, int column) const { return uuid_of(bytes(row, column)); }
  std::string_view jsonb(int row, int column) const { return jsonb_of(bytes(row, column)); }

 private:
  pg_result* result_ = nullptr;
};

}  // namespace fenceline::postgres
