#include "drills/operator_rules.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "cli/frame/json.hpp"
#include "cli/frame/text.hpp"
#include "runtime/collected_child.hpp"

namespace fenceline::cli {
namespace {

constexpr int kMinutesBefore = 120;  // longer than any window of the rules
constexpr int kMinutesDuring = 90;
constexpr std::size_t kWordsMost = 64 << 10;
constexpr double kADayAgo = -86400;
constexpr const char* kStartOfProcess = "process_start_time_seconds";

std::string number(double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.9f", value);
  std::string shown = text.data();
  shown.erase(shown.find_last_not_of('0') + 1);
  if (shown.ends_with('.')) shown.pop_back();
  return shown == "-0" ? "0" : shown;
}

// "0x119 3+1x60": a value, the increment per minute, and how often.
std::string values_before(double before) { return number(before) + "x" + std::to_string(kMinutesBefore - 1); }
std::string values(const std::optional<double>& before, double during, double each_minute) {
  const std::string first = before ? values_before(*before) : "_x" + std::to_string(kMinutesBefore);
  return first + " " + number(during) + "+" + number(each_minute) + "x" + std::to_string(kMinutesDuring);
}

// As a scraper would name where it comes from.
std::string with_place(const std::string& series) {
  const std::string place = "instance=\"drill\",job=\"fenceline\"";
  if (!series.ends_with('}')) return series + "{" + place + "}";
  return series.substr(0, series.size() - 1) + "," + place + "}";
}

static_assert(kMinutesBefore + kMinutesDuring == 210, "3h30m, as promtool words it");

}  // namespace

Result<void> find_promtool() {
  if (find_program("promtool")) return {};
  return fail(Code::unavailable,
              "promtool is missing, which evaluates the alert rules; install the package prometheus");
}

std::string rule_test(const AlertQuestion& question, const Scrape& before, const Scrape& during) {
  // Times of ours have no place in promtool's, which begin with 1970.
  const bool there = !during.series.empty();
  Json series = Json::array({{{"series", with_place("up")}, {"values", values(1, there ? 1 : 0, 0)}},
                             {{"series", with_place(kStartOfProcess)},
                              {"values", there ? values(kADayAgo, kADayAgo, 0) : values_before(kADayAgo)}}});
  for (const auto& [one, value] : before.series) {
    if (!during.series.contains(one) && one != kStartOfProcess && std::isfinite(value))
      series.push_back({{"series", with_place(one)}, {"values", values_before(value)}});
  }
  for (const auto& [one, value] : during.series) {
    const auto known = before.series.find(one);
    const std::optional<double> earlier = known == before.series.end() ? std::nullopt : std::optional(known->second);
    if (one == kStartOfProcess || !std::isfinite(value) || (earlier && !std::isfinite(*earlier))) continue;
    double each_minute = 0;
    if (during.only_grows(one)) each_minute = std::max(value - earlier.value_or(0), 0.0);
    else if (!question.ages.empty() && is_of(one, question.ages) && value > earlier.value_or(0)) each_minute = 60;
    series.push_back({{"series", with_place(one)}, {"values", values(earlier, value, each_minute)}});
  }
  // How it is labelled and worded is the rule's own business: what counts is that there is one that fires.
  const std::string check = question.check.empty() ? "" : ",check=\"" + question.check + "\"";
  const auto fired = [&](int minutes) {
    return "count(count_over_time(ALERTS{alertname=\"" + question.alert + "\",alertstate=\"firing\"" + check + "}[" +
           std::to_string(minutes) + "m])) > bool 0";
  };
  const Json before_it{{"expr", fired(kMinutesBefore)},
                       {"eval_time", std::to_string(kMinutesBefore - 1) + "m"},
                       {"exp_samples", Json::array()}};
  const Json during_it{{"expr", fired(kMinutesDuring)},
                       {"eval_time", std::to_string(kMinutesBefore + kMinutesDuring) + "m"},
                       {"exp_samples", Json::array({{{"labels", "{}"}, {"value", 1}}})}};
  const Json test{
      {"interval", "1m"}, {"input_series", series}, {"promql_expr_test", Json::array({before_it, during_it})}};
  // Prometheus reads YAML, and JSON is YAML.
  return Json{
      {"rule_files", Json::array({question.rules_path})}, {"evaluation_interval", "1m"}, {"tests", Json::array({test})}}
      .dump(1);
}

std::string alert_fires(const AlertQuestion& question, const std::string& folder, const Scrape& before,
                        const Scrape& during) {
  const std::string& alert = question.alert;
  const std::string path = folder + "/" + alert + ".test.yml";
  std::ofstream(path) << rule_test(question, before, during);
  const Result<Collected> told =
      collect({.command = {"/bin/sh", "-c", "exec promtool test rules \"$1\" 2>&1", "sh", path},
               .variables = {},
               .takes_input = false,
               .bytes_max = kWordsMost});
  if (!told) return "cannot start promtool: " + told.error().message;
  if (told->status == ExitStatus{}) return {};
  // Of the two questions, promtool names the ones that were answered otherwise by their time.
  if (told->output.find(", time: 3h30m,") != std::string::npos) return alert + " does not fire";
  if (told->output.find("got:") != std::string::npos) return alert + " fires before the fault";
  return "promtool cannot parse the rules or the scraped values: " + printable(one_line(told->output), 300);
}

}  // namespace fenceline::cli
