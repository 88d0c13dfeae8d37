#include "cli/frame/progress_bar.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/frame/output.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kQuietFor = std::chrono::seconds{2};
constexpr Duration kRedrawEvery = std::chrono::milliseconds{100};
constexpr int kBar = 20;

double as_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// Whole units for people: "9s", "3m 20s", "2h 5m".
std::string roughly(double left) {
  const auto whole = static_cast<std::int64_t>(std::ceil(left));
  if (whole < 60) return std::to_string(whole) + "s";
  if (whole < 3600) return std::to_string(whole / 60) + "m " + std::to_string(whole % 60) + "s";
  return std::to_string(whole / 3600) + "h " + std::to_string(whole % 3600 / 60) + "m";
}

}  // namespace

std::string progress_text(const std::string& things, std::int64_t count, std::optional<double> done, Duration elapsed) {
  const double took = std::max(as_seconds(elapsed), 0.001);
  std::string text = std::to_string(count) + " " + things + ", " +
                     std::to_string(std::llround(static_cast<double>(count) / took)) + "/s";
  if (!done) return text;
  const double part = std::clamp(*done, 0.0, 1.0);
  const int filled = static_cast<int>(part * kBar);
  const int percent = static_cast<int>(part * 100);
  const std::string bar = "[" + std::string(static_cast<std::size_t>(filled), '#') +
                          std::string(static_cast<std::size_t>(kBar - filled), '.') + "]";
  const std::string number = std::to_string(percent);
  text = bar + " " + std::string(3 - number.size(), ' ') + number + "%  " + text;
  if (part > 0 && part < 1) text += ", " + roughly(took * (1 - part) / part) + " left";
  return text;
}

ProgressBar::ProgressBar(Runtime& runtime, std::string things)
    : runtime_(runtime),
      things_(std::move(things)),
      began_(runtime.now()),
      wanted_(stderr_is_terminal()),
      next_(began_ + kQuietFor) {}

void ProgressBar::show(std::int64_t count, std::optional<double> done) {
  if (!wanted_) return;
  const Instant now = runtime_.now();
  if (now < next_) return;
  next_ = now + kRedrawEvery;
  std::string text = progress_text(things_, count, done, now - began_);
  const std::size_t width = text.size();
  if (width < width_) text += std::string(width_ - width, ' ');
  width_ = width;
  std::fprintf(stderr, "\r%s", text.c_str());
}

void ProgressBar::end() {
  if (std::exchange(width_, 0) != 0) std::fputc('\n', stderr);
}

}  // namespace fenceline::cli
