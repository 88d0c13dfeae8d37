// A handler in the simulator: one that charges a card twice when its worker dies at the wrong moment, and one that does
// not. `example_simulated_handler naive` is caught and exits with 1; `example_simulated_handler careful` holds.
#include <cstdio>
#include <set>
#include <string>
#include <string_view>

#include "fenceline/sim.hpp"

namespace {

using namespace std::chrono_literals;

// What the outside world remembers. It lives on when a worker dies, as a bank does.
struct Bank {
  int charges = 0;
  std::set<fenceline::JobId> seen;

  void charge() { charges += 1; }
  // With an idempotency key: the id of the job, which is the same at each delivery. Never the fence, which is not.
  void charge_once(const fenceline::JobId& key) {
    if (seen.insert(key).second) charges += 1;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bool careful = argc > 1 && std::string_view(argv[1]) == "careful";
  Bank bank;
  const auto report = fenceline::sim::try_handler(
      {.jobs = {{.payload = R"({"card": 1})"}, {.payload = R"({"card": 2})"}, {.payload = R"({"card": 3})"}},
       .handler =
           [&](const fenceline::Run& run, fenceline::sim::Here& here) {
             here.work(1s);  // looks up the customer
             if (careful) bank.charge_once(run.job.id);
             else bank.charge();
             here.work(1s);  // writes the receipt
             return fenceline::RunResult::done("charged");
           },
       .weather = fenceline::sim::Conditions::rough(),
       .seeds = 200,
       .begin = [&] { bank = {}; },
       .check = [&](const fenceline::sim::TrialStory& story) -> std::string {
         if (bank.charges == static_cast<int>(story.jobs.size())) return "";
         return std::to_string(bank.charges) + " charges for " + std::to_string(story.jobs.size()) + " jobs";
       }});
  if (!report) {
    std::fprintf(stderr, "simulated_handler: %s\n", report.error().message.c_str());
    return 64;
  }
  std::printf("%llu storms, %lld deliveries, %lld of them again\n", static_cast<unsigned long long>(report->seeds),
              static_cast<long long>(report->deliveries), static_cast<long long>(report->deliveries_again));
  if (report->held()) {
    std::printf("each card was charged once\n");
    return 0;
  }
  const fenceline::sim::TrialStory& story = report->failed.front();
  std::printf("caught with seed %llu: %s\n", static_cast<unsigned long long>(story.seed), story.wrong.front().c_str());
  for (const fenceline::sim::TrialDelivery& delivery : story.deliveries)
    std::printf("  delivery %lld to %s ended: %s\n", static_cast<long long>(delivery.number), delivery.worker.c_str(),
                delivery.end.c_str());
  return 1;
}
