#include "tracker/marker.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "tracker/hmac.hpp"

namespace fenceline::tracker {
namespace {

constexpr std::string_view kOpening = "<!-- fenceline/1 ";
constexpr std::string_view kClosing = " -->\n";
constexpr std::size_t kMarkerBytesMax = 4096;
constexpr std::size_t kWordBytesMax = 128;

constexpr std::array<std::pair<MarkerKind, std::string_view>, 8> kKinds{{{MarkerKind::claim, "claim"},
                                                                         {MarkerKind::advanced, "advanced"},
                                                                         {MarkerKind::returned, "returned"},
                                                                         {MarkerKind::failed, "failed"},
                                                                         {MarkerKind::released, "released"},
                                                                         {MarkerKind::moved, "moved"},
                                                                         {MarkerKind::restored, "restored"},
                                                                         {MarkerKind::contested, "contested"}}};

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kWordBytesMax && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-' || c == ':';
  });
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string joined(const std::vector<CommentId>& ids) {
  std::string text;
  for (const CommentId& id : ids) text += (text.empty() ? "" : ",") + id;
  return or_dash(text);
}

std::string fields_text(const Marker& marker, const ItemId& item) {
  std::string text(to_string(marker.kind));
  const auto add = [&text](std::string_view key, const std::string& value) {
    text.append(" ").append(key).append("=").append(value);
  };
  add("gen", std::to_string(marker.generation));
  add("stage", marker.stage);
  add("worker", marker.worker);
  add("nonce", marker.nonce);
  add("item", item);
  if (marker.kind == MarkerKind::claim) {
    add("ttl", std::to_string(marker.ttl));
    add("beat", std::to_string(marker.beat));
    add("at", std::to_string(marker.at));
    add("over", joined(marker.over));
    add("name", or_dash(marker.name));
  } else {
    add("to", or_dash(marker.to));
    add("claim", or_dash(marker.claim));
    add("over", joined(marker.over));
    add("again", std::to_string(marker.again));
    add("by", or_dash(marker.by));
    add("why", or_dash(marker.why));
    add("out", or_dash(marker.output));
  }
  return text;
}

std::string visible_line(const Marker& marker) {
  const std::string why = marker.why.empty() ? "" : " (" + marker.why + ")";
  switch (marker.kind) {
    case MarkerKind::claim:
      return "fenceline: " +
             (marker.name.empty() ? "worker " + marker.worker : marker.name + " (" + marker.worker + ")") +
             " is working on " + marker.stage;
    case MarkerKind::advanced: return "fenceline: " + marker.stage + " is done, next is " + marker.to + why;
    case MarkerKind::returned: return "fenceline: sent back from " + marker.stage + " to " + marker.to + why;
    case MarkerKind::failed:
      return "fenceline: an attempt at " + marker.stage + " failed" +
             (marker.to.empty() ? ", it will be retried" : ", no attempts are left") + why;
    case MarkerKind::released: return "fenceline: " + marker.stage + " was released and will be retried" + why;
    case MarkerKind::moved:
      return "fenceline: account " + marker.by + " moved this from " + marker.stage + " to " + marker.to;
    case MarkerKind::restored:
      return "fenceline: moved back to " + marker.stage + ", because account " + marker.by + " may not move it";
    case MarkerKind::contested: return "fenceline: stopped at " + marker.stage + ", a person has to decide" + why;
  }
  return {};
}

std::string mac_of(const std::string& fields, const ItemId& item, const Signing& signing) {
  std::string place = signing.place;  // trackers take it in any letters
  for (char& c : place) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return hmac_sha256_hex(signing.key, place + "\n" + item + "\n" + fields).substr(0, 32);
}

std::string whole_text(const Marker& marker, const ItemId& item, const std::string& mac) {
  return std::string(kOpening) + fields_text(marker, item) + (mac.empty() ? "" : " mac=" + mac) +
         std::string(kClosing) + visible_line(marker);
}

// Takes "key=value" from the front, up to the next blank; nothing if it is not that key.
std::optional<std::string> take(std::string_view& rest, std::string_view key) {
  if (!rest.starts_with(" ")) return std::nullopt;
  std::string_view pair = rest.substr(1, rest.find(' ', 1) - 1);
  if (!pair.starts_with(key) || pair.size() <= key.size() || pair[key.size()] != '=') return std::nullopt;
  rest.remove_prefix(1 + pair.size());
  return std::string(pair.substr(key.size() + 1));
}

// What is written otherwise than std::to_string would is found by the comparison of the whole.
bool number_of(const std::optional<std::string>& text, std::int64_t& number) {
  if (!text || text->empty() || text->size() > 15) return false;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc{} && end == text->data() + text->size() && number >= 0;
}

bool word_of(const std::optional<std::string>& text, std::string& word, bool may_lack = false) {
  if (!text || !is_word(*text)) return false;
  word = *text == "-" && may_lack ? "" : *text;
  return true;
}

bool list_of(const std::optional<std::string>& text, std::vector<CommentId>& ids) {
  if (!text) return false;
  if (*text == "-") return true;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    ids.emplace_back(rest.substr(0, comma));
    if (!is_word(ids.back()) || ids.size() > kOverMax) return false;
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return true;
}

struct Parsed {
  Marker marker;
  ItemId item;
  std::string mac;
};

std::optional<Parsed> parsed(std::string_view text) {
  if (text.size() > kMarkerBytesMax || !text.starts_with(kOpening)) return std::nullopt;
  const std::size_t end = text.find(kClosing);
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(kOpening.size(), end - kOpening.size());
  const std::string_view name = rest.substr(0, rest.find(' '));
  const auto kind = std::ranges::find(kKinds, name, [](const auto& known) { return known.second; });
  if (kind == kKinds.end()) return std::nullopt;
  rest.remove_prefix(name.size());
  Parsed out;
  Marker& marker = out.marker;
  marker.kind = kind->first;
  bool good = number_of(take(rest, "gen"), marker.generation) && word_of(take(rest, "stage"), marker.stage) &&
              word_of(take(rest, "worker"), marker.worker) && word_of(take(rest, "nonce"), marker.nonce) &&
              word_of(take(rest, "item"), out.item);
  if (marker.kind == MarkerKind::claim) {
    good = good && number_of(take(rest, "ttl"), marker.ttl) && number_of(take(rest, "beat"), marker.beat) &&
           number_of(take(rest, "at"), marker.at) && list_of(take(rest, "over"), marker.over) &&
           word_of(take(rest, "name"), marker.name, true);
  } else {
    good = good && word_of(take(rest, "to"), marker.to, true) && word_of(take(rest, "claim"), marker.claim, true) &&
           list_of(take(rest, "over"), marker.over) && number_of(take(rest, "again"), marker.again) &&
           word_of(take(rest, "by"), marker.by, true) && word_of(take(rest, "why"), marker.why, true) &&
           word_of(take(rest, "out"), marker.output, true);
  }
  if (!good) return std::nullopt;
  if (!rest.empty() && !word_of(take(rest, "mac"), out.mac)) return std::nullopt;
  if (whole_text(marker, out.item, out.mac) != text) return std::nullopt;
  return out;
}

}  // namespace

std::string_view to_string(MarkerKind kind) {
  return std::ranges::find(kKinds, kind, [](const auto& known) { return known.first; })->second;
}

std::string marker_text(const Marker& marker, const ItemId& item, const Signing& signing) {
  return whole_text(marker, item, signing.key.empty() ? "" : mac_of(fields_text(marker, item), item, signing));
}

ReadMarker read_marker(std::string_view text, const ItemId& item, const Signing& signing) {
  const std::optional<Parsed> found = parsed(text);
  if (!found) return {};
  if (found->item != item) return {std::nullopt, MarkerFault::copied};
  if (signing.key.empty()) {
    if (!found->mac.empty()) return {std::nullopt, MarkerFault::unreadable};
    return {found->marker, MarkerFault::none};
  }
  if (!same_in_constant_time(found->mac, mac_of(fields_text(found->marker, item), item, signing)))
    return {std::nullopt, MarkerFault::unsigned_};
  return {found->marker, MarkerFault::none};
}

std::string neutralised(std::string_view text) {
  // A blank after "fence" leaves nothing that another cut could join again.
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    constexpr std::string_view kWord = "fenceline/";
    if (text.substr(at).starts_with(kWord)) {
      out += "fence line/";
      at += kWord.size();
    } else {
      out += text[at++];
    }
  }
  return out;
}

bool is_worker_name(std::string_view text) {
  return is_word(text) && text.size() <= kWorkerNameBytesMax && text.find(':') == std::string_view::npos && text != "-";
}

std::optional<Command> read_command(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::string_view name = text.substr(0, text.find(' '));
  std::string stage;
  if (name.size() < text.size()) {
    stage = text.substr(name.size() + 1);
    if (!is_word(stage)) return std::nullopt;
  }
  if (name == "/approve") return Command{CommandKind::approve, stage};
  if (name == "/reject") return Command{CommandKind::reject, stage};
  if (name == "/move" && !stage.empty()) return Command{CommandKind::move, stage};
  if (name == "/hold" && stage.empty()) return Command{CommandKind::hold, {}};
  if (name == "/release" && stage.empty()) return Command{CommandKind::release, {}};
  return std::nullopt;
}

}  // namespace fenceline::tracker
