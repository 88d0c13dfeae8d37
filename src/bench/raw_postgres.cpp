// The raw side on PostgreSQL, straight on libpq: prepared statements, parameters in binary, COPY for a batch. Two
// commits for what is claimed and finished, as whoever wants to survive a crash needs. One connection.
#include <arpa/inet.h>
#include <libpq-fe.h>

#include <array>
#include <bit>
#include <memory>
#include <string_view>

#include "bench/postgres_answer.hpp"
#include "bench/postgres_url.hpp"
#include "bench/raw_queue.hpp"

namespace fenceline::bench {
namespace {

constexpr unsigned kUuid = 2950;
constexpr unsigned kBigint = 20;
constexpr unsigned kText = 25;
constexpr unsigned kInt = 23;
constexpr int kBinary = 1;

// As wide as a job that waits: its key, what orders it, what a claim writes, its payload.
constexpr const char* kWideTable =
    "create table if not exists raw_queue (seq bigint not null, id uuid primary key, ns_id int not null, queue_id int "
    "not null, run_at bigint not null, "
    "rank smallint not null, blocked smallint not null, fence bigint not null, deliveries bigint not null, lease_end "
    "bigint, started_at bigint, claim_id bigint, "
    "owner_id bigint, attempts_max int not null, created_at bigint not null, payload text not null)";
constexpr const char* kWideInsert =
    "insert into raw_queue (seq, id, ns_id, queue_id, run_at, rank, blocked, fence, deliveries, attempts_max, "
    "created_at, payload) "
    "values ($1, $2, 1, 1, $1, 0, 0, 0, 0, 10, $1, $3)";
constexpr const char* kWideCopy =
    "copy raw_queue (seq, id, ns_id, queue_id, run_at, rank, blocked, fence, deliveries, attempts_max, created_at, "
    "payload) from stdin (format binary)";
constexpr const char* kWideTake =
    "update raw_queue set lease_end = 1, owner_id = 1 where id = any(array(select id from raw_queue where lease_end is "
    "null order by id limit $1 "
    "for update skip locked)) returning id, payload";
constexpr const char* kWideRemove = "delete from raw_queue where id = any($1)";

// The least that can be claimed at all.
constexpr const char* kNarrowTable =
    "create table if not exists raw_queue (id bigint primary key, taken boolean not null)";
constexpr const char* kNarrowInsert = "insert into raw_queue (id, taken) values ($1, false)";
constexpr const char* kNarrowCopy = "copy raw_queue (id, taken) from stdin (format binary)";
constexpr const char* kNarrowTake =
    "update raw_queue set taken = true where id = any(array(select id from raw_queue where not taken order by id limit "
    "$1 for update skip locked)) returning id";
constexpr const char* kNarrowRemove = "delete from raw_queue where id = any($1)";

template <typename Integer>
void put(std::string& to, Integer value) {
  for (int shift = static_cast<int>(sizeof value) * 8 - 8; shift >= 0; shift -= 8)
    to += static_cast<char>((value >> shift) & 0xff);
}
template <typename Integer>
void put_field(std::string& to, Integer value) {
  put(to, static_cast<std::int32_t>(sizeof value));
  put(to, value);
}
void put_field(std::string& to, std::string_view bytes) {
  put(to, static_cast<std::int32_t>(bytes.size()));
  to += bytes;
}

std::string integer(std::int64_t value) {
  std::string bytes;
  put(bytes, value);
  return bytes;
}

// Ascending, as the ids of jobs are.
std::string key(std::int64_t number) { return integer(number) + std::string(8, '\1'); }

// The whole of an array whose elements are there already, each with its length.
std::string array_of(unsigned type, std::size_t count, std::string_view elements) {
  std::string bytes;
  for (const std::int32_t word : {1, 0, static_cast<std::int32_t>(type), static_cast<std::int32_t>(count), 1})
    put(bytes, word);
  bytes += elements;
  return bytes;
}

class RawPostgres final : public RawQueue {
 public:
  explicit RawPostgres(RawStyle style) : wide_(style == RawStyle::row_by_row) {}
  ~RawPostgres() override { PQfinish(connection_); }

  Result<void> open(const std::string& url) {
    connection_ = PQconnectdb(libpq_url(url).c_str());
    if (PQstatus(connection_) != CONNECTION_OK) return problem();
    const std::string schema = parameter_of(url, "schema");
    if (!schema.empty() && !run(("set client_min_messages = warning; create schema if not exists \"" + schema +
                                 "\"; set search_path = \"" + schema + "\"")
                                    .c_str()))
      return problem();
    if (!run(wide_ ? kWideTable : kNarrowTable)) return problem();
    const bool prepared = wide_ ? prepare("insert", kWideInsert, {kBigint, kUuid, kText}) &&
                                      prepare("take", kWideTake, {kInt}) && prepare("remove", kWideRemove, {})
                                : prepare("insert", kNarrowInsert, {kBigint}) && prepare("take", kNarrowTake, {kInt}) &&
                                      prepare("remove", kNarrowRemove, {});
    return prepared ? Result<void>() : problem();
  }

  Result<void> enqueue(const std::vector<std::string>& payloads) override {
    if (payloads.size() == 1) return enqueue_one(payloads.front());
    if (const Answer begun(PQexec(connection_, wide_ ? kWideCopy : kNarrowCopy));
        PQresultStatus(begun.get()) != PGRES_COPY_IN)
      return problem();
    std::string bytes("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
    for (const std::string& payload : payloads) put_row(bytes, payload);
    put(bytes, std::int16_t{-1});
    if (PQputCopyData(connection_, bytes.data(), static_cast<int>(bytes.size())) != 1 ||
        PQputCopyEnd(connection_, nullptr) != 1)
      return problem();
    bool good = true;
    while (const Answer answer{PQgetResult(connection_)})
      good = good && PQresultStatus(answer.get()) == PGRES_COMMAND_OK;
    return good ? Result<void>() : problem();
  }

  Result<std::int64_t> take_and_finish(std::int64_t most) override {
    std::string limit;
    put(limit, static_cast<std::int32_t>(most));
    const Answer taken = execute("take", {limit}, PGRES_TUPLES_OK);
    if (!taken) return std::unexpected(problem().error());
    const int rows = PQntuples(taken.get());
    if (rows == 0) return 0;
    std::string ids;
    payloads_.clear();
    for (int row = 0; row < rows; ++row) {
      put_field(ids, std::string_view(PQgetvalue(taken.get(), row, 0),
                                      static_cast<std::size_t>(PQgetlength(taken.get(), row, 0))));
      if (wide_)
        payloads_.emplace_back(PQgetvalue(taken.get(), row, 1),
                               static_cast<std::size_t>(PQgetlength(taken.get(), row, 1)));
    }
    if (!execute("remove", {array_of(wide_ ? kUuid : kBigint, static_cast<std::size_t>(rows), ids)}, PGRES_COMMAND_OK))
      return std::unexpected(problem().error());
    return rows;
  }

 private:
  Result<void> enqueue_one(const std::string& payload) {
    const std::int64_t number = ++last_;
    const bool done = wide_ ? execute("insert", {integer(number), key(number), payload}, PGRES_COMMAND_OK) != nullptr
                            : execute("insert", {integer(number)}, PGRES_COMMAND_OK) != nullptr;
    return done ? Result<void>() : problem();
  }

  void put_row(std::string& bytes, const std::string& payload) {
    const std::int64_t number = ++last_;
    put(bytes, std::int16_t(wide_ ? 12 : 2));
    put_field(bytes, number);
    if (!wide_) return put_field(bytes, std::string_view("\0", 1));
    put_field(bytes, std::string_view(key(number)));
    for (const std::int32_t small : {1, 1}) put_field(bytes, small);
    put_field(bytes, number);
    for (const std::int16_t small : {std::int16_t{0}, std::int16_t{0}}) put_field(bytes, small);
    for (const std::int64_t zero : {std::int64_t{0}, std::int64_t{0}}) put_field(bytes, zero);
    put_field(bytes, std::int32_t{10});
    put_field(bytes, number);
    put_field(bytes, std::string_view(payload));
  }

  bool run(const char* sql) {
    const Answer answer(PQexec(connection_, sql));
    return PQresultStatus(answer.get()) == PGRES_COMMAND_OK;
  }
  bool prepare(const char* name, const char* sql, std::vector<unsigned> types) {
    const Answer answer(PQprepare(connection_, name, sql, static_cast<int>(types.size()), types.data()));
    return PQresultStatus(answer.get()) == PGRES_COMMAND_OK;
  }
  // Null if it failed.
  Answer execute(const char* name, const std::vector<std::string>& parameters, ExecStatusType wanted) {
    std::array<const char*, 3> values{};
    std::array<int, 3> lengths{};
    std::array<int, 3> formats{};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      values[i] = parameters[i].data();
      lengths[i] = static_cast<int>(parameters[i].size());
      formats[i] = kBinary;
    }
    Answer answer(PQexecPrepared(connection_, name, static_cast<int>(parameters.size()), values.data(), lengths.data(),
                                 formats.data(), kBinary));
    if (PQresultStatus(answer.get()) != wanted) answer.reset();
    return answer;
  }
  Result<void> problem() const {
    return fail(Code::unavailable, std::string("the raw side of the bench failed: ") + PQerrorMessage(connection_));
  }

  const bool wide_;
  PGconn* connection_ = nullptr;
  std::int64_t last_ = 0;
  std::vector<std::string> payloads_;
};

}  // namespace

Result<std::unique_ptr<RawQueue>> open_raw_postgres(const std::string& url, RawStyle style) {
  auto queue = std::make_unique<RawPostgres>(style);
  if (auto ok = queue->open(url); !ok) return std::unexpected(ok.error());
  return std::unique_ptr<RawQueue>(std::move(queue));
}

}  // namespace fenceline::bench
