#include "cli/jobs/act_report.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

TEST(ActReport, ARefusalSaysWhatWhyAndWhatToDo) {
  for (const Reason reason :
       {Reason::not_found, Reason::finished, Reason::key_taken, Reason::effect_in_doubt, Reason::other}) {
    const Error error = refusal_error({.id = {}, .reason = reason, .holder = std::nullopt}, "default");
    EXPECT_NE(error.message.find("00000000-0000-0000-0000-000000000000"), std::string::npos);
    EXPECT_NE(error.message.find("; "), std::string::npos) << error.message;
  }
}

}  // namespace
}  // namespace fenceline::cli
