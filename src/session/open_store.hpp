// From a URL to a store. The one place that knows which backends there are.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "base/result.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline {

struct OpenOptions {
  std::string url;  // sqlite:PATH, postgres://USER@HOST:PORT/DATABASE?schema=NAME, or redis://, rediss:// and unix: as
                    // in redis_address.hpp
  bool may_create = true;  // set up a missing or empty store
  bool mends = false;      // put back what can be put back of a damaged one
  bool accept_shared_fs = false;
  bool accept_no_sync = false;      // acknowledge before the disk has it: class C
  bool accept_eviction = false;     // a Redis server that may throw away what it was told to keep
  std::string actor;                // for the trail
  Duration timeout = kCallTimeout;  // how long a server may take to answer
  std::stop_token stop = {};        // ends the wait for a server that does not answer: held
};

// Whether it is a URL of a store that is known. Errors: invalid, with what there is.
Result<void> check_store_url(std::string_view url);

// Whether it is one that processes of several machines share.
bool is_on_a_server(std::string_view url);

// As people may see it: without a password.
std::string shown_store_url(const std::string& url);

// The same, with what decides how it is used.
std::string store_url_in_force(const std::string& url);

// The same store for a process that works in another folder.
std::string from_any_folder(const std::string& url);

// Errors: invalid (not a URL that is known: the message lists them), and what opening that store says. The
// runtime and the log's sink must outlive the store.
Result<std::unique_ptr<Store>> open_store(Runtime& runtime, Log log, const OpenOptions& options);

}  // namespace fenceline
