// Whether an alert would fire for what a worker told before a fault and during it: asked of Prometheus' own promtool
// and the rules that come with this program. Rules wait for minutes; so that the drill need not, promtool is told that
// what was scraped lasted for hours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "drills/metrics_scrape.hpp"

namespace fenceline::cli {

// A file of ops/prometheus, as it was when the program was built.
struct RuleFile {
  std::string_view name;
  std::string_view text;
};
std::vector<RuleFile> alert_rules();

// promtool is there. Errors: unavailable, naming the package.
Result<void> find_promtool();

struct AlertQuestion {
  std::string rules_path;
  std::string alert;
  std::string check = {};  // that its label of this name must say; empty: whatever it says
  std::string ages = {};   // a gauge that is an age, by its name or with labels: it keeps growing while the fault lasts
};

// A test for promtool: two hours as before the fault, in which the alert must not fire; then an hour and a half as
// during it, in which it must. Who is not there during it is not scraped any more. What only grows goes on to grow,
// each minute by what it grew in the drill; the rest stays as it is. `before` and `during` are of the same process,
// which has run for a day.
std::string rule_test(const AlertQuestion& question, const Scrape& before, const Scrape& during);

// Writes that test into `folder` and runs it. Empty: the alert fires, and not before. Else a sentence.
std::string alert_fires(const AlertQuestion& question, const std::string& folder, const Scrape& before,
                        const Scrape& during);

}  // namespace fenceline::cli
