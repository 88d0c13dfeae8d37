// What may be a payload, and when two are the same.
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "model/job.hpp"
#include "model/json_check.hpp"

namespace fenceline {
namespace {

// A number as its digits without zeros at either end, and the power of ten that they are multiplied by. Exact however
// long it is: a double would take two large numbers for one.
std::string one_spelling(std::string_view number) {
  const std::size_t e = number.find_first_of("eE");
  const std::string_view mantissa = number.substr(0, e);
  std::string power(e == std::string_view::npos ? "0" : number.substr(e + 1));
  if (power.front() == '+') power.erase(0, 1);
  constexpr std::size_t kPowerMost = 18;  // longer ones do not fit an integer, and are compared as they are spelled
  if (power.size() > kPowerMost) return std::string(number);
  std::int64_t exponent = std::stoll(power);
  std::string digits;
  bool fraction = false;
  for (const char c : mantissa) {
    if (c == '.') fraction = true;
    if (c < '0' || c > '9') continue;
    digits += c;
    if (fraction) --exponent;
  }
  digits.erase(0, digits.find_first_not_of('0'));
  for (; !digits.empty() && digits.back() == '0'; ++exponent) digits.pop_back();
  if (digits.empty()) return "0";
  return (mantissa.front() == '-' ? "-" : "") + digits + "e" + std::to_string(exponent);
}

// Writes a text of the value in which only the value counts: members in order, the last of two of one name, numbers and
// strings spelled in one way.
struct Canon : nlohmann::json_sax<nlohmann::json> {
  struct Open {
    bool is_object = false;
    std::string name;  // of the member at hand
    std::map<std::string, std::string> members;
    std::string elements;
  };
  std::vector<Open> open;
  std::string text;

  bool put(std::string value) {
    if (open.empty()) text = std::move(value);
    else if (open.back().is_object) open.back().members[open.back().name] = std::move(value);
    else open.back().elements += value + ",";
    return true;
  }
  static std::string quoted(const std::string& string) { return nlohmann::json(string).dump(); }

  bool null() override { return put("null"); }
  bool boolean(bool value) override { return put(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return put(one_spelling(std::to_string(value))); }
  bool number_unsigned(number_unsigned_t value) override { return put(one_spelling(std::to_string(value))); }
  bool number_float(number_float_t, const string_t& spelled) override { return put(one_spelling(spelled)); }
  bool string(string_t& value) override { return put(quoted(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open.push_back({.is_object = true}), true; }
  bool key(string_t& name) override { return open.back().name = quoted(name), true; }
  bool end_object() override {
    std::string value = "{";
    for (const auto& [name, member] : open.back().members) value += name + ":" + member + ",";
    open.pop_back();
    return put(value + "}");
  }
  bool start_array(std::size_t) override { return open.push_back({}), true; }
  bool end_array() override {
    std::string value = "[" + open.back().elements + "]";
    open.pop_back();
    return put(std::move(value));
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }
};

// Empty if the reader does not take it: then it equals nothing but itself.
std::optional<std::string> canonical(std::string_view payload) {
  Canon canon;
  if (!nlohmann::json::sax_parse(payload.begin(), payload.end(), &canon)) return std::nullopt;
  return std::move(canon.text);
}

}  // namespace

bool same_json(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const std::optional<std::string> canon = canonical(a);
  return canon && canon == canonical(b);
}

std::string json_digest(std::string_view payload) {
  return bytes_digest(canonical(payload).value_or(std::string(payload)));
}

std::string bytes_digest(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[hash >> shift & 15];
  return digits;
}

Result<void> check_payload(std::string_view payload) {
  if (payload.size() > kPayloadBytesMax)
    return fail(Code::invalid, "payload is too large (" + std::to_string(payload.size()) +
                                   " bytes); at most 1 MiB: keep large data elsewhere and send its address");
  const JsonCheck checked = check_json(payload, kPayloadDepthMax);
  switch (checked.verdict) {
    case JsonVerdict::good: return {};
    case JsonVerdict::too_deep: return fail(Code::invalid, "payload is nested too deeply; at most 128 levels");
    case JsonVerdict::number_too_large:
      return fail(Code::invalid, "payload has a number that is too large for a double (ends at byte " +
                                     std::to_string(checked.at - 1) + "; at most about 1.8e308); send it as a string");
    case JsonVerdict::half_of_a_pair:
      return fail(Code::invalid, "payload has half of a surrogate pair (at byte " + std::to_string(checked.at) +
                                     "); a \\ud800 to \\udbff must be followed by a \\udc00 to \\udfff");
    case JsonVerdict::bad: break;
  }
  return fail(Code::invalid, "payload is not JSON in UTF-8 (at byte " + std::to_string(checked.at) +
                                 "); quote a plain string: '\"text\"'");
}

}  // namespace fenceline
