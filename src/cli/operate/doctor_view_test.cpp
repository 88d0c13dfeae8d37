#include "cli/operate/doctor_view.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

const WallTime kDoctorNow = std::chrono::sys_days{std::chrono::year{2026} / 11 / 16} + 12h + 4min;

Diagnosis some() {
  const std::string id = "0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10";
  return {
      .store = "sqlite:fenceline.db",
      .profile = StoreProfile{"sqlite",
                              "sqlite:fenceline.db",
                              GuaranteeClass::b,
                              {"synchronous=FULL: a commit is on disk before it is acknowledged"}},
      .findings = {
          {{"beliefs", FindingStatus::bad,
            "w-1 believes it holds " + id + " under fence 5; the store gave it to w-2 under 7 at 12:03:11Z",
            "fenceline workers stop w-1",
            "its handler may still act: what it writes is refused only where the fence is checked", kDoctorNow - 49s}},
          {{"stale_jobs", FindingStatus::warning,
            "job " + id +
                " of queue mail: the lease of w-1 under fence 5 expired 12s ago, and no worker has taken over",
            "fenceline work mail -- CMD", "nobody works on it", kDoctorNow - 12s}},
          {{"stale_jobs",
            FindingStatus::warning,
            "and 3 more",
            "fenceline jobs --state running",
            "nobody works on it",
            {}}},
          {{"wal_size", FindingStatus::ok, "1.2 MiB", "", "", {}}}}};
}

TEST(DoctorView, PutsTheWorstLastAndTheCommandOnALineOfItsOwn) {
  EXPECT_EQ(diagnosis_text(some(), kDoctorNow, 80, false, true),
            "class     B   synchronous=FULL: a commit is on disk before it is acknowledged\n"
            "wal_size  ok  1.2 MiB\n"
            "\n"
            "warning  stale_jobs  since 12:03:48Z, 12s ago\n"
            "  job 0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10 of queue mail: the lease of w-1 under\n"
            "  fence 5 expired 12s ago, and no worker has taken over\n"
            "  why: nobody works on it\n"
            "  fix: fenceline work mail -- CMD\n"
            "\n"
            "warning  stale_jobs\n"
            "  and 3 more\n"
            "  fix: fenceline jobs --state running\n"
            "\n"
            "bad  beliefs  since 12:03:11Z, 49s ago\n"
            "  w-1 believes it holds 0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10 under fence 5; the\n"
            "  store gave it to w-2 under 7 at 12:03:11Z\n"
            "  why: its handler may still act: what it writes is refused only where the fence\n"
            "  is checked\n"
            "  fix: fenceline workers stop w-1\n"
            "\n"
            "1 bad, 2 warnings, 1 ok; class B\n");
}

TEST(DoctorView, HasOneLineForAllThatIsWell) {
  Diagnosis well = some();
  std::erase_if(well.findings, [](const ToldFinding& told) { return told.finding.status != FindingStatus::ok; });
  EXPECT_EQ(diagnosis_text(well, kDoctorNow, 80, false, false),
            "0 bad, 0 warnings, 1 ok; class B; --all lists each check\n");
  EXPECT_TRUE(diagnosis_text(some(), kDoctorNow, 80, false, false).starts_with("warning  stale_jobs"));
  EXPECT_TRUE(diagnosis_text(some(), kDoctorNow, 80, false, false)
                  .ends_with("\n1 bad, 2 warnings, 1 ok; class B; --all lists each check\n"));
}

TEST(DoctorView, IsHealthyWithWarningsAndNotWithAnythingBad) {
  Diagnosis diagnosis = some();
  EXPECT_FALSE(diagnosis.healthy());
  diagnosis.findings.erase(diagnosis.findings.begin());
  EXPECT_TRUE(diagnosis.healthy());
}

TEST(DoctorView, ShowsNothingThatCouldSteerATerminal) {
  Diagnosis diagnosis = some();
  diagnosis.findings[0].finding.detail = "job \x1b[2J failed";
  EXPECT_EQ(diagnosis_text(diagnosis, kDoctorNow, 80, false, true).find('\x1b'), std::string::npos);
}

TEST(DoctorView, APastedCommandMeansTheSameStoreAndNamespace) {
  Invocation invocation;
  invocation.store_url = "sqlite:a b.db";
  invocation.ns = "team";
  invocation.settings = {{"store", "sqlite:a b.db", "fenceline.toml:1"}, {"namespace", "team", "FENCELINE_NAMESPACE"}};
  EXPECT_EQ(pasteable(invocation, "fenceline job cancel 17", ""), "fenceline job cancel 17")
      << "as whoever pastes it has it, too";
  EXPECT_EQ(pasteable(invocation, "fenceline job cancel 17", "other"), "fenceline --namespace other job cancel 17");
  for (Setting& setting : invocation.settings) setting.origin = "flag";
  EXPECT_EQ(pasteable(invocation, "fenceline job cancel 17", ""),
            "fenceline --store 'sqlite:a b.db' --namespace team job cancel 17");
  EXPECT_EQ(pasteable(invocation, "ssh box kill -CONT 7 || fenceline workers forget w-1", ""),
            "ssh box kill -CONT 7 || fenceline --store 'sqlite:a b.db' --namespace team workers forget w-1");
  EXPECT_EQ(pasteable(invocation, "kill -CONT 7", ""), "kill -CONT 7");
  EXPECT_EQ(pasteable(invocation, "fenceline doctor --namespace x", ""),
            "fenceline --store 'sqlite:a b.db' doctor --namespace x");
  invocation.store_url = "postgres://me:secret@db/x";
  EXPECT_EQ(pasteable(invocation, "fenceline job cancel 17", "").find("secret"), std::string::npos);
}

}  // namespace
}  // namespace fenceline::cli
