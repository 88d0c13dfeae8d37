// Payloads are checked without building them: a million levels of nesting must not cost a stack or a tree.
#include <nlohmann/json.hpp>

#include "model/job.hpp"

namespace fenceline {
namespace {

struct Checker : nlohmann::json_sax<nlohmann::json> {
  int depth = 0;
  bool too_deep = false;
  std::size_t bad_at = 0;

  bool deeper() {
    too_deep = ++depth > kPayloadDepthMax;
    return !too_deep;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return deeper(); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return --depth, true; }
  bool start_array(std::size_t) override { return deeper(); }
  bool end_array() override { return --depth, true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    bad_at = position;
    return false;
  }
};

}  // namespace

Result<void> check_payload(std::string_view payload) {
  if (payload.size() > kPayloadBytesMax)
    return fail(Code::invalid, "payload is too large (" + std::to_string(payload.size()) + " bytes); at most 1 MiB, keep big data elsewhere and send its address");
  Checker checker;
  // The parser takes a NUL for the end of the text and would not look at what follows.
  if (const std::size_t nul = payload.find('\0'); nul != std::string_view::npos)
    return fail(Code::invalid, "payload is not JSON in UTF-8 (NUL at byte " + std::to_string(nul + 1) + "); write \\u0000 in a string");
  if (nlohmann::json::sax_parse(payload.begin(), payload.end(), &checker)) return {};
  if (checker.too_deep) return fail(Code::invalid, "payload is nested too deeply; at most 128 levels");
  return fail(Code::invalid, "payload is not JSON in UTF-8 (at byte " + std::to_string(checker.bad_at) + "); quote a plain string: '\"text\"'");
}

}  // namespace fenceline
