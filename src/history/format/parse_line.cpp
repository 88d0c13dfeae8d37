// A line back into an event. Reads in one pass: nothing of the line is kept but what its fields hold.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

#include "history/format/fields.hpp"

namespace fenceline::history {
namespace {

template <class Owner>
const Field<Owner>* find_field(const std::vector<Field<Owner>>& fields, std::string_view name) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const Field<Owner>& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return out;
}

// Where the reader stands: in the event, in a list of texts, in a list of jobs, in a job.
struct LineSax : nlohmann::json_sax<nlohmann::json> {
  enum class At { outside, event, texts, jobs, job, done };

  Event event;
  bool has_kind = false;
  std::string complaint;
  At at = At::outside;
  std::string name;  // of the field at hand
  const Field<Event>* field = nullptr;
  const Field<JobPart>* job_field = nullptr;
  std::vector<std::string_view> seen;
  std::vector<std::string_view> seen_of_job;
  std::vector<JobPart>* list = nullptr;
  std::vector<std::string>* texts = nullptr;

  bool no(std::string why) {
    if (complaint.empty()) complaint = std::move(why);
    return false;
  }
  bool wrong_type() { return no("field '" + shown(name) + "' has a value of the wrong type"); }

  template <class Value>
  bool put(Value value) {
    if (at == At::outside) return no("it is not a JSON object");
    if (at == At::texts) {
      if constexpr (std::is_same_v<Value, std::string>) {
        texts->push_back(std::move(value));
        return true;
      }
      return wrong_type();
    }
    if (at == At::jobs) return wrong_type();
    if (at == At::job) return put_into(list->back(), *job_field, std::move(value));
    if (field != nullptr) return put_into(event, *field, std::move(value));
    if constexpr (std::is_same_v<Value, std::string>) return name == "e" ? put_kind(value) : put_verb(value);
    return wrong_type();
  }

  template <class Owner, class Value>
  bool put_into(Owner& owner, const Field<Owner>& where, Value value) {
    if constexpr (std::is_same_v<Value, std::int64_t>) {
      if (const auto* optional = std::get_if<std::optional<std::int64_t> Owner::*>(&where.where))
        return (owner.**optional = value, true);
    }
    const auto* member = std::get_if<Value Owner::*>(&where.where);
    if (member == nullptr) return wrong_type();
    owner.** member = std::move(value);
    return true;
  }

  bool put_kind(std::string_view text) {
    for (int i = 0; i <= static_cast<int>(Kind::crash); ++i) {
      if (text != to_string(static_cast<Kind>(i))) continue;
      event.kind = static_cast<Kind>(i);
      has_kind = true;
      return true;
    }
    return no("there is no kind of event '" + shown(text) + "'");
  }

  bool put_verb(std::string_view text) {
    for (int i = 1; i <= static_cast<int>(kVerbLast); ++i) {
      if (text != to_string(static_cast<Verb>(i))) continue;
      event.verb = static_cast<Verb>(i);
      return true;
    }
    return no("there is no verb '" + shown(text) + "'");
  }

  bool null() override { return wrong_type(); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(static_cast<std::int64_t>(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return no("field '" + shown(name) + "' is too large");
    return put(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t, const string_t&) override {
    return no("field '" + shown(name) + "' is not a whole number, or is too large");
  }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    if (at == At::outside) return (at = At::event, true);
    if (at != At::jobs) return wrong_type();
    list->emplace_back();
    seen_of_job.clear();
    at = At::job;
    return true;
  }
  bool end_object() override {
    if (at == At::job && list->back().id.empty()) return no("a job, lock, tick or stage has no id");
    at = at == At::job ? At::jobs : At::done;
    return true;
  }
  bool start_array(std::size_t) override {
    if (at != At::event || field == nullptr) return at == At::outside ? no("it is not a JSON object") : wrong_type();
    if (const auto* jobs = std::get_if<std::vector<JobPart> Event::*>(&field->where)) {
      list = &(event.**jobs);
      at = At::jobs;
      return true;
    }
    const auto* strings = std::get_if<std::vector<std::string> Event::*>(&field->where);
    if (strings == nullptr) return wrong_type();
    texts = &(event.**strings);
    at = At::texts;
    return true;
  }
  bool end_array() override { return (at = At::event, true); }

  bool key(string_t& given) override {
    name = given;
    const bool of_job = at == At::job;
    std::string_view known;
    if (of_job) {
      job_field = find_field(job_fields(), name);
      if (job_field != nullptr) known = job_field->name;
    } else {
      field = find_field(event_fields(), name);
      if (field != nullptr) known = field->name;
      else if (name == "e") known = "e";
      else if (name == "verb") known = "verb";
    }
    if (known.empty()) return no("there is no field '" + shown(name) + "'; a newer fenceline may have written it");
    std::vector<std::string_view>& before = of_job ? seen_of_job : seen;
    if (std::find(before.begin(), before.end(), known) != before.end())
      return no("field '" + shown(name) + "' appears twice");
    before.push_back(known);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    return no("it is not JSON in UTF-8 (at byte " + std::to_string(position) + ")");
  }
};

Result<void> check_class(const Event& event) {
  if (event.guarantee.size() == 1 && event.guarantee >= "A" && event.guarantee <= "D") return {};
  return fail(Code::invalid, "class '" + shown(event.guarantee) + "' is none; there are A, B, C and D");
}

Result<void> check_event(const Event& event) {
  if (event.by.empty()) return fail(Code::invalid, "it does not name its recorder");
  switch (event.kind) {
    case Kind::recorder:
      if (event.version != kFormatVersion)
        return fail(Code::invalid, "the history is of format " + std::to_string(event.version) +
                                       "; this program reads format " + std::to_string(kFormatVersion));
      return check_class(event);
    case Kind::invoke:
      if (event.verb == Verb::none) return fail(Code::invalid, "an invoke without a verb");
      [[fallthrough]];
    case Kind::ok:
    case Kind::fail:
    case Kind::unknown:
      if (event.n < 1) return fail(Code::invalid, "a call without its number");
      return {};
    case Kind::started:
    case Kind::acted:
    case Kind::told:
    case Kind::ended:
      if (event.jobs.size() + event.locks.size() != 1)
        return fail(Code::invalid, "the event of a handler is about one job, or one lock");
      return {};
    case Kind::rest:
    case Kind::crash: return {};
  }
  return {};
}

}  // namespace

Result<Event> parse_line(std::string_view line) {
  if (line.size() > kLineBytesMax) return fail(Code::invalid, "it is longer than 16 MiB");
  LineSax sax;
  if (!nlohmann::json::sax_parse(line.begin(), line.end(), &sax) || sax.at != LineSax::At::done)
    return fail(Code::invalid, sax.complaint.empty() ? "it is not an event" : sax.complaint);
  if (!sax.has_kind) return fail(Code::invalid, "it does not say what kind of event it is");
  if (const Result<void> ok = check_event(sax.event); !ok) return std::unexpected(ok.error());
  return std::move(sax.event);
}

}  // namespace fenceline::history
