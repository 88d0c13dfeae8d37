// What every driver must do on a real server of its tracker, whatever that is: the sentences of tracker/tracker.hpp as
// tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "tracker/tracker.hpp"

namespace fenceline::tracker::test {

// A server that a driver is tried on.
struct Server {
  std::string driver;                                                   // "redmine"
  std::string name;                                                     // "Redmine 5.0.4"
  std::function<std::unique_ptr<Tracker>(const std::string& user)> as;  // `worker` or `ana`
  std::function<std::unique_ptr<Tracker>()> with_wrong_key;             // empty: the server lets anyone in
  std::function<ItemId(const std::string& title)> new_item;             // open, at the stage `ready`

  // As a list is asked for it.
  std::string stage(const std::string& stage_name) const;
};

// What there is to be tried on here, by the environment. None: everything is skipped.
const Server* server();

class DriverSuite : public testing::Test {
 protected:
  void SetUp() override;

  const Server& under_test() const { return *server(); }
  std::unique_ptr<Tracker> worker_;
  std::unique_ptr<Tracker> ana_;
  ItemId item_;
};

// The value of an answer, or the test ends with what was said instead.
template <class T>
T must(Answer<T> answer) {
  if (!answer) throw std::runtime_error(std::string(to_string(answer.error().kind)) + ": " + answer.error().message);
  return std::move(answer->value);
}

}  // namespace fenceline::tracker::test
