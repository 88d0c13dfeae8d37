// Payloads and results as your own types, by nlohmann's to_json and from_json. Optional: nothing else of fenceline
// needs nlohmann's header, and this one needs it installed (nlohmann-json3-dev).
//
//   struct Mail {
//     std::string to, text;
//   };
//   NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Mail, to, text)
//
//   auto id = fenceline::enqueue(*client, "mail", Mail{.to = "ana", .text = "hello"});
//   auto report = client->work({.queues = {"mail"}}, fenceline::typed_handler<Mail>(
//       [](const fenceline::Run& run, const Mail& mail) { return fenceline::RunResult::done(send(mail)); }));
#pragma once

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "fenceline/fenceline.hpp"

namespace fenceline {

// As JSON text. Errors: invalid (to_json threw, or a string is not UTF-8).
template <class T>
Result<std::string> json_text(const T& value) {
  try {
    return nlohmann::json(value).dump();
  } catch (const std::exception& thrown) {
    return fail(Code::invalid, std::string("the value cannot be written as JSON: ") + thrown.what());
  }
}

// Back again: of a payload, or of a result that a handler returned as JSON. Errors: invalid (not JSON; not a T).
template <class T>
Result<T> from_json_text(std::string_view text) {
  try {
    return nlohmann::json::parse(text).template get<T>();
  } catch (const std::exception& thrown) {
    return fail(Code::invalid, std::string("the JSON cannot be read: ") + thrown.what());
  }
}

// Client::enqueue with a value for a payload. Errors: as there; invalid (see json_text).
template <class T>
Result<JobId> enqueue(Client& client, std::string_view queue, const T& value, const EnqueueOptions& options = {}) {
  const Result<std::string> payload = json_text(value);
  if (!payload) return std::unexpected(payload.error());
  return client.enqueue(queue, *payload, options);
}

// A handler whose function takes the run and the payload as a T. It returns a RunResult, or nothing (then the job is
// done), or any other value (then it is done, and the value as JSON is its result). A payload that is not a T makes the
// job dead, with the reason: no retry can help. Called from several threads at once, as every handler.
template <class T, class Function>
HandlerFunction typed_handler(Function function) {
  return [function = std::move(function)](const Run& run) -> RunResult {
    Result<T> payload = from_json_text<T>(run.job.payload);
    if (!payload) return RunResult::dead("payload: " + payload.error().message);
    using Returned = std::invoke_result_t<const Function&, const Run&, const T&>;
    if constexpr (std::is_same_v<Returned, RunResult>) {
      return function(run, *payload);
    } else if constexpr (std::is_void_v<Returned>) {
      function(run, *payload);
      return RunResult::done();
    } else {
      Result<std::string> result = json_text(function(run, *payload));
      if (!result) return RunResult::failed("result: " + result.error().message);
      return RunResult::done(std::move(*result));
    }
  };
}

}  // namespace fenceline
