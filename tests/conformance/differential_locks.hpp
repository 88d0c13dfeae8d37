// The part of the stream that is about locks. It has chance of its own, so that what the rest of the stream makes up
// does not depend on it, and moves no clock. Few names, so that requests meet; every try has an owner of its own, as
// the seam asks for, and some that do not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "conformance/reply_text.hpp"
#include "store/store.hpp"
#include "support/manual_clock.hpp"

namespace fenceline::test {

class DifferentialLocks {
 public:
  using Note = std::function<void(const std::string& verb, const std::string& answer)>;
  using Compare = std::function<void(const std::string& verb, const std::string& request, const std::string& expected,
                                     const std::string& got)>;

  DifferentialLocks(Store& oracle, Store& store, std::uint64_t seed, Note note, Compare compare)
      : oracle_(oracle), store_(store), chance_(seed), note_(std::move(note)), compare_(std::move(compare)) {}

  // One operation.
  void step();
  // While no fence is left: what would mint one is refused.
  void with_no_fences_left();
  // The inventory of both namespaces, to the end.
  void compare_everything();

 private:
  struct Remembered {
    std::string ns;
    LockHolding lock;
  };

  void acquire();
  void renew();
  void release();
  void withdraw();
  void locks();
  void lock();
  void compare_lock(const std::string& ns, const std::string& resource);
  void break_lock();

  AcquireRequest made_up();
  void send(const AcquireRequest& request);
  void compare_page_by_page(LocksRequest request);
  // A few of one namespace, most of them fresh, some spoiled, none twice.
  std::vector<LockHolding> some_locks(std::string& ns);
  std::string any_resource();
  LockRow look(const std::string& ns, const std::string& resource);
  bool waits(const AcquireRequest& request);
  bool holds(const AcquireRequest& request);

  std::uint64_t below(std::uint64_t n) { return chance_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[below(items.size())];
  }
  template <class T>
  const T& one_of_the_last(const std::deque<T>& items, std::size_t most) {
    return items[items.size() - 1 - below(std::min(items.size(), most))];
  }

  template <class Call>
  auto both(const std::string& verb, const std::string& request, const Call& call) {
    const auto expected = call(oracle_);
    const auto got = call(store_);
    compare_(verb, request, text_of(expected), text_of(got));
    if (!expected) note_(verb, std::string(to_string(expected.error().code)));
    return expected;
  }

  Store& oracle_;
  Store& store_;
  std::mt19937_64 chance_;
  Note note_;
  Compare compare_;
  std::uint64_t last_number_ = 0;
  std::deque<AcquireRequest> asked_;
  std::deque<Remembered> held_;
  std::deque<BreakRequest> breaks_;
};

}  // namespace fenceline::test
