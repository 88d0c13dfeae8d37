// Where the sides of a bench work: each in a place that is new, beside the store that is measured, and gone afterwards.
// A place is a file of SQLite's in a folder of the bench's own, a schema of its own in a PostgreSQL database, or a
// prefix of its own on a Redis server.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "bench/scratch_folder.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::bench {

enum class StoreKind { sqlite, postgres, redis };
StoreKind kind_of(std::string_view url);

// A transaction elsewhere that holds back the horizon behind which dead rows can be removed, while it lives.
class HeldHorizon {
 public:
  virtual ~HeldHorizon() = default;

  struct Age {
    double seconds = 0;       // since its snapshot was taken
    double transactions = 0;  // that began since: age(backend_xmin)
  };
  // Errors: unavailable, also if it holds nothing back.
  virtual Result<Age> age() = 0;
};

// For one thread. Places that were not dropped are dropped with it.
class Places {
 public:
  virtual ~Places() = default;

  // A name that was not given out before.
  virtual std::string fresh(const std::string& stem) = 0;
  virtual void drop(const std::string& place) = 0;
  // All that were given out and not dropped yet.
  virtual void drop_all() = 0;
  // Of the store, or of the raw side, in that place.
  virtual std::string url_of(const std::string& place) const = 0;
  virtual StoreKind kind() const = 0;
  // Whether the work is done by a server, whose CPU time is not ours.
  bool has_server() const { return kind() != StoreKind::sqlite; }
  // Bytes that are free where places are made: on a disk, or in a server's memory. None if that cannot be known from
  // here.
  virtual std::optional<std::int64_t> free_room() = 0;
  // Lets what a load left to do for later be done before something is measured. Errors: held (stopped).
  virtual Result<void> settle(const std::string& place, std::stop_token stop) = 0;
  // Bytes of the server's memory that hold data, in all places and beside them. None: what it holds is on a disk.
  // Errors: unavailable.
  virtual Result<std::optional<std::int64_t>> memory_used() { return std::nullopt; }
  // Null: the store has no such horizon.
  virtual Result<std::unique_ptr<HeldHorizon>> hold_horizon() = 0;
};

// `folder` must outlive it.
std::unique_ptr<Places> sqlite_places(ScratchFolder& folder);
// Errors: unavailable (the server cannot be reached), refused (no schema may be made there).
Result<std::unique_ptr<Places>> postgres_places(const std::string& url);
// The runtime must outlive it. Errors: invalid (the URL, or its prefix is so long that no more fits behind it), and
// what the server says.
Result<std::unique_ptr<Places>> redis_places(Runtime& runtime, const std::string& url);

}  // namespace fenceline::bench
