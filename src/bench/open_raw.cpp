#include "bench/places.hpp"
#include "bench/raw_queue.hpp"

namespace fenceline::bench {

Result<std::unique_ptr<RawQueue>> open_raw(Runtime& runtime, const std::string& url, RawStyle style, bool full) {
  switch (kind_of(url)) {
    case StoreKind::postgres: return open_raw_postgres(url, style);
    case StoreKind::redis: return open_raw_redis(runtime, url, style);
    case StoreKind::sqlite: break;
  }
  return open_raw_sqlite(url.substr(url.find(':') + 1), style, full);
}

}  // namespace fenceline::bench
