// A virtual table that shows a C++ batch to SQL, so that a verb is a few statements for a thousand rows and not
// a few for each: `INSERT INTO ready SELECT ... FROM batch`. Its columns are n (the row's number, from 0) and
// c0 to c17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

struct sqlite3;

namespace fenceline::sqlite {

// One value of a batch. What it points to must live until the statement has ended.
struct Value {
  enum class Kind { null, integer, text, blob } kind = Kind::null;
  std::int64_t number = 0;
  std::string_view view;

  static Value integer(std::int64_t number) { return {Kind::integer, number, {}}; }
  static Value maybe(const std::optional<std::int64_t>& number) { return number ? integer(*number) : Value{}; }
  static Value text(std::string_view view) { return {Kind::text, 0, view}; }
  static Value blob(std::string_view view) { return {Kind::blob, 0, view}; }
};

class BatchTable {
 public:
  using Column = std::function<Value(std::size_t row, int column)>;

  void connect(sqlite3* db);  // makes `batch` known to the connection; *this must not move afterwards
  // What the table shows until the next show(). The column function must live until its last statement has ended.
  void show(std::size_t rows, Column column) {
    rows_ = rows;
    column_ = std::move(column);
  }
  std::size_t rows() const { return rows_; }
  Value value(std::size_t row, int column) const { return column_(row, column); }

 private:
  std::size_t rows_ = 0;
  Column column_;
};

}  // namespace fenceline::sqlite
