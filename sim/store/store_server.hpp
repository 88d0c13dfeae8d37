// The one store at the end of all wires: whether it is there, and whether it may already answer. What a store of class
// B has not saved yet, it has not answered either; a crash then takes both.
#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace fenceline::sim {

class StoreServer {
 public:
  bool is_up() const { return up_; }
  void go_down() {
    up_ = false;
    drop_answers();
  }
  void come_up() { up_ = true; }

  // Sends it now or, while answers are held back, once what was done is saved.
  void answer(std::function<void()> send) {
    if (holds_back_) held_.push_back(std::move(send));
    else send();
  }
  void hold_answers() { holds_back_ = true; }
  // All that was applied is saved.
  void send_answers() {
    holds_back_ = false;
    for (const std::function<void()>& send : std::exchange(held_, {})) send();
  }
  void drop_answers() {
    holds_back_ = false;
    held_.clear();
  }

 private:
  bool up_ = true;
  bool holds_back_ = false;
  std::vector<std::function<void()>> held_;
};

}  // namespace fenceline::sim
