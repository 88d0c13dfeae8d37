// Namespaces and queues as numbers: every key begins with one, so no verb can cross a namespace and the keys stay
// short. A queue with all its stages is a home, which has the settings. Rows of these tables are never deleted, so what
// was read once stays true.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "backends/sqlite/database.hpp"

namespace fenceline::sqlite {

struct QueueName {
  std::string ns;
  std::string queue;
  std::string stage;

  auto operator<=>(const QueueName&) const = default;
};

// Of one connection. All members throw SqliteFailure.
class Names {
 public:
  explicit Names(Database& db) : db_(db) {}

  std::optional<std::int64_t> find_namespace(const std::string& name);
  std::optional<std::int64_t> find_home(std::int64_t ns_id, const std::string& queue);
  std::optional<std::int64_t> find_queue(std::int64_t ns_id, const std::string& queue, const std::string& stage);
  std::int64_t intern_namespace(const std::string& name);
  std::int64_t intern_home(std::int64_t ns_id, const std::string& queue);
  std::int64_t intern_queue(std::int64_t ns_id, const std::string& queue, const std::string& stage);
  const QueueName& queue_name(std::int64_t queue_id) { return row(queue_id).name; }
  std::int64_t home_of(std::int64_t queue_id) { return row(queue_id).home_id; }

  // After a rollback: a number given in it was not given.
  void forget();

 private:
  struct QueueRow {
    QueueName name;
    std::int64_t home_id;
  };
  const QueueRow& row(std::int64_t queue_id);

  Database& db_;
  std::map<std::string, std::int64_t> namespaces_;
  std::map<std::tuple<std::int64_t, std::string>, std::int64_t> homes_;
  std::map<std::tuple<std::int64_t, std::string, std::string>, std::int64_t> queues_;
  std::map<std::int64_t, QueueRow> queue_rows_;
};

}  // namespace fenceline::sqlite
