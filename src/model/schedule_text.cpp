// A schedule's spec as stores keep it: one line of JSON, durations and moments in microseconds.
#include "model/json_members.hpp"
#include "model/schedule.hpp"

namespace fenceline {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kScheduleVersion = 1;

Json moment(const std::optional<WallTime>& at) { return at ? Json(at->time_since_epoch().count()) : Json(nullptr); }

}  // namespace

std::string spec_text(const ScheduleSpec& spec) {
  const Json out{{"version", kScheduleVersion},
                 {"cron", spec.cron},
                 {"every", spec.every.count()},
                 {"anchor", spec.anchor.time_since_epoch().count()},
                 {"zone", spec.zone},
                 {"jitter", spec.jitter.count()},
                 {"starts", moment(spec.starts)},
                 {"ends", moment(spec.ends)},
                 {"catch_up", to_string(spec.catch_up)},
                 {"window", spec.window.count()},
                 {"cap", spec.cap},
                 {"overlap", to_string(spec.overlap)},
                 {"queue", spec.queue},
                 {"stage", spec.stage},
                 {"payload", spec.payload},
                 {"priority", spec.priority},
                 {"attempts_max", spec.attempts_max},
                 {"timeout", spec.timeout.count()},
                 {"group", spec.group},
                 {"limit_key", spec.limit_key},
                 {"tags", spec.tags}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ScheduleSpec> parse_spec(std::string_view text) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return fail(Code::invalid, "this is not a schedule");
  Members members(object);
  if (const std::int64_t version = members.number("version"); version > kScheduleVersion)
    return fail(Code::invalid, "this schedule has version " + std::to_string(version) +
                                   ", which is newer than this program knows; update fenceline");
  ScheduleSpec spec;
  spec.cron = members.text("cron");
  spec.every = members.duration("every");
  spec.anchor = members.at("anchor");
  spec.zone = members.text("zone");
  spec.jitter = members.duration("jitter");
  spec.starts = members.maybe_at("starts");
  spec.ends = members.maybe_at("ends");
  spec.catch_up = members.word("catch_up", parse_catch_up);
  spec.window = members.duration("window");
  spec.cap = static_cast<int>(members.number("cap"));
  spec.overlap = members.word("overlap", parse_overlap);
  spec.queue = members.text("queue");
  spec.stage = members.text("stage");
  spec.payload = members.text("payload");
  spec.priority = static_cast<int>(members.number("priority"));
  spec.attempts_max = static_cast<int>(members.number("attempts_max"));
  spec.timeout = members.duration("timeout");
  spec.group = members.text("group");
  spec.limit_key = members.text("limit_key");
  spec.tags = members.texts("tags");
  if (!members.wrong().empty())
    return fail(Code::invalid, "this is not a schedule: '" + members.wrong() + "' is missing or has the wrong type");
  if (auto ok = check_spec(spec); !ok) return std::unexpected(ok.error());
  return spec;
}

}  // namespace fenceline
