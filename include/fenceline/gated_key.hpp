// A key of yours on a Redis server that only the newest holder may write: each write carries the fence of its lease,
// and one under an older fence than any before is refused, however late it comes.
//
//   auto server = fenceline::GatedKeys::connect("redis://cache.example");
//   const auto answer = (*server)->set({.key = "report", .fence = run.job.fence, .value = text});
//   if (!answer || !answer->accepted()) return fenceline::RunResult::failed("the report is stale");
//
// The value stays a plain string that everybody reads with GET. What the gate remembers is the key `KEY:fence` beside
// it, which stays when the value expires or is deleted; comparison and write are one script. docs/redis.md has that
// script for other languages. The server need not be the store's: a gate on another one outlives a store that forgot.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fenceline/fence.hpp"
#include "fenceline/gated_file.hpp"
#include "fenceline/result.hpp"
#include "fenceline/time.hpp"

namespace fenceline {

inline constexpr std::size_t kGatedKeyBytesMax = 1024;

// A lock whose lease lives on the same server and database: then its newest grant counts too, not only what came to
// this key.
struct GatedBy {
  std::string lock;
  std::string ns = "default";
};

struct GatedSet {
  std::string key;                                 // 1 to kGatedKeyBytesMax bytes
  Fence fence = 0;                                 // 1 to kFenceMax
  std::string_view value;                          // at most kGatedContentBytesMax
  std::optional<Duration> expires = std::nullopt;  // the value, not the memory: at least a millisecond
  std::optional<GatedBy> by = std::nullopt;
};

struct GatedRemoval {
  std::string key;
  Fence fence = 0;
  std::optional<GatedBy> by = std::nullopt;
};

// One connection to a server, for any number of keys. Safe to use from several threads; must not cross a fork.
class GatedKeys {
 public:
  // redis://, rediss:// or unix:, as a store's URL. Connects when it is first used; a call takes at most `timeout`.
  // Errors: invalid.
  static Result<std::unique_ptr<GatedKeys>> connect(const std::string& url,
                                                    Duration timeout = std::chrono::seconds{10});
  ~GatedKeys();
  GatedKeys(const GatedKeys&) = delete;
  GatedKeys& operator=(const GatedKeys&) = delete;

  // Equal to or larger than all before passes. A repeat under the same fence does it again. Errors: invalid (out of its
  // limits; the existing value is not a string, or not the memory of a gate), unavailable, in_doubt (it may have been
  // done: repeat it), full, denied, refused.
  Result<GateAnswer> set(const GatedSet& request);
  Result<GateAnswer> remove(const GatedRemoval& request);

  // The largest fence that was let through; empty if none was.
  Result<std::optional<Fence>> remembered(const std::string& key);

 private:
  struct Parts;
  explicit GatedKeys(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace fenceline
