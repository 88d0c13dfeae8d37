// The store of an invocation: what the command line requires of it, and what it accepts.
#include "session/open_store.hpp"

#include <algorithm>
#include <filesystem>

#include "backends/trackers/open_tracker.hpp"
#include "cli/frame/command.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/open_within.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

Result<std::optional<GuaranteeClass>> required_class(const Invocation& invocation) {
  const std::optional<std::string> text = invocation.value("--require");
  if (!text) return std::nullopt;
  if (text->size() != 1 || *text < "A" || *text > "C")
    return std::unexpected(usage_error("--require '" + printable(*text, 40) + "' is not a class; use A, B or C"));
  return static_cast<GuaranteeClass>(text->front() - 'A');
}

Result<void> check_class(const std::optional<GuaranteeClass>& required, GuaranteeClass offered,
                         const std::string& url) {
  if (!required || offered <= *required) return {};
  return fail(Code::refused, std::string("class ") + letter(*required) + " is required and " + printable(url, 80) +
                                 " is class " + letter(offered) + "; use a safer store, or require less");
}

struct Accepted {
  bool shared_fs = false;
  bool no_sync = false;
  bool eviction = false;
};

Result<Accepted> accepted(const Invocation& invocation) {
  Accepted out;
  const auto given = invocation.options.find("--accept");
  if (given == invocation.options.end()) return out;
  for (const std::string& name : given->second) {
    if (name == "shared-fs") out.shared_fs = true;
    else if (name == "no-sync") out.no_sync = true;
    else if (name == "eviction") out.eviction = true;
    else if (name != "open-listen")  // about the served pages, not the store
      return std::unexpected(usage_error("--accept '" + printable(name, 40) +
                                         "' is unknown; use shared-fs, no-sync, eviction or open-listen"));
  }
  return out;
}

Result<std::unique_ptr<Store>> open_in_time(const Invocation& invocation, bool may_create, bool mends,
                                            Duration timeout) {
  const std::string& store_url = invocation.store_url;
  const Result<std::optional<GuaranteeClass>> required = required_class(invocation);
  if (!required) return std::unexpected(required.error());
  const Result<Accepted> unsafe = accepted(invocation);
  if (!unsafe) return std::unexpected(unsafe.error());
  if (is_tracker_url(store_url))
    return std::unexpected(
        usage_error("an issue tracker stores only the items of a pipeline; use work, board, stage or tracker with it, "
                    "see docs/trackers.md"));
  if (auto ok = check_store_url(store_url); !ok) return std::unexpected(usage_error(ok.error().message));

  // Before the file is opened, so that a refusal leaves none behind; after it, for what only the store knows.
  // What a server promises only it can say.
  const std::string shown = shown_store_url(store_url);
  const GuaranteeClass expected = unsafe->no_sync ? GuaranteeClass::c : GuaranteeClass::b;
  const bool known = !is_on_a_server(store_url);
  if (auto ok = known ? check_class(*required, expected, shown) : Result<void>{}; !ok)
    return std::unexpected(ok.error());
  Result<std::unique_ptr<Store>> store = fenceline::open_store(*invocation.runtime, Log(*invocation.log_sink),
                                                               {.url = store_url,
                                                                .may_create = may_create,
                                                                .mends = mends,
                                                                .accept_shared_fs = unsafe->shared_fs,
                                                                .accept_no_sync = unsafe->no_sync,
                                                                .accept_eviction = unsafe->eviction,
                                                                .actor = login_name(),
                                                                .timeout = timeout,
                                                                .stop = invocation.stop});
  if (!store) return std::unexpected(store.error());
  if (auto ok = check_class(*required, (*store)->profile().guarantee, shown); !ok) return std::unexpected(ok.error());
  return store;
}

}  // namespace

Result<std::unique_ptr<Store>> open_or_make_in_time(const Invocation& invocation, Duration timeout) {
  const std::string& store_url = invocation.store_url;
  if (is_on_a_server(store_url)) {
    Result<std::unique_ptr<Store>> there = open_in_time(invocation, false, false, timeout);
    if (there || there.error().code != Code::not_found) return there;
    Result<std::unique_ptr<Store>> made = open_in_time(invocation, true, false, timeout);  // or it says why it may not
    if (made) tell("fenceline: created a new store: " + printable((*made)->profile().url));
    return made;
  }
  const std::filesystem::path path = store_url.substr(std::min(store_url.size(), store_url.find(':') + 1));
  std::error_code unknown;
  const bool was_there = std::filesystem::exists(path, unknown);
  Result<std::unique_ptr<Store>> store = open_in_time(invocation, true, false, timeout);
  if (store && !was_there)
    tell("fenceline: created a new store: " + printable(std::filesystem::absolute(path, unknown).string()));
  return store;
}

Result<Session> Invocation::open_store(bool may_create, bool mends) {
  Result<std::unique_ptr<Store>> store = open_in_time(*this, may_create, mends, kCallTimeout);
  if (!store) return std::unexpected(store.error());
  return session_over(std::move(*store));
}

Result<Session> Invocation::open_or_make_store(SessionOptions wanted) {
  Result<std::unique_ptr<Store>> store = open_or_make_in_time(*this, kCallTimeout);
  if (!store) return std::unexpected(store.error());
  return session_over(std::move(*store), std::move(wanted));
}

Result<Session> Invocation::session_over(std::unique_ptr<Store> store, SessionOptions wanted) const {
  wanted.ns = ns;
  wanted.history = value("--history").value_or("");
  return Session::over(*runtime, *log_sink, std::move(store), std::move(wanted));
}

}  // namespace fenceline::cli
