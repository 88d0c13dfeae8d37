// Promises that did not hold, each as a sentence that begins with the promise's name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fenceline::sim {

struct Violation {
  std::string promise;   // "L4"
  std::string sentence;  // "extend revived the expired lease of job 5f3a90c1"
};

class Violations {
 public:
  // The first ones tell the story; what follows from them is not kept.
  void add(std::string_view promise, std::string sentence) {
    if (!deaf_ && found_.size() < 5) found_.push_back({std::string(promise), std::move(sentence)});
  }
  // From now on nothing is kept, or everything again.
  void deaf(bool deaf) { deaf_ = deaf; }
  bool empty() const { return found_.empty(); }
  const std::vector<Violation>& found() const { return found_; }

 private:
  std::vector<Violation> found_;
  bool deaf_ = false;
};

}  // namespace fenceline::sim
