// What a process tells at its /metrics, in Prometheus' text format: read once, then looked up and compared.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace fenceline::cli {

struct Scrape {
  std::map<std::string, std::string> types;  // of a family: "counter", "gauge", "histogram"
  std::map<std::string, double>
      series;  // by its name and labels as they were written: "fenceline_jobs{queue=\"mail\",state=\"dead\"}"

  // Whether it only grows while its process lives: a counter, or a part of a histogram.
  bool only_grows(const std::string& one_series) const;

  // The sum of all series of that name; with labels behind it (name{state="dead"}), of those that have them. Of a
  // histogram: how many were observed. Empty: there is none.
  std::optional<double> sum(std::string_view selector) const;
};

// Whether a series is one of those that a selector names, as for Scrape::sum.
bool is_of(std::string_view one_series, std::string_view selector);

// Errors: invalid (a line that is none of the format), with the line.
Result<Scrape> parse_scrape(std::string_view text);

// Asks `address`, as the event metrics_listening tells it: "127.0.0.1:9464". Errors: unavailable, and as parse_scrape.
Result<Scrape> scrape(const std::string& address);

}  // namespace fenceline::cli
