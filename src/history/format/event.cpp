#include "history/format/event.hpp"

#include <type_traits>

#include "base/log.hpp"
#include "history/format/fields.hpp"

namespace fenceline::history {
namespace {

template <class Owner>
void add_fields(std::string& out, const Owner& owner, const std::vector<Field<Owner>>& fields);

void add_value(std::string& out, const std::string& value) { append_json_string(out, value); }
void add_value(std::string& out, std::int64_t value) { out += std::to_string(value); }
void add_value(std::string& out, bool value) { out += value ? "true" : "false"; }
void add_value(std::string& out, const std::optional<std::int64_t>& value) { out += std::to_string(*value); }
void add_value(std::string& out, const JobPart& value) {
  out += '{';
  add_fields(out, value, job_fields());
  out += '}';
}

template <class Item>
void add_value(std::string& out, const std::vector<Item>& list) {
  out += '[';
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ',';
    add_value(out, list[i]);
  }
  out += ']';
}

template <class Owner>
void add_fields(std::string& out, const Owner& owner, const std::vector<Field<Owner>>& fields) {
  for (const Field<Owner>& field : fields) {
    std::visit(
        [&](auto where) {
          const auto& value = owner.*where;
          if (value == std::remove_cvref_t<decltype(value)>{}) return;
          if (out.back() != '{') out += ',';
          append_json_string(out, field.name);
          out += ':';
          add_value(out, value);
        },
        field.where);
  }
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::recorder: return "recorder";
    case Kind::invoke: return "invoke";
    case Kind::ok: return "ok";
    case Kind::fail: return "fail";
    case Kind::unknown: return "unknown";
    case Kind::started: return "started";
    case Kind::acted: return "acted";
    case Kind::told: return "told";
    case Kind::ended: return "ended";
    case Kind::rest: return "rest";
    case Kind::crash: return "crash";
  }
  return "";
}

std::string_view to_string(Verb verb) {
  switch (verb) {
    case Verb::none: return "";
    case Verb::enqueue: return "enqueue";
    case Verb::open_batch: return "open_batch";
    case Verb::claim: return "claim";
    case Verb::give_back: return "give_back";
    case Verb::extend: return "extend";
    case Verb::settle: return "settle";
    case Verb::record: return "record";
    case Verb::cancel: return "cancel";
    case Verb::retry: return "retry";
    case Verb::purge: return "purge";
    case Verb::set_queue: return "set_queue";
    case Verb::pause: return "pause";
    case Verb::tidy: return "tidy";
    case Verb::stopped: return "stopped";
    case Verb::look: return "look";
    case Verb::begin_effect: return "begin_effect";
    case Verb::finish_effect: return "finish_effect";
    case Verb::resolve_effect: return "resolve_effect";
    case Verb::raise_floor: return "raise_floor";
    case Verb::remove_namespace: return "remove_namespace";
    case Verb::acquire: return "acquire";
    case Verb::renew: return "renew";
    case Verb::release: return "release";
    case Verb::withdraw: return "withdraw";
    case Verb::break_lock: return "break_lock";
    case Verb::step_ticks: return "step_ticks";
    case Verb::change_schedule: return "change_schedule";
    case Verb::put_pipeline: return "put_pipeline";
    case Verb::see_pipeline: return "see_pipeline";
    case Verb::change_items: return "change_items";
  }
  return "";
}

std::string to_line(const Event& event) {
  std::string out = "{\"e\":";
  append_json_string(out, to_string(event.kind));
  if (event.verb != Verb::none) {
    out += ",\"verb\":";
    append_json_string(out, to_string(event.verb));
  }
  add_fields(out, event, event_fields());
  out += '}';
  return out;
}

}  // namespace fenceline::history
