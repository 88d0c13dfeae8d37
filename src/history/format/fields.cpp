#include "history/format/fields.hpp"

namespace fenceline::history {

const std::vector<Field<Event>>& event_fields() {
  static const std::vector<Field<Event>> fields{
      {"by", &Event::by},
      {"n", &Event::n},
      {"at", &Event::at},
      {"store_at", &Event::store_at},
      {"history", &Event::version},
      {"store", &Event::store},
      {"class", &Event::guarantee},
      {"clock", &Event::clock},
      {"store_clock", &Event::store_clock},
      {"whole", &Event::whole},
      {"repeats", &Event::repeats},
      {"ns", &Event::ns},
      {"owner", &Event::owner},
      {"request", &Event::request},
      {"queues", &Event::queues},
      {"queue", &Event::queue},
      {"stage", &Event::stage},
      {"name", &Event::name},
      {"only", &Event::only},
      {"limit", &Event::limit},
      {"limit_per_key", &Event::limit_per_key},
      {"ttl", &Event::ttl},
      {"holds_others", &Event::holds_others},
      {"paused", &Event::paused},
      {"digest", &Event::digest},
      {"policy", &Event::policy},
      {"dead_call", &Event::dead_call},
      {"end", &Event::end},
      {"jobs", &Event::jobs},
      {"locks", &Event::locks},
      {"shared", &Event::shared},
      {"to_its_end", &Event::to_its_end},
      {"code", &Event::code},
      {"refused", &Event::refused},
      {"ids", &Event::ids},
      {"existing", &Event::existing},
      {"first_seen", &Event::first_seen},
      {"left", &Event::left},
      {"waited", &Event::waited},
      {"count", &Event::count},
      {"state", &Event::state},
      {"verdict", &Event::verdict},
      {"result", &Event::result},
      {"floor", &Event::floor},
  };
  return fields;
}

const std::vector<Field<JobPart>>& job_fields() {
  static const std::vector<Field<JobPart>> fields{
      {"id", &JobPart::id},
      {"queue", &JobPart::queue},
      {"stage", &JobPart::stage},
      {"group", &JobPart::group},
      {"limit_key", &JobPart::limit_key},
      {"key", &JobPart::key},
      {"key_for", &JobPart::key_for},
      {"digest", &JobPart::digest},
      {"delayed", &JobPart::delayed},
      {"attempts", &JobPart::attempts},
      {"fence", &JobPart::fence},
      {"left", &JobPart::left},
      {"deliveries", &JobPart::deliveries},
      {"failures", &JobPart::failures},
      {"losses", &JobPart::losses},
      {"losses_in_row", &JobPart::losses_in_row},
      {"forced", &JobPart::forced},
      {"from", &JobPart::from},
      {"outcome", &JobPart::outcome},
      {"reason", &JobPart::reason},
      {"current", &JobPart::current},
      {"holder", &JobPart::holder},
  };
  return fields;
}

}  // namespace fenceline::history
