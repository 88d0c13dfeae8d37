// What a store's own library does when nothing is promised: the plainest table that can be enqueued to and drained, at
// the same durability. A bench runs it beside us, in the same run; a ratio to it is how little the promises cost.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::bench {

// There are two raw sides; which is the harder one to match depends on the store.
enum class RawStyle {
  // SQLite: one prepared statement, run once for each row. PostgreSQL: a table as wide as ours, with a uuid for its
  // key. Redis: a list, of
  // which a script puts one after the other into a hash, and another one takes them from there, one after the other.
  row_by_row,
  // SQLite: one statement for the batch, which it reads from a table that shows it. PostgreSQL: a number and a flag, no
  // payload. Redis: all of
  // them are put into the hash and removed from it by one command each.
  set_based,
};

// One thread uses it. Errors of all calls: unavailable, with what the library said.
class RawQueue {
 public:
  virtual ~RawQueue() = default;
  // Each payload a row, all in one commit.
  virtual Result<void> enqueue(const std::vector<std::string>& payloads) = 0;
  // Marks up to `most` waiting rows as taken in one commit, reads their payloads if it has any, and removes them in a
  // second one. Returns how many there were.
  virtual Result<std::int64_t> take_and_finish(std::int64_t most) = 0;
};

// A SQLite file with one table of two columns (state, payload): WAL, synchronous=FULL (or NORMAL if not `full`), the
// library's own checkpoints. Made if it is not there; several processes may open it. Errors: unavailable.
Result<std::unique_ptr<RawQueue>> open_raw_sqlite(const std::string& path, RawStyle style, bool full);

// A table `raw_queue` in the schema that the URL names (made if it is not there) of a PostgreSQL database: COPY for a
// batch, the server's own durability. Errors: unavailable.
Result<std::unique_ptr<RawQueue>> open_raw_postgres(const std::string& url, RawStyle style);

// A list and a hash under the prefix that the URL of a Redis server names. Errors: invalid, unavailable.
Result<std::unique_ptr<RawQueue>> open_raw_redis(Runtime& runtime, const std::string& url, RawStyle style);

// One of these, by the kind of the URL. The runtime must outlive it.
Result<std::unique_ptr<RawQueue>> open_raw(Runtime& runtime, const std::string& url, RawStyle style, bool full);

}  // namespace fenceline::bench
