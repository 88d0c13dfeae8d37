// How a call of the store becomes one transaction: on the writer's thread, on a reader, or in memory on its caller.
#pragma once

#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "backends/sqlite/store_parts.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {

// A connection, its locks and its threads belong to the process that opened it.
inline Result<void> check_process(pid_t opened_by) {
  if (::getpid() == opened_by) return {};
  return fail(Code::refused, "the store was opened before a fork; open it again in this process");
}

// How much a request adds to a commit.
struct Weight {
  std::size_t rows = 1;
  std::size_t bytes = 0;
};

template <class Reply, class Request>
using Verb = Result<Reply> (*)(Call&, const Request&);

// Whether the call is to be kept; then its last words are written.
template <class Reply>
bool kept(Call& call, const Result<Reply>& reply) {
  if (reply) write_depths(call);
  return reply.has_value();
}

// Everything of one writing call but its verb. The request is copied for the writer's thread: it may still be working
// on it when the caller, past its deadline, has gone.
template <class Parts, class Reply, class Request>
Result<Reply> write(Parts& parts, const Request& request, Weight weight, Duration timeout, Verb<Reply, Request> verb) {
  if (auto ok = check_process(parts.pid); !ok) return std::unexpected(ok.error());
  if (parts.direct) {
    std::optional<Result<Reply>> reply;
    const Result<void> ran =
        parts.direct->run([&](Call& call) { return kept(call, reply.emplace(verb(call, request))); });
    return ran ? std::move(*reply) : Result<Reply>(std::unexpected(ran.error()));
  }
  struct Shared {
    Request request;
    std::optional<Result<Reply>> reply;
  };
  const auto shared = std::make_shared<Shared>(Shared{request, std::nullopt});
  const Result<void> ran = parts.writer->run(weight.rows, weight.bytes, timeout, [shared, verb](Call& call) {
    return kept(call, shared->reply.emplace(verb(call, shared->request)));
  });
  return ran ? std::move(*shared->reply) : Result<Reply>(std::unexpected(ran.error()));
}

template <class Reply, class Parts>
Result<Reply> read(Parts& parts, const std::function<Result<Reply>(Call&)>& verb) {
  if (auto ok = check_process(parts.pid); !ok) return std::unexpected(ok.error());
  // Made where it stays: g++ 12 takes the end of a moved-from answer for a bug.
  std::unique_ptr<Result<Reply>> reply;
  const auto body = [&](Call& call) {
    reply.reset(new Result<Reply>(verb(call)));
    return reply->has_value();
  };
  Result<void> ran;
  if (parts.direct) {
    ran = parts.direct->run(body);
  } else if (const auto error = parts.writer->trouble()) {
    ran = std::unexpected(*error);
  } else {
    ran = parts.readers->run([&](Call& call) { body(call); });
  }
  return ran ? std::move(*reply) : Result<Reply>(std::unexpected(ran.error()));
}

}  // namespace fenceline::sqlite
