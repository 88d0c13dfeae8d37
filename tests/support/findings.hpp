// For tests of what a doctor finds.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace fenceline::test {

inline Finding named_in(const std::vector<Finding>& findings, const std::string& name) {
  const auto found = std::ranges::find(findings, name, &Finding::name);
  if (found == findings.end()) throw std::runtime_error("no finding " + name);
  return *found;
}

// Whatever is wrong says why that matters and what to do; what is not says neither.
inline void expect_whole(const Finding& finding, bool wrong = true) {
  EXPECT_EQ(finding.status != FindingStatus::ok, wrong) << finding.name << ": " << finding.detail;
  EXPECT_EQ(finding.why.empty(), !wrong) << finding.name;
  EXPECT_EQ(finding.remedy.empty(), !wrong) << finding.name;
}

}  // namespace fenceline::test
