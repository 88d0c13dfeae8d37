#include "backends/sqlite/extras.hpp"

#include <cstdint>
#include <cstring>

#include "base/check.hpp"

namespace fenceline::sqlite {
namespace {

// Each field is its number, its length and its bytes; what has its default is left out. Numbers are never reused.
enum class Field : unsigned char {
  key = 1,
  key_for,
  group,
  limit_key,
  timeout,
  backoff_first,
  backoff_most,
  tag,
  traceparent
};

void add_field(std::string& out, Field field, std::string_view bytes) {
  const auto size = static_cast<std::uint16_t>(bytes.size());
  check(size == bytes.size(), "a field of a job's extras is short");
  out += static_cast<char>(field);
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  out += bytes;
}

void add_text(std::string& out, Field field, std::string_view text) {
  if (!text.empty()) add_field(out, field, text);
}

void add_duration(std::string& out, Field field, Duration value, Duration usual) {
  const std::int64_t count = value.count();
  if (value != usual) add_field(out, field, {reinterpret_cast<const char*>(&count), sizeof(count)});
}

Duration as_duration(std::string_view bytes) {
  std::int64_t count = 0;
  check(bytes.size() == sizeof(count), "a duration in a job's extras has eight bytes");
  std::memcpy(&count, bytes.data(), sizeof(count));
  return Duration{count};
}

}  // namespace

std::string pack_extras(const NewJob& job) {
  const Backoff usual;
  std::string out;
  add_text(out, Field::key, job.key);
  add_duration(out, Field::key_for, job.key_for, Duration{0});
  add_text(out, Field::group, job.group);
  add_text(out, Field::limit_key, job.limit_key);
  add_duration(out, Field::timeout, job.timeout, Duration{0});
  add_duration(out, Field::backoff_first, job.backoff.first, usual.first);
  add_duration(out, Field::backoff_most, job.backoff.most, usual.most);
  for (const std::string& tag : job.tags) add_text(out, Field::tag, tag);
  add_text(out, Field::traceparent, job.traceparent);
  return out;
}

void unpack_extras(std::string_view bytes, Job& job) {
  while (!bytes.empty()) {
    std::uint16_t size = 0;
    constexpr std::size_t kOpening = 1 + sizeof(size);
    check(bytes.size() >= kOpening, "a job's extras are whole");
    const auto field = static_cast<Field>(bytes.front());
    std::memcpy(&size, bytes.data() + 1, sizeof(size));
    check(bytes.size() >= kOpening + size, "a job's extras are whole");
    const std::string_view value = bytes.substr(kOpening, size);
    bytes.remove_prefix(kOpening + size);
    switch (field) {
      case Field::key: job.key = value; break;
      case Field::key_for: job.key_for = as_duration(value); break;
      case Field::group: job.group = value; break;
      case Field::limit_key: job.limit_key = value; break;
      case Field::timeout: job.timeout = as_duration(value); break;
      case Field::backoff_first: job.backoff.first = as_duration(value); break;
      case Field::backoff_most: job.backoff.most = as_duration(value); break;
      case Field::tag: job.tags.emplace_back(value); break;
      case Field::traceparent: job.traceparent = value; break;
    }
  }
}

}  // namespace fenceline::sqlite
