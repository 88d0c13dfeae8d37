// An item and its comments as a test writes them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracker/steps.hpp"

namespace fenceline::tracker {

using namespace std::chrono_literals;

inline const Account kRobots{"99", "robots"};
inline const Account kAna{"11", "ana"};
inline const Account kEve{"66", "eve"};
inline constexpr WallTime kStart{std::chrono::days{20'000}};

inline Protocol a_protocol() {
  Protocol protocol;
  protocol.pipeline.name = "docs";
  protocol.pipeline.stages = {{.name = "ready"},
                              {.name = "review"},
                              {.name = "publish", .entry = {.kind = EntryKind::approval, .count = 1, .by = {"ana"}}}};
  protocol.signing = {"key", "model:a/b"};
  protocol.workers = {kRobots.id};
  protocol.people = {kAna.id};
  return protocol;
}

struct Backlog {
  Protocol protocol = a_protocol();
  Item item{
      .state = ItemState{.id = "17", .labels = {"stage:ready"}, .updated_at = kStart}, .comments = {}, .moves = {}};
  WallTime now = kStart;
  int last = 0;

  CommentId say(const Account& by, std::string text) {
    item.comments.push_back({std::to_string(++last), by, std::move(text), now, std::nullopt});
    return item.comments.back().id;
  }
  Comment& comment(const CommentId& id) {
    for (Comment& each : item.comments) {
      if (each.id == id) return each;
    }
    return item.comments.front();
  }
  CommentId mark(Marker marker, const Account& by = kRobots) {
    if (marker.worker.empty()) marker.worker = "w";
    marker.nonce = "n" + std::to_string(last);
    return say(by, marker_text(marker, "17", protocol.signing));
  }
  Marker claim_of(const std::string& worker, std::vector<CommentId> over = {}) const {
    const Ledger is = ledger();
    Marker marker{.kind = MarkerKind::claim, .generation = is.generation, .stage = is.place, .worker = worker};
    marker.nonce = "n" + worker;
    marker.ttl = 600;
    marker.at = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    marker.over = std::move(over);
    return marker;
  }
  CommentId claim(const std::string& worker, std::vector<CommentId> over = {}) {
    return mark(claim_of(worker, std::move(over)));
  }
  void renew(const CommentId& id, Duration late = Duration{0}) {
    Comment& own = comment(id);
    Marker marker = *read_marker(own.text, "17", protocol.signing).marker;
    ++marker.beat;
    marker.at = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    own.text = marker_text(marker, "17", protocol.signing);
    own.edited_at = now + late;
  }
  CommentId record(MarkerKind kind, std::string to, const CommentId& claim = {}) {
    const Ledger is = ledger();
    Marker marker{.kind = kind, .generation = is.generation, .stage = is.place};
    marker.to = std::move(to);
    marker.claim = claim;
    return mark(marker);
  }
  void move(const Account& by, MoveKind kind, std::string what) {
    if (!item.moves) item.moves.emplace();
    item.moves->push_back({kind, std::move(what), by, now});
  }
  Ledger ledger() const { return read_ledger(protocol, "17", item.comments, kRobots, now); }
  std::string holder() const {
    const Ledger is = ledger();
    return is.holder ? is.holder->marker.worker : "";
  }
  Step next(bool sweeps = false, std::vector<std::string> places = {"ready", "review", "publish"}) const {
    return next_step(protocol, item, ledger(), {kRobots, std::move(places), sweeps}, now);
  }
};

}  // namespace fenceline::tracker
