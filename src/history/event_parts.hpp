// Parts of events that the files of the store's verbs share.
#pragma once

#include <string>

#include "history/history_store.hpp"

namespace fenceline::history {

// What an answer says by itself; what it brings comes on top.
template <class Reply>
Event as_event(const Result<Reply>& reply) {
  if (reply) return {.kind = Kind::ok};
  return {.kind = kind_of(reply.error()), .code = std::string(to_string(reply.error().code))};
}

// A job as an enqueue carries it.
JobPart part(const NewJob& job);

}  // namespace fenceline::history
