#include "backends/sqlite/names.hpp"

#include "base/check.hpp"

namespace fenceline::sqlite {

std::optional<std::int64_t> Names::find_namespace(const std::string& name) {
  if (const auto known = namespaces_.find(name); known != namespaces_.end()) return known->second;
  const auto id = db_.number("SELECT id FROM namespace WHERE name = ?1", name);
  if (id) namespaces_[name] = *id;
  return id;
}

std::optional<std::int64_t> Names::find_queue(std::int64_t ns_id, const std::string& queue, const std::string& stage) {
  const std::tuple key{ns_id, queue, stage};
  if (const auto known = queues_.find(key); known != queues_.end()) return known->second;
  const auto id = db_.number("SELECT id FROM queue WHERE ns_id = ?1 AND name = ?2 AND stage = ?3", ns_id, queue, stage);
  if (id) queues_[key] = *id;
  return id;
}

std::int64_t Names::intern_namespace(const std::string& name) {
  if (const auto known = find_namespace(name)) return *known;
  db_.execute("INSERT INTO namespace (name) VALUES (?1)", name);
  return namespaces_[name] = db_.last_insert_rowid();
}

std::optional<std::int64_t> Names::find_home(std::int64_t ns_id, const std::string& queue) {
  const std::tuple key{ns_id, queue};
  if (const auto known = homes_.find(key); known != homes_.end()) return known->second;
  const auto id = db_.number("SELECT id FROM home WHERE ns_id = ?1 AND name = ?2", ns_id, queue);
  if (id) homes_[key] = *id;
  return id;
}

std::int64_t Names::intern_home(std::int64_t ns_id, const std::string& queue) {
  if (const auto known = find_home(ns_id, queue)) return *known;
  db_.execute("INSERT INTO home (ns_id, name) VALUES (?1, ?2)", ns_id, queue);
  return homes_[{ns_id, queue}] = db_.last_insert_rowid();
}

std::int64_t Names::intern_queue(std::int64_t ns_id, const std::string& queue, const std::string& stage) {
  if (const auto known = find_queue(ns_id, queue, stage)) return *known;
  const std::int64_t home_id = intern_home(ns_id, queue);
  db_.execute("INSERT INTO queue (ns_id, home_id, name, stage) VALUES (?1, ?2, ?3, ?4)", ns_id, home_id, queue, stage);
  return queues_[{ns_id, queue, stage}] = db_.last_insert_rowid();
}

const Names::QueueRow& Names::row(std::int64_t queue_id) {
  if (const auto known = queue_rows_.find(queue_id); known != queue_rows_.end()) return known->second;
  auto rows = db_.query(
      "SELECT n.name, q.name, q.stage, q.home_id FROM queue q JOIN namespace n ON n.id = q.ns_id WHERE q.id = ?1",
      queue_id);
  check(rows.next(), "a job names a queue that has a row");
  return queue_rows_[queue_id] = {{rows.text(0), rows.text(1), rows.text(2)}, rows.integer(3)};
}

void Names::forget() {
  namespaces_.clear();
  homes_.clear();
  queues_.clear();
  queue_rows_.clear();
}

}  // namespace fenceline::sqlite
