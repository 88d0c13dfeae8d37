#include "backends/sqlite/past.hpp"

#include "backends/sqlite/varint.hpp"
#include "base/check.hpp"

namespace fenceline::sqlite {
namespace {

// 0: empty.
void add_maybe(std::string& out, const std::optional<std::int64_t>& number) {
  add_number(out, number ? *number + 1 : 0);
}

std::optional<std::int64_t> take_maybe(std::string_view& bytes) {
  const std::int64_t number = take_number(bytes);
  return number == 0 ? std::nullopt : std::optional(number - 1);
}

// What the state says of the last outcome, without a word in this column.
std::optional<std::int64_t> usual_outcome(JobState state) {
  return state == JobState::done ? std::optional(static_cast<std::int64_t>(OutcomeKind::done)) : std::nullopt;
}

// Whether nothing else says who had the job last.
bool keeps_owner(JobState state) { return state == JobState::ready || state == JobState::waiting; }

// The name beside the error: who had the job last, or before.
std::optional<std::string> name_of(const Delivery& d) {
  if (d.state == JobState::running) return d.previous_owner;
  return keeps_owner(d.state) && !d.owner.empty() ? std::optional(d.owner) : std::nullopt;
}

}  // namespace

std::string pack_past(const Delivery& d) {
  const bool counts = d.failures != 0 || d.losses != 0 || d.losses_in_row != 0 || d.laters != 0;
  if (!counts && d.last_outcome == usual_outcome(d.state) && !d.exit_status && d.error.empty() && !d.previous_owner &&
      (!keeps_owner(d.state) || d.owner.empty()))
    return {};
  const std::optional<std::string> name = name_of(d);
  std::string out;
  add_number(out, d.failures);
  add_number(out, d.losses);
  add_number(out, d.losses_in_row);
  add_number(out, d.laters);
  add_maybe(out, d.last_outcome);
  add_maybe(out, d.exit_status);
  add_maybe(out, name ? std::optional(static_cast<std::int64_t>(name->size())) : std::nullopt);
  if (name) out += *name;
  out += d.error;
  return out;
}

void unpack_past(std::string_view bytes, Delivery& d) {
  if (bytes.empty()) {
    d.last_outcome = usual_outcome(d.state);
    return;
  }
  d.failures = take_number(bytes);
  d.losses = take_number(bytes);
  d.losses_in_row = take_number(bytes);
  d.laters = take_number(bytes);
  d.last_outcome = take_maybe(bytes);
  d.exit_status = take_maybe(bytes);
  if (const auto size = take_maybe(bytes)) {
    check(bytes.size() >= static_cast<std::size_t>(*size), "what a job's earlier deliveries left behind is whole");
    const std::string_view name = bytes.substr(0, static_cast<std::size_t>(*size));
    bytes.remove_prefix(name.size());
    if (d.state == JobState::running) d.previous_owner = name;
    else d.owner = name;
  }
  d.error = bytes;
}

std::vector<std::string> pasts_of(const std::vector<Delivery>& deliveries) {
  std::vector<std::string> pasts;
  pasts.reserve(deliveries.size());
  for (const Delivery& delivery : deliveries) pasts.push_back(pack_past(delivery));
  return pasts;
}

void read_common(const Rows& row, Delivery& delivery, int first) {
  delivery.fence = row.integer(first);
  delivery.run_at = row.integer(first + 1);
  delivery.deliveries = row.integer(first + 2);
  unpack_past(row.bytes(first + 3), delivery);
}

}  // namespace fenceline::sqlite
