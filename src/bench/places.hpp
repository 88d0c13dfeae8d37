// Where the sides of a bench work: each in a place that is new, beside the store that is measured, and gone afterwards. A place is a
// file of SQLite's in a folder of the bench's own, or a schema of its own in a PostgreSQL database.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.hpp"
#include "bench/scratch_folder.hpp"

namespace fenceline::bench {

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

// One thread uses it. What was not dropped goes with it.
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
  // Whether the work is done by a server, whose CPU time is not ours.
  virtual bool has_server() const = 0;
  // Bytes that are free where places are made; none if that cannot be known from here.
  virtual std::optional<std::int64_t> free_room() = 0;
  // Lets what a load left to do for later be done before something is measured. Errors: held (stopped).
  virtual Result<void> settle(const std::string& place, std::stop_token stop) = 0;
  // Null: the store has no such horizon.
  virtual Result<std::unique_ptr<HeldHorizon>> hold_horizon() = 0;
};

// `folder` must outlive it.
std::unique_ptr<Places> sqlite_places(ScratchFolder& folder);
// Errors: unavailable (the server cannot be reached), refused (no schema may be made there).
Result<std::unique_ptr<Places>> postgres_places(const std::string& url);

}  // namespace fenceline::bench
