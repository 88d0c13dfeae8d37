#include "backends/redis/redis_link.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "backends/redis/redis_errors.hpp"

namespace fenceline::redis {
namespace {

// After so long without use a look costs nothing: has the server closed the connection meanwhile?
constexpr Duration kIdle = std::chrono::milliseconds{50};
constexpr std::size_t kUnreadMost = 256;  // answers that nobody awaits

}  // namespace

Link::Link(Runtime& runtime, std::unique_ptr<Connection> connection, Duration silence_most)
    : runtime_(runtime), connection_(std::move(connection)), silence_most_(silence_most), last_used_(runtime.now()) {}

void Link::notify(const Wakes& wakes) {
  for (Event* event : wakes) event->notify();
}

bool Link::wait_for_room(Duration at_most) const {
  pollfd waited{connection_->socket(), POLLIN | POLLOUT, 0};
  return ::poll(&waited, 1,
                static_cast<int>(std::clamp<std::int64_t>(at_most.count() / 1000, 1, kReadSlice.count() / 1000))) > 0;
}

void Link::enqueue(const Command& command, Caller* caller, std::size_t index, Instant give_up,
                   std::unique_ptr<Command> kept) {
  const Script* script = command.script();
  const bool by_function = has_functions_ && script && script->library();
  const auto append = [&](const Command& what, Caller* whose, std::unique_ptr<Command> copy) -> Entry& {
    const std::size_t before = out_.size();
    what.append_to(out_, by_function);
    return unsent_.emplace_back(whose, index, out_.size() - before, 0, give_up, std::move(copy));
  };
  if (const Library* library = std::exchange(missed_, nullptr); library && has_functions_) {
    append(Command("FUNCTION").arg("LOAD").arg(library->text), nullptr, nullptr).is_load = true;
    ++loads_;
  }
  if (script && !by_function) {
    if (knows_.size() <= script->number()) knows_.resize(script->number() + 1);
    if (!knows_[script->number()]) append(Command("SCRIPT").arg("LOAD").arg(script->text()), nullptr, nullptr);
    knows_[script->number()] = true;
  }
  append(command, caller, std::move(kept)).called = by_function ? script->library() : nullptr;
}

// A function that is not there is called by the text of its script, and its library goes out with that. What was sent
// before a load that is under way says nothing about it.
void Link::heed_functions(const Entry& entry, const Value& value) {
  if (entry.is_load) {
    --loads_;
    // One that is busy may take it the next time.
    if (value.is_error() && !is_library_there(value) && error_of(value, "").code != Code::unavailable)
      has_functions_ = false;
  } else if (has_no_functions(value)) {
    has_functions_ = false;
  } else if (loads_ == 0 && is_unknown_script(value) && !is_function_refused(value)) {
    missed_ = entry.called;
  }
}

void Link::run(std::span<const Command> commands, std::span<Outcome> outcomes, Instant now, Instant deadline) {
  Caller me{outcomes, commands.size()};
  Lock lock(mutex_);
  look_if_idle(lock, now);
  if (is_over_) {
    for (Outcome& outcome : outcomes) outcome.fate = Outcome::Fate::not_sent;
    return;
  }
  last_used_ = now;
  const Instant give_up = std::max(deadline, now + silence_most_);
  for (std::size_t i = 0; i < commands.size(); ++i) enqueue(commands[i], &me, i, give_up);
  write_out(lock);
  while (me.left > 0) {
    if (!is_reading_) {
      read_for_all(lock, me, deadline);
    } else if (is_stuck_ && !is_writing_) {
      lock.unlock();
      wait_for_room(left_until(deadline));
      lock.lock();
      write_out(lock);
    } else {
      wait_for_others(lock, me, deadline);
    }
    if (me.left == 0) break;
    lock.unlock();
    const bool is_late = left_until(deadline) <= Duration{0};
    lock.lock();
    if (is_late && me.left > 0) give_up_waiting(me);
  }
  write_out(lock);  // what nobody awaits and the server wants again
  if (me.event) spare_.push_back(me.event);
  // It may have been this one that was woken to read on.
  Wakes wakes;
  if (!is_reading_) wake_next_reader(wakes);
  lock.unlock();
  notify(wakes);
}

bool Link::send(Command command, Instant now) {
  Lock lock(mutex_);
  look_if_idle(lock, now);
  if (is_over_) return false;
  last_used_ = now;
  auto kept = command.script() ? std::make_unique<Command>(command) : nullptr;
  enqueue(command, nullptr, 0, now + silence_most_, std::move(kept));
  write_out(lock);
  return !is_over_;
}

// An idle connection may have been ended by the server, and a call on it would be in doubt for nothing. Answers that
// nobody awaits are read here, if nobody calls.
void Link::look_if_idle(Lock& lock, Instant now) {
  if (is_over_ || is_reading_ || (now - last_used_ < kIdle && sent_.size() < kUnreadMost)) return;
  is_reading_ = true;
  lock.unlock();
  values_.clear();
  const Result<bool> came = connection_->read(values_, Duration{0});
  lock.lock();
  is_reading_ = false;
  if (is_over_) return;
  Wakes wakes;
  take_answers(values_, nullptr, wakes);
  if (!came || (!*came && !sent_.empty() && sent_.front().give_up <= now)) break_up(wakes);
  else wake_next_reader(wakes);
  if (wakes.empty()) return;
  lock.unlock();
  notify(wakes);
  lock.lock();
}

void Link::write_out(Lock& lock) {
  while (!is_writing_ && !is_over_ && (is_stuck_ || !out_.empty())) {
    is_writing_ = true;
    if (!is_stuck_) {
      going_.swap(out_);
      for (Entry& entry : unsent_) {
        entry.end = taken_ += entry.bytes;
        sent_.push_back(std::move(entry));
      }
      unsent_.clear();
    }
    lock.unlock();
    const std::size_t before = going_.size();
    const Result<bool> gone = connection_->write(going_);
    lock.lock();
    is_writing_ = false;
    written_ += before - going_.size();
    if (is_over_) return;
    if (!gone) {
      Wakes wakes;
      break_up(wakes);
      lock.unlock();
      notify(wakes);
      lock.lock();
      return;
    }
    is_stuck_ = !*gone;
    if (is_stuck_) return;  // who waits for an answer tries again
  }
}

void Link::read_for_all(Lock& lock, Caller& me, Instant deadline) {
  is_reading_ = true;
  for (;;) {
    const bool was_stuck = is_stuck_;
    lock.unlock();
    const Instant now = runtime_.now();
    values_.clear();
    if (was_stuck) wait_for_room(deadline - now);
    const Result<bool> came = connection_->read(values_, was_stuck ? Duration{0} : deadline - now);
    lock.lock();
    Wakes wakes;
    if (!is_over_) {
      take_answers(values_, &me, wakes);
      if (!came || (!*came && !sent_.empty() && sent_.front().give_up <= now)) break_up(wakes);
    }
    const bool is_done = me.left == 0 || now >= deadline;
    if (is_done) {
      is_reading_ = false;
      wake_next_reader(wakes);
    }
    if (!wakes.empty()) {
      lock.unlock();
      notify(wakes);
      lock.lock();
    }
    if (is_done) return;
    write_out(lock);
  }
}

void Link::wait_for_others(Lock& lock, Caller& me, Instant deadline) {
  if (!me.event && !spare_.empty()) {
    me.event = spare_.back();
    spare_.pop_back();
  }
  if (!me.event) {
    lock.unlock();
    std::unique_ptr<Event> made = runtime_.make_event();
    lock.lock();
    me.event = made.get();
    events_.push_back(std::move(made));
    return;  // much may have happened meanwhile
  }
  Event* event = me.event;
  lock.unlock();
  event->wait_until(deadline);
  lock.lock();
}

void Link::take_answers(std::vector<Value>& values, const Caller* me, Wakes& wakes) {
  for (Value& value : values) {
    if (value.kind == Value::Kind::push) continue;
    if (sent_.empty()) {  // an answer to nothing: what it says next cannot be told apart either
      break_up(wakes);
      return;
    }
    Entry entry = std::move(sent_.front());
    sent_.pop_front();
    if (entry.is_load || (entry.called && value.is_error())) heed_functions(entry, value);
    if (entry.kept && is_unknown_script(value)) {
      knows_.clear();
      enqueue(entry.kept->in_full(), nullptr, 0, entry.give_up + silence_most_);  // goes out with the next write
    }
    if (!entry.caller) continue;
    entry.caller->outcomes[entry.index] = {Outcome::Fate::answered, std::move(value)};
    entry.caller->left -= 1;
    if (entry.caller->left == 0 && entry.caller != me && entry.caller->event) wakes.push_back(entry.caller->event);
  }
}

void Link::wake_next_reader(Wakes& wakes) {
  for (const std::deque<Entry>* entries : {&sent_, &unsent_}) {
    for (const Entry& entry : *entries) {
      if (!entry.caller || !entry.caller->event) continue;
      wakes.push_back(entry.caller->event);
      return;
    }
  }
}

// Its answers are dropped when they come; what was not begun to be written never will be.
void Link::give_up_waiting(Caller& me) {
  std::size_t offset = 0;
  for (auto entry = unsent_.begin(); entry != unsent_.end();) {
    if (entry->caller != &me) {
      offset += entry->bytes;
      ++entry;
      continue;
    }
    out_.erase(offset, entry->bytes);
    me.outcomes[entry->index].fate = Outcome::Fate::not_sent;
    entry = unsent_.erase(entry);
  }
  for (Entry& entry : sent_) {
    if (entry.caller != &me) continue;
    me.outcomes[entry.index].fate = Outcome::Fate::no_answer;
    entry.caller = nullptr;
  }
  me.left = 0;
}

void Link::break_up(Wakes& wakes) {
  is_over_ = true;
  connection_->shut();
  const auto tell = [&](Entry& entry, Outcome::Fate fate) {
    if (!entry.caller) return;
    entry.caller->outcomes[entry.index].fate = fate;
    entry.caller->left -= 1;
    if (entry.caller->left == 0 && entry.caller->event) wakes.push_back(entry.caller->event);
  };
  // Who is writing right now may have got out what it has not told yet.
  for (Entry& entry : sent_)
    tell(entry, is_writing_ || entry.end <= written_ ? Outcome::Fate::no_answer : Outcome::Fate::not_sent);
  for (Entry& entry : unsent_) tell(entry, Outcome::Fate::not_sent);
  sent_.clear();
  unsent_.clear();
  out_.clear();
}

void Link::forget_scripts() {
  const Lock lock(mutex_);
  knows_.clear();
}

void Link::end() {
  Wakes wakes;
  {
    const Lock lock(mutex_);
    if (!is_over_) break_up(wakes);
  }
  notify(wakes);
}

}  // namespace fenceline::redis
