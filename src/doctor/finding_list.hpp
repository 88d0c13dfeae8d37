// The findings of one check: the worst first, a few of them one by one, the rest as a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace fenceline::doctor {

class FindingList {
 public:
  // `why`: why it matters, the same for all of them. `look`: the command that shows all there are.
  FindingList(std::string_view check, std::string why, std::string look)
      : check_(check), why_(std::move(why)), look_(std::move(look)) {}

  void add(FindingStatus status, std::string detail, std::string remedy, std::optional<WallTime> since = {});
  // How many more there are that are not listed.
  void add_untold(std::int64_t more) { untold_ += more; }

  bool empty() const { return found_.empty(); }
  std::int64_t size() const { return static_cast<std::int64_t>(found_.size()); }

  // At most `most` and one that says how many there are beside; one that is ok, with these words, if nothing was found.
  std::vector<Finding> told(std::size_t most, std::string ok) &&;

 private:
  std::string check_, why_, look_;
  std::vector<Finding> found_;
  std::int64_t untold_ = 0;
};

}  // namespace fenceline::doctor
