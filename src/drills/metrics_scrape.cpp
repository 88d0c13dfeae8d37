#include "drills/metrics_scrape.hpp"

#include <charconv>

#include "cli/frame/text.hpp"
#include "http/http_client.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kScrapeMost = std::chrono::seconds{10};  // as long as Prometheus waits by itself

std::string_view name_of(std::string_view series) { return series.substr(0, series.find('{')); }

// "queue=\"mail\",state=\"dead\"", or nothing.
std::string_view labels_of(std::string_view series) {
  const std::size_t open = series.find('{');
  if (open == std::string_view::npos) return {};
  return series.substr(open + 1, series.rfind('}') - open - 1);
}

// Where the name and the labels of a line end: a label's value may hold anything, a space and a brace too.
std::size_t end_of_series(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '\\') ++i;
    else if (line[i] == '"') quoted = !quoted;
    else if (line[i] == ' ' && !quoted) return i;
  }
  return std::string_view::npos;
}

std::optional<double> number_in(std::string_view text) {
  if (text == "+Inf") text.remove_prefix(1);  // from_chars takes no plus
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

bool Scrape::only_grows(const std::string& one_series) const {
  const std::string_view name = name_of(one_series);
  for (const std::string_view suffix : {"", "_total", "_bucket", "_sum", "_count"}) {
    if (!name.ends_with(suffix)) continue;
    const auto type = types.find(std::string(name.substr(0, name.size() - suffix.size())));
    if (type != types.end() && (type->second == "counter" || type->second == "histogram")) return true;
  }
  return false;
}

std::optional<double> Scrape::sum(std::string_view selector) const {
  const auto type = types.find(std::string(name_of(selector)));
  std::string wanted(selector);
  if (type != types.end() && type->second == "histogram") wanted.insert(name_of(selector).size(), "_count");
  std::optional<double> sum;
  for (const auto& [one, value] : series) {
    if (is_of(one, wanted)) sum = sum.value_or(0) + value;
  }
  return sum;
}

bool is_of(std::string_view one_series, std::string_view selector) {
  return name_of(one_series) == name_of(selector) &&
         labels_of(one_series).find(labels_of(selector)) != std::string_view::npos;
}

Result<Scrape> parse_scrape(std::string_view text) {
  constexpr std::string_view kType = "# TYPE ";
  Scrape read;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with(kType)) {
      const std::string_view type = line.substr(kType.size());
      const std::size_t space = type.find(' ');
      if (space != std::string_view::npos) read.types[std::string(type.substr(0, space))] = type.substr(space + 1);
    }
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t end = end_of_series(line);
    const std::string_view rest = end == std::string_view::npos ? std::string_view{} : line.substr(end + 1);
    const std::optional<double> value = number_in(rest.substr(0, rest.find(' ')));  // behind it there may be a time
    if (!value)
      return fail(Code::invalid, "'" + printable(line, 100) + "' is not a sample in the Prometheus text format");
    read.series[std::string(line.substr(0, end))] = *value;
  }
  return read;
}

Result<Scrape> scrape(const std::string& address) {
  http::Client client;
  const auto answer =
      client.send({.url = "http://" + address + "/metrics", .headers = {}, .body = {}, .timeout = kScrapeMost});
  if (!answer) return fail(Code::unavailable, address + " could not be scraped: " + answer.error().message);
  if (answer->status != 200)
    return fail(Code::unavailable,
                address + " answered with " + std::to_string(answer->status) + " instead of its metrics");
  return parse_scrape(answer->body);
}

}  // namespace fenceline::cli
