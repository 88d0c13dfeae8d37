#include "backends/postgres/postgres_store.hpp"

#include <unistd.h>

#include "backends/postgres/lock_statements.hpp"
#include "backends/postgres/schema.hpp"
#include "backends/postgres/store_parts.hpp"

namespace fenceline {
namespace {

using namespace postgres;

Statement hot(const std::string& schema, const std::string& verb, int parameters) {
  std::string sql = "select * from \"" + schema + "\"." + verb + "(";
  for (int i = 1; i <= parameters; ++i) sql += (i > 1 ? ", $" : "$") + std::to_string(i);
  return Statement(sql + ")");
}

}  // namespace

PostgresStore::Parts::Parts(Runtime& runtime, Dsn dsn, const PostgresOptions& options)
    : pid(::getpid()),
      always_rescan(options.always_rescan),
      pool(runtime, dsn, options.test_clock),
      listener(runtime, dsn),
      enqueue(hot(dsn.schema, "enqueue_jobs", 11)),
      enqueue_plain(hot(dsn.schema, "enqueue_plain", 9)),
      claim(hot(dsn.schema, "claim_jobs", 13)),
      give_back(hot(dsn.schema, "give_back", 4)),
      extend(hot(dsn.schema, "extend_jobs", 5)),
      settle(hot(dsn.schema, "settle_jobs", 9)),
      lock_acquire(hot(dsn.schema, "acquire_locks", 13)),
      lock_renew(hot(dsn.schema, "renew_locks", 5)),
      lock_release(hot(dsn.schema, "release_locks", 4)),
      lock_withdraw(hot(dsn.schema, "withdraw_locks", 6)),
      step_ticks(hot(dsn.schema, "step_ticks", 25)),
      change_schedule(hot(dsn.schema, "change_schedule", 26)),
      list_pipelines(hot(dsn.schema, "list_pipelines", 1)),
      list_items(hot(dsn.schema, "list_items", 2)),
      change_items(hot(dsn.schema, "change_items", 19)),
      lock_acquire_one(acquire_one_lock(dsn.schema, options.test_clock != nullptr)),
      lock_release_one(release_one_lock(dsn.schema, options.test_clock != nullptr)) {}

Result<std::vector<json>> PostgresStore::Parts::call(const std::string& verb, const std::string& ns,
                                                     const json& request, CallKind kind, Duration timeout) {
  std::string text;
  try {
    text = request.dump();
  } catch (const json::exception&) {
    return fail(Code::invalid, "a text is not valid UTF-8, so this store cannot keep it");
  }
  const Result<Rows> rows = pool.run(hot(pool.dsn().schema, verb, 2), Params().text(ns).jsonb(text), kind, timeout);
  if (!rows) return std::unexpected(rows.error());
  return decoded(pool.dsn(), [&] {
    std::vector<json> values;
    for (int row = 0; row < rows->size(); ++row) {
      const std::string_view bytes = rows->bytes(row, 0);
      // A function without a value answers nothing; one number comes as such.
      if (bytes.empty()) values.emplace_back();
      else if (rows->type(0) == Type::int8) values.emplace_back(integer_of(bytes));
      else values.push_back(json::parse(jsonb_of(bytes)));
    }
    return values;
  });
}

Result<json> PostgresStore::Parts::call_one(const std::string& verb, const std::string& ns, const json& request,
                                            CallKind kind, Duration timeout) {
  Result<std::vector<json>> values = call(verb, ns, request, kind, timeout);
  if (!values) return std::unexpected(values.error());
  return values->empty() ? json() : std::move(values->front());
}

Result<std::unique_ptr<PostgresStore>> PostgresStore::open(Runtime& runtime, Log log, PostgresOptions options) {
  Result<Dsn> dsn = parse_dsn(options.url);
  if (!dsn) return std::unexpected(dsn.error());
  auto parts = std::make_unique<Parts>(runtime, std::move(*dsn), options);
  parts->pool.heed(options.stop);
  Result<StoreProfile> profile = profile_of(parts->pool, options.open_timeout);
  if (!profile) return std::unexpected(profile.error());
  parts->profile = std::move(*profile);
  const SchemaWish wish{options.may_create, options.mends, options.actor, options.open_timeout, options.set_up_timeout};
  if (auto ok = prepare_schema(parts->pool, log, wish); !ok) return std::unexpected(ok.error());
  return std::unique_ptr<PostgresStore>(new PostgresStore(std::move(parts)));
}

PostgresStore::PostgresStore(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

PostgresStore::~PostgresStore() {
  // After a fork nothing of this is the child's to close: its connections are the parent's.
  if (::getpid() != parts_->pid) static_cast<void>(parts_.release());
}

std::unique_ptr<Watch> PostgresStore::watch(const WatchRequest& request, std::function<void()> on_change) {
  return parts_->listener.watch(request, std::move(on_change));
}

}  // namespace fenceline
