#include "backends/trackers/open_tracker.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <map>

#include "runtime/thread_runtime.hpp"

namespace fenceline {
namespace {

class OpenTracker : public testing::Test {
 protected:
  Environment environment() {
    return [this](const std::string& name) {
      const auto at = set_.find(name);
      return at == set_.end() ? std::nullopt : std::optional(at->second);
    };
  }
  std::string refusal(std::string_view url) {
    const Result<TrackerAddress> address = parse_tracker_url(url, environment());
    return address ? "it was taken" : address.error().message;
  }
  std::map<std::string, std::string> set_;
  ThreadRuntime runtime_;
};

TEST_F(OpenTracker, ReadsWhereATrackerIs) {
  EXPECT_EQ(parse_tracker_url("github:acme/docs.v2", environment()),
            (TrackerAddress{TrackerAddress::Kind::github, "https://api.github.com", "acme/docs.v2"}));
  EXPECT_EQ(parse_tracker_url("redmine+https://pm.example.org/sub/docs/", environment()),
            (TrackerAddress{TrackerAddress::Kind::redmine, "https://pm.example.org/sub", "docs"}));
  EXPECT_EQ(parse_tracker_url("redmine+http://127.0.0.1:3000/docs", environment()),
            (TrackerAddress{TrackerAddress::Kind::redmine, "http://127.0.0.1:3000", "docs"}));
  set_["GITHUB_API_URL"] = "https://ghe.example.org/api/v3/";
  EXPECT_EQ(parse_tracker_url("github:acme/docs", environment())->base, "https://ghe.example.org/api/v3");
}

TEST_F(OpenTracker, SaysWhatIsWrongWithAnAddress) {
  for (const char* odd : {"github:", "github:acme", "github:acme/", "github:/docs", "github:acme/../x",
                          "github:acme/docs/issues", "github:ac me/docs"})
    EXPECT_EQ(refusal(odd), "the address of a tracker on GitHub is github:OWNER/NAME") << odd;
  EXPECT_EQ(refusal("redmine+pm.example.org/docs"),
            "the tracker's address must start with https://; write redmine+https://HOST/PROJECT");
  EXPECT_EQ(refusal("redmine+https://pm.example.org"),
            "the address of a tracker on Redmine is redmine+https://HOST/PROJECT; the project is missing");
  EXPECT_NE(refusal("redmine+http://pm.example.org/docs").find("use https://"), std::string::npos);
  EXPECT_NE(refusal("redmine+http://127.0.0.1.example.org/docs").find("use https://"), std::string::npos);
  EXPECT_NE(refusal("redmine+https://key:s3cret@pm.example.org/docs").find("mode 0600"), std::string::npos);
  EXPECT_EQ(refusal("redmine+https://key:s3cret@pm.example.org/docs").find("s3cret"), std::string::npos);
  EXPECT_NE(refusal("redmine+https://pm.example.org/docs?key=s3cret").find("more than a host and a path"),
            std::string::npos);
  EXPECT_NE(refusal("jira:x").find("give --store github:OWNER/NAME or --store redmine+https://HOST/PROJECT"),
            std::string::npos);
  set_["GITHUB_API_URL"] = "http://ghe.example.org";
  EXPECT_NE(refusal("github:acme/docs").find("use https://"), std::string::npos);
}

TEST_F(OpenTracker, TakesASecretFromTheEnvironmentOrAFileOfItsOwnerAlone) {
  EXPECT_EQ(secret_from({"A", "B"}, environment()).error().code, Code::denied);
  set_["B"] = "b-token\n";
  EXPECT_EQ(secret_from({"A", "B"}, environment()), "b-token");
  const std::string path = testing::TempDir() + "token-" + std::to_string(::getpid());
  std::ofstream(path) << "a-token\n";
  set_["A_FILE"] = path;
  ::chmod(path.c_str(), 0640);
  const Result<std::string> open_to_others = secret_from({"A", "B"}, environment());
  EXPECT_EQ(open_to_others.error().code, Code::denied);
  EXPECT_NE(open_to_others.error().message.find("chmod 600 " + path), std::string::npos);
  ::chmod(path.c_str(), 0600);
  EXPECT_EQ(secret_from({"A", "B"}, environment()), "a-token");
  std::ofstream(path) << "two\nlines\n";
  EXPECT_EQ(secret_from({"A"}, environment()).error().code, Code::invalid);
  ::unlink(path.c_str());
  EXPECT_EQ(secret_from({"A"}, environment()).error().code, Code::unavailable);
}

TEST_F(OpenTracker, NeedsAToken) {
  const auto without = open_tracker(runtime_, "github:acme/docs", environment());
  ASSERT_FALSE(without);
  EXPECT_EQ(
      without.error().message,
      "there is no token for the tracker; set FENCELINE_GITHUB_TOKEN, or FENCELINE_GITHUB_TOKEN_FILE to a file of "
      "mode 0600 that holds it");
  set_["GH_TOKEN"] = "x";
  EXPECT_EQ((*open_tracker(runtime_, "github:acme/docs", environment()))->place(), "github:acme/docs");
  set_["FENCELINE_REDMINE_KEY"] = "y";
  EXPECT_EQ((*open_tracker(runtime_, "redmine+https://pm.example.org/docs", environment()))->place(),
            "redmine+https://pm.example.org/docs");
}

}  // namespace
}  // namespace fenceline
