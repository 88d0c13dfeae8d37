#include "sim/tracker/tracker_model.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace fenceline::sim {

using namespace tracker;
using tracker::Item;  // and not an item of a pipeline

namespace {

constexpr Duration kMinute = std::chrono::minutes{1};
constexpr Duration kHour = std::chrono::hours{1};

template <class T>
Answer<T> answered(T value, Served served) {
  return Answered<T>{std::move(value), served};
}

}  // namespace

TrackerModel::TrackerModel(const Clock& clock, Random& random, TrackerFaults faults, Capabilities can)
    : clock_(clock), random_(random), faults_(faults), can_(can) {}

WallTime TrackerModel::now() const {
  const auto grain = can_.time_grain;
  const Duration since = clock_.wall_now().time_since_epoch();
  return WallTime{since / grain * grain};
}

std::int64_t TrackerModel::writes_of(const ItemId& item, const std::string& account) const {
  const std::map<std::string, std::int64_t>& writes = items_.at(item).writes;
  const auto found = writes.find(account);
  return found == writes.end() ? 0 : found->second;
}

ItemId TrackerModel::make_item(const Account& by, std::string title, std::vector<std::string> labels,
                               std::string status) {
  const ItemId id = std::to_string(++last_item_);
  auto made = std::make_shared<Item>();
  std::ranges::sort(labels);
  made->state = ItemState{.id = id,
                          .title = std::move(title),
                          .author = by,
                          .labels = labels,
                          .status = status,
                          .version = can_.swap ? "1" : "",
                          .updated_at = now()};
  made->moves.emplace();
  for (const std::string& label : labels) made->moves->push_back({MoveKind::label_added, label, by, now()});
  if (!status.empty()) made->moves->push_back({MoveKind::status_set, status, by, now()});
  Entry& entry = items_[id];
  entry.made = clock_.now();
  entry.versions.push_back({clock_.now(), made});
  tell({TrackerEvent::Kind::opened, id, by, by.name, {}, labels});
  return id;
}

std::vector<ItemId> TrackerModel::items() const {
  std::vector<ItemId> ids;
  for (const auto& [id, entry] : items_) ids.push_back(id);
  return ids;
}

// A copy, which is the truth from now on. What nobody can be shown any more goes.
Item& TrackerModel::change(const ItemId& id) {
  Entry& entry = items_.at(id);
  auto copy = std::make_shared<Item>(*entry.versions.back().item);
  copy->state->updated_at = now();
  ++entry.revision;
  if (can_.swap) copy->state->version = std::to_string(entry.revision);
  entry.versions.push_back({clock_.now(), copy});
  while (entry.versions.size() > 2 && entry.versions[1].at + faults_.lag_most < clock_.now())
    entry.versions.pop_front();
  return *copy;
}

std::shared_ptr<const Item> TrackerModel::seen(const Entry& entry, Duration lag) const {
  const Instant at = clock_.now() - lag;
  for (auto version = entry.versions.rbegin(); version != entry.versions.rend(); ++version) {
    if (version->at <= at) return version->item;
  }
  return entry.versions.front().item;
}

Served TrackerModel::served(bool charged) {
  ++counts_.requests;
  counts_.charged += charged ? 1 : 0;
  return {now(), {1, charged ? 1 : 0}, std::nullopt};
}

std::optional<Trouble> TrackerModel::denied(const Account& account) {
  if (!revoked_.contains(account.id)) return std::nullopt;
  return Trouble{TroubleKind::denied, "bad credentials", std::nullopt, served()};
}

std::optional<Trouble> TrackerModel::admit(const Account& account) {
  if (std::optional<Trouble> shut = denied(account)) return shut;
  Writes& writes = accounts_[account.id];
  const Instant at = clock_.now();
  while (!writes.times.empty() && writes.times.front() + kHour <= at) writes.times.pop_front();
  if (at >= writes.shut_until) {
    const auto lately = std::ranges::count_if(writes.times, [&](Instant time) { return time + kMinute > at; });
    if (lately < faults_.writes_a_minute && static_cast<int>(writes.times.size()) < faults_.writes_an_hour) {
      writes.times.push_back(at);
      return std::nullopt;
    }
    writes.shut_until = lately >= faults_.writes_a_minute ? at + kMinute : writes.times.front() + kHour;
  }
  ++counts_.limited;
  Trouble shut{TroubleKind::limited, "secondary limit", std::nullopt, served()};
  if (random_.chance(faults_.limit_says_when)) shut.come_back = writes.shut_until - at;
  return shut;
}

template <class T>
Answer<T> TrackerModel::written(const Account& account, const ItemId& item, const std::function<Answer<T>()>& write) {
  if (!items_.contains(item)) return trouble(TroubleKind::not_found, "no item " + item, served());
  if (std::optional<Trouble> shut = admit(account)) return std::unexpected(std::move(*shut));
  if (random_.chance(faults_.error_before_write)) {
    ++counts_.errors_before;
    return trouble(TroubleKind::in_doubt, "502", served());
  }
  ++counts_.writes;
  ++items_.at(item).writes[account.id];
  Answer<T> answer = write();
  if (answer && random_.chance(faults_.error_after_write)) {
    ++counts_.errors_after;
    return trouble(TroubleKind::in_doubt, "502 after the write", answer->served);
  }
  return answer;
}

void TrackerModel::move(Item& item, MoveKind kind, std::string what, const Account& by) {
  item.moves->push_back({kind, std::move(what), by, now()});
}

void TrackerModel::replace_labels(const Account& by, const ItemId& id, std::vector<std::string> labels) {
  Item& item = change(id);
  std::ranges::sort(labels);
  for (const std::string& old : item.state->labels) {
    if (!std::ranges::binary_search(labels, old)) move(item, MoveKind::label_removed, old, by);
  }
  for (const std::string& fresh : labels) {
    if (!std::ranges::binary_search(item.state->labels, fresh)) move(item, MoveKind::label_added, fresh, by);
  }
  item.state->labels = labels;
  ++items_.at(id).writes[by.id];
  tell({TrackerEvent::Kind::labels_replaced, id, by, by.name, {}, labels});
}

void TrackerModel::edit_anyones(const Account& by, const ItemId& id, const CommentId& comment, std::string text) {
  Item& item = change(id);
  const auto found = std::ranges::find(item.comments, comment, &Comment::id);
  if (found == item.comments.end()) return;
  found->text = std::move(text);
  if (can_.edit_times) found->edited_at = now();
  tell({TrackerEvent::Kind::edited, id, by, by.name, *found, {}});
}

void TrackerModel::erase_anyones(const Account& by, const ItemId& id, const CommentId& comment) {
  Item& item = change(id);
  const auto found = std::ranges::find(item.comments, comment, &Comment::id);
  if (found == item.comments.end()) return;
  const Comment old = *found;
  item.comments.erase(found);
  tell({TrackerEvent::Kind::erased, id, by, by.name, old, {}});
}

class TrackerModel::Door final : public Tracker {
 public:
  Door(TrackerModel& model, Account account, std::string writer)
      : model_(model), account_(std::move(account)), writer_(std::move(writer)) {}

  Capabilities capabilities() const override { return model_.can_; }
  std::string place() const override { return "model:team/backlog"; }
  Answer<Account> who_am_i() override {
    if (std::optional<Trouble> shut = model_.denied(account_)) return std::unexpected(std::move(*shut));
    return answered(account_, model_.served());
  }

  Answer<std::vector<ItemState>> list(const ListRequest& request) override {
    if (std::optional<Trouble> shut = model_.denied(account_)) return std::unexpected(std::move(*shut));
    const std::string key =
        request.stage + (request.closed ? " closed" : "") +
        (request.changed_after ? std::to_string(request.changed_after->time_since_epoch().count()) : "");
    if (const auto last = lists_.find(key); last != lists_.end() && model_.random_.chance(model_.faults_.old_304)) {
      ++model_.counts_.old_304s;
      return answered(last->second, model_.served(false));
    }
    Duration lag{0};
    if (model_.random_.chance(model_.faults_.stale_list)) {
      ++model_.counts_.stale_lists;
      lag = model_.random_.between(Duration{0}, model_.faults_.lag_most);
    }
    std::vector<ItemState> states;
    for (const auto& [id, entry] : model_.items_) {
      const std::shared_ptr<const Item> item = model_.seen(entry, lag);
      const bool lately = !request.changed_after || item->state->updated_at >= *request.changed_after;
      const bool has = request.stage.empty() ? lately
                       : model_.can_.labels  ? std::ranges::binary_search(item->state->labels, request.stage)
                                             : item->state->status == request.stage;
      if (has && item->state->open != request.closed) states.push_back(*item->state);
    }
    const auto page = static_cast<std::size_t>(model_.faults_.page);
    if (states.size() > page && model_.random_.chance(model_.faults_.shifted_page)) {
      ++model_.counts_.shifted;
      states.erase(states.begin() + static_cast<std::ptrdiff_t>(page));
    }
    const bool unchanged = lists_.contains(key) && lists_[key] == states;
    Served served = model_.served(!unchanged);
    for (std::size_t pages = 1; pages * page < states.size(); ++pages) served.cost += model_.served(!unchanged).cost;
    if (!request.changed_after) lists_[key] = states;
    return answered(std::move(states), served);
  }

  Answer<Item> read(const ReadRequest& request) override {
    if (std::optional<Trouble> shut = model_.denied(account_)) return std::unexpected(std::move(*shut));
    const auto found = model_.items_.find(request.item);
    if (found == model_.items_.end())
      return trouble(TroubleKind::not_found, "no item " + request.item, model_.served());
    if (model_.clock_.now() < found->second.made + model_.faults_.lag_most &&
        model_.random_.chance(model_.faults_.hidden_young)) {
      ++model_.counts_.hidden;
      return trouble(TroubleKind::not_found, "no item " + request.item + " yet", model_.served());
    }
    const auto lag = [&](double chance) {
      if (!model_.random_.chance(chance)) return Duration{0};
      ++model_.counts_.stale_reads;
      return model_.random_.between(Duration{0}, model_.faults_.lag_most);
    };
    const Duration behind = lag(model_.faults_.stale_read);
    const std::shared_ptr<const Item> comments = model_.seen(found->second, behind);
    const std::shared_ptr<const Item> rest = model_.seen(found->second, behind + lag(model_.faults_.stale_part));
    Item item;
    Served served = model_.served();
    // Where one request does not have it all: the item, its comments, its history.
    const int parts = (request.state ? 1 : 0) + (request.comments ? 1 : 0) + (request.moves ? 1 : 0);
    for (int part = 1; part < parts && !model_.can_.swap; ++part) served.cost += model_.served().cost;
    if (request.comments) {
      item.comments = comments->comments;
      const auto page = static_cast<std::size_t>(model_.faults_.page);
      for (std::size_t pages = 1; pages * page < item.comments.size(); ++pages) served.cost += model_.served().cost;
      if (item.comments.size() > page && model_.random_.chance(model_.faults_.shifted_page)) {
        ++model_.counts_.shifted;
        item.comments.erase(item.comments.begin() + static_cast<std::ptrdiff_t>(page));
      }
    }
    if (request.state) item.state = rest->state;
    if (request.moves) item.moves = rest->moves;
    return answered(std::move(item), served);
  }

  Answer<LabelsAfter> add_labels(const ItemId& id, const std::vector<std::string>& labels) override {
    return model_.written<LabelsAfter>(account_, id, [&] {
      Item& item = model_.change(id);
      for (const std::string& label : labels) {
        if (std::ranges::find(item.state->labels, label) != item.state->labels.end()) continue;
        item.state->labels.push_back(label);
        model_.move(item, MoveKind::label_added, label, account_);
      }
      std::ranges::sort(item.state->labels);
      model_.tell({TrackerEvent::Kind::labels_added, id, account_, writer_, {}, labels});
      return answered(LabelsAfter{item.state->labels}, model_.served());
    });
  }

  Answer<LabelsAfter> remove_label(const ItemId& id, const std::string& label) override {
    return model_.written<LabelsAfter>(account_, id, [&] {
      Item& item = model_.change(id);
      if (std::erase(item.state->labels, label) > 0) {
        model_.move(item, MoveKind::label_removed, label, account_);
        model_.tell({TrackerEvent::Kind::label_removed, id, account_, writer_, {}, {label}});
      }
      return answered(LabelsAfter{item.state->labels}, model_.served());
    });
  }

  Answer<Nothing> set_status(const ItemId& id, const std::string& status) override {
    return model_.written<Nothing>(account_, id, [&] {
      Item& item = model_.change(id);
      put_status(id, item, status);
      model_.tell({TrackerEvent::Kind::status_set, id, account_, writer_, {}, {status}});
      return answered(Nothing{}, model_.served());
    });
  }

  Answer<Nothing> set_open(const ItemId& id, bool open) override {
    return model_.written<Nothing>(account_, id, [&] {
      put_open(model_.change(id), open);
      model_.tell({open ? TrackerEvent::Kind::opened : TrackerEvent::Kind::closed, id, account_, writer_, {}, {}});
      return answered(Nothing{}, model_.served());
    });
  }

  Answer<Comment> post(const ItemId& id, const std::string& text) override {
    return model_.written<Comment>(account_, id,
                                   [&] { return answered(add_comment(id, model_.change(id), text), model_.served()); });
  }

  Answer<Comment> edit(const ItemId& id, const CommentId& comment, const std::string& text) override {
    return model_.written<Comment>(account_, id, [&]() -> Answer<Comment> {
      const auto& known = model_.truth(id).comments;
      const auto there = std::ranges::find(known, comment, &Comment::id);
      if (there == known.end()) return trouble(TroubleKind::not_found, "no comment " + comment, model_.served());
      if (there->author.id != account_.id)
        return trouble(TroubleKind::denied, "the comment of another", model_.served());
      Item& item = model_.change(id);
      Comment& own = *std::ranges::find(item.comments, comment, &Comment::id);
      own.text = text;
      if (model_.can_.edit_times) own.edited_at = model_.now();
      model_.tell({TrackerEvent::Kind::edited, id, account_, writer_, own, {}});
      return answered(own, model_.served());
    });
  }

  Answer<Nothing> erase(const ItemId& id, const CommentId& comment) override {
    return model_.written<Nothing>(account_, id, [&]() -> Answer<Nothing> {
      const auto& known = model_.truth(id).comments;
      const auto there = std::ranges::find(known, comment, &Comment::id);
      if (there == known.end()) return answered(Nothing{}, model_.served());
      if (there->author.id != account_.id)
        return trouble(TroubleKind::denied, "the comment of another", model_.served());
      const Comment old = *there;
      std::erase_if(model_.change(id).comments, [&](const Comment& each) { return each.id == comment; });
      model_.tell({TrackerEvent::Kind::erased, id, account_, writer_, old, {}});
      return answered(Nothing{}, model_.served());
    });
  }

  Answer<Swapped> swap(const SwapRequest& request) override {
    return model_.written<Swapped>(account_, request.item, [&]() -> Answer<Swapped> {
      if (!model_.can_.swap) return trouble(TroubleKind::refused, "no compare-and-swap here", model_.served());
      if (model_.truth(request.item).state->version != request.version)
        return trouble(TroubleKind::conflict, "another version", model_.served());
      Item& item = model_.change(request.item);
      if (request.status) put_status(request.item, item, *request.status);
      if (request.open) put_open(item, *request.open);
      Swapped swapped{item.state->version, std::nullopt};
      if (!request.comment.empty()) swapped.comment = add_comment(request.item, item, request.comment).id;
      return answered(std::move(swapped), model_.served());
    });
  }

 private:
  Comment add_comment(const ItemId& id, Item& item, const std::string& text) {
    Comment comment{std::to_string(model_.last_comment_ += model_.random_.between(1, 9)), account_, text, model_.now(),
                    std::nullopt};
    if (model_.can_.edit_times && model_.faults_.stamps_apart != Duration{0})
      comment.edited_at = comment.created_at + model_.faults_.stamps_apart;
    // Ids that say nothing about when.
    if (!model_.can_.ordered_ids) comment.id = std::to_string(model_.random_.between(1'000'000'000, 9'999'999'999));
    item.comments.push_back(comment);
    model_.tell({TrackerEvent::Kind::posted, id, account_, writer_, comment, {}});
    return comment;
  }
  // A closed item that gets another status is open again.
  void put_status(const ItemId& id, Item& item, const std::string& status) {
    if (item.state->status == status) return;
    if (!item.state->open) model_.tell({TrackerEvent::Kind::opened, id, account_, writer_, {}, {}});
    item.state->open = true;
    item.state->status = status;
    model_.move(item, MoveKind::status_set, status, account_);
  }
  void put_open(Item& item, bool open) {
    if (item.state->open == open) return;
    item.state->open = open;
    if (!model_.can_.labels) item.state->status = open ? "open" : "closed";
    model_.move(item, open ? MoveKind::reopened : MoveKind::closed, "", account_);
  }

  TrackerModel& model_;
  const Account account_;
  const std::string writer_;
  std::map<std::string, std::vector<ItemState>> lists_;  // as last answered
};

std::unique_ptr<Tracker> TrackerModel::door(Account account, std::string writer) {
  return std::make_unique<Door>(*this, std::move(account), std::move(writer));
}

}  // namespace fenceline::sim
