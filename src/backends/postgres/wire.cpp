#include "backends/postgres/wire.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <utility>

namespace fenceline::postgres {
namespace {

constexpr char kJsonbVersion = 1;

template <class Number>
void put(std::string& out, Number value) {
  for (int shift = static_cast<int>(sizeof(Number)) * 8 - 8; shift >= 0; shift -= 8)
    out += static_cast<char>((value >> shift) & 0xff);
}

template <class Number>
Number take(std::string_view& in) {
  if (in.size() < sizeof(Number)) throw WireFailure("a value is cut short");
  std::make_unsigned_t<Number> value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    value = static_cast<std::make_unsigned_t<Number>>((static_cast<std::uint64_t>(value) << 8) |
                                                      static_cast<unsigned char>(in[i]));
  in.remove_prefix(sizeof(Number));
  return static_cast<Number>(value);
}

Type array_of(Type element) {
  switch (element) {
    case Type::bytea: return Type::bytea_array;
    case Type::int2: return Type::int2_array;
    case Type::int4: return Type::int4_array;
    case Type::int8: return Type::int8_array;
    case Type::uuid: return Type::uuid_array;
    case Type::jsonb: return Type::jsonb_array;
    default: return Type::text_array;
  }
}

std::string_view bytes_of(const Uuid& uuid) {
  return {reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()};
}

}  // namespace

Array::Array(Type element, std::size_t count) : element_(element) {
  put<std::int32_t>(bytes_, count == 0 ? 0 : 1);  // dimensions
  put<std::int32_t>(bytes_, 1);                   // there may be nulls
  put<std::int32_t>(bytes_, static_cast<std::int32_t>(element));
  if (count == 0) return;
  put<std::int32_t>(bytes_, static_cast<std::int32_t>(count));
  put<std::int32_t>(bytes_, 1);  // the first index
}

Type Array::type() const { return array_of(element_); }

void Array::add_null() { put<std::int32_t>(bytes_, -1); }
void Array::add_int2(std::int16_t value) {
  put<std::int32_t>(bytes_, 2);
  put(bytes_, value);
}
void Array::add_int4(std::int32_t value) {
  put<std::int32_t>(bytes_, 4);
  put(bytes_, value);
}
void Array::add_int8(std::int64_t value) {
  put<std::int32_t>(bytes_, 8);
  put(bytes_, value);
}
void Array::add_bytes(std::string_view value) {
  put(bytes_, static_cast<std::int32_t>(value.size()));
  bytes_ += value;
}
void Array::add_uuid(const Uuid& value) { add_bytes(bytes_of(value)); }
void Array::add_jsonb(std::string_view text) {
  put(bytes_, static_cast<std::int32_t>(text.size() + 1));
  bytes_ += kJsonbVersion;
  bytes_ += text;
}

Params& Params::add(Type type, std::optional<std::string> value) {
  types_.push_back(type);
  values_.push_back(std::move(value));
  return *this;
}

Params& Params::int8(std::int64_t value) {
  std::string bytes;
  put(bytes, value);
  return add(Type::int8, std::move(bytes));
}

Params& Params::int4(std::int32_t value) {
  std::string bytes;
  put(bytes, value);
  return add(Type::int4, std::move(bytes));
}

Params& Params::int2(std::int16_t value) {
  std::string bytes;
  put(bytes, value);
  return add(Type::int2, std::move(bytes));
}
Params& Params::uuid(const Uuid& value) { return add(Type::uuid, std::string(bytes_of(value))); }

Params& Params::jsonb(std::string_view text) {
  std::string bytes(1, kJsonbVersion);
  bytes += text;
  return add(Type::jsonb, std::move(bytes));
}

std::int64_t integer_of(std::string_view bytes) {
  switch (bytes.size()) {
    case 1: return bytes.front() != 0 ? 1 : 0;
    case 2: return take<std::int16_t>(bytes);
    case 4: return take<std::int32_t>(bytes);
    case 8: return take<std::int64_t>(bytes);
    default: throw WireFailure("a number has " + std::to_string(bytes.size()) + " bytes");
  }
}

Uuid uuid_of(std::string_view bytes) {
  Uuid uuid;
  if (bytes.size() != uuid.bytes.size()) throw WireFailure("an id has " + std::to_string(bytes.size()) + " bytes");
  std::copy(bytes.begin(), bytes.end(), uuid.bytes.begin());
  return uuid;
}

std::string_view jsonb_of(std::string_view bytes) {
  if (bytes.empty() || bytes.front() != kJsonbVersion) throw WireFailure("a jsonb value is of an unknown version");
  return bytes.substr(1);
}

std::vector<Uuid> uuids_of(std::string_view bytes) {
  const auto dimensions = take<std::int32_t>(bytes);
  take<std::int32_t>(bytes);
  if (take<std::int32_t>(bytes) != static_cast<std::int32_t>(Type::uuid))
    throw WireFailure("an array is not one of ids");
  std::vector<Uuid> out;
  if (dimensions == 0) return out;
  const auto count = take<std::int32_t>(bytes);
  take<std::int32_t>(bytes);
  for (std::int32_t i = 0; i < count; ++i) {
    const auto size = take<std::int32_t>(bytes);
    if (size != 16 || bytes.size() < 16) throw WireFailure("an array of ids is cut short");
    out.push_back(uuid_of(bytes.substr(0, 16)));
    bytes.remove_prefix(16);
  }
  return out;
}

Rows::~Rows() {
  if (result_) PQclear(result_);
}
Rows::Rows(Rows&& other) noexcept : result_(std::exchange(other.result_, nullptr)) {}
Rows& Rows::operator=(Rows&& other) noexcept {
  std::swap(result_, other.result_);
  return *this;
}

int Rows::size() const { return result_ ? PQntuples(result_) : 0; }
Type Rows::type(int column) const { return static_cast<Type>(PQftype(result_, column)); }
bool Rows::is_null(int row, int column) const { return PQgetisnull(result_, row, column) != 0; }
std::string_view Rows::bytes(int row, int column) const {
  if (row >= size() || column >= PQnfields(result_)) throw WireFailure("a value is missing");
  return {PQgetvalue(result_, row, column), static_cast<std::size_t>(PQgetlength(result_, row, column))};
}
std::optional<std::int64_t> Rows::optional_integer(int row, int column) const {
  return is_null(row, column) ? std::nullopt : std::optional(integer(row, column));
}

}  // namespace fenceline::postgres
