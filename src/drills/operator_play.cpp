#include <algorithm>
#include <cctype>
#include <span>
#include <sstream>

#include "cli/frame/text.hpp"
#include "drills/operator.hpp"
#include "drills/operator_rules.hpp"

namespace fenceline::cli {
namespace {

constexpr double kAged = 2.5;  // seconds: no gauge is that old by itself

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool stands_for_any(const std::string& word) {
  return word.size() > 1 && std::ranges::all_of(word, [](unsigned char c) { return std::isupper(c) != 0 || c == '_'; });
}

bool fits(std::span<const std::string> promised, std::span<const std::string> given) {
  if (promised.empty()) return given.empty();
  if (promised.front() == "...")
    return fits(promised.subspan(1), given) || (!given.empty() && fits(promised, given.subspan(1)));
  return !given.empty() && (promised.front() == given.front() || stands_for_any(promised.front())) &&
         fits(promised.subspan(1), given.subspan(1));
}

std::string with(std::string text, const std::string& word, const std::string& instead) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + instead.size()))
    text.replace(at, word.size(), instead);
  return text;
}

std::string filled(const OperatorFault& fault, std::string remedy) {
  for (const auto& [word, instead] : fault.fill) remedy = with(std::move(remedy), word, instead);
  return with(std::move(remedy), "CMD", "true");
}

// One after the other; the scene does nothing more once something went wrong.
class Play {
 public:
  Play(const OperatorFault& fault, OperatorScene& scene, const std::string& rules_path)
      : fault_(fault), scene_(scene), rules_path_(rules_path) {}

  OperatorVerdict run() {
    prepare();
    if (well()) fault_.bring_about(scene_);
    if (well()) look();
    if (well()) ask_for_the_alert();
    if (well()) fix();
    verdict_.trouble = scene_.trouble();
    return std::move(verdict_);
  }

 private:
  bool well() const { return scene_.trouble().empty(); }

  void prepare() {
    if (fault_.prepare) fault_.prepare(scene_);
    if (well() && scene_.watched() < 0) stand_by();
    if (well() && scene_.finding(fault_.check).is_trouble())
      scene_.fail("doctor names " + fault_.check + " before the fault");
    before_ = scene_.scrape().value_or(Scrape{});
    verdict_.before = value_in(before_);
  }

  // A worker that has nothing to do but to be scraped.
  void stand_by() { scene_.watch(scene_.work({"standby"}, "true", {"--no-schedules"})); }

  double value_in(const Scrape& scrape) {
    const std::optional<double> value = scrape.sum(fault_.metric);
    if (!value) scene_.fail("the worker's metrics lack " + fault_.metric);
    return value.value_or(0);
  }

  void look() {
    scene_.until("doctor names " + fault_.check, [&] {
      verdict_.finding = scene_.finding(fault_.check);
      // Which command fixes it may become known a moment later: a worker that was killed is missed only after a while.
      return verdict_.finding.is_trouble() && (fault_.fix || is_as_promised(fault_.command, verdict_.finding.remedy));
    });
    if (verdict_.finding.is_trouble() && !well())
      scene_.fail_with("doctor says '" + printable(verdict_.finding.remedy, 200) + "' instead of '" + fault_.command +
                       "'");
    verdict_.named = well();
    if (fault_.silences) {
      scene_.until("the metrics page is gone", [&] { return !scene_.can_be_scraped(); });
      verdict_.moved = well();
      return;
    }
    if (fault_.seen_at_start) stand_by();
    scene_.until(fault_.metric + " moves", [&] {
      during_ = scene_.scrape().value_or(Scrape{});
      verdict_.during = well() ? value_in(during_) : 0;
      return fault_.ages ? verdict_.during > verdict_.before + kAged : verdict_.during != verdict_.before;
    });
    verdict_.moved = well();
  }

  void ask_for_the_alert() {
    const std::string wrong = alert_fires({.rules_path = rules_path_,
                                           .alert = alert_of(fault_),
                                           .check = fault_.one_alert_for_many ? fault_.check : "",
                                           .ages = fault_.ages ? fault_.metric : ""},
                                          scene_.folder(), before_, during_);
    if (!wrong.empty()) scene_.fail(wrong);
    verdict_.fired = wrong.empty();
  }

  void fix() {
    if (fault_.fix) {
      fault_.fix(scene_);
    } else {
      scene_.type(filled(fault_, verdict_.finding.remedy));
    }
    if (fault_.then) fault_.then(scene_);
    scene_.until("doctor no longer names " + fault_.check + " after its command",
                 [&] { return !scene_.finding(fault_.check).is_trouble(); });
    verdict_.fixed = well();
    scene_.stop_typed();
  }

  const OperatorFault& fault_;
  OperatorScene& scene_;
  const std::string& rules_path_;
  Scrape before_;
  Scrape during_;
  OperatorVerdict verdict_;
};

}  // namespace

std::string alert_of(const OperatorFault& fault) {
  if (!fault.alert.empty()) return fault.alert;
  std::string name = "Fenceline";
  bool begins = true;
  for (const char c : fault.check) {
    if (c != '_') name += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  return name;
}

std::string runbook_of(const OperatorFault& fault) {
  // Bad findings come together with warnings.
  std::string alert = alert_of(fault);
  if (alert.ends_with("Bad")) alert.resize(alert.size() - 3);
  std::string name;
  for (const char c : alert.substr(std::string_view("Fenceline").size())) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !name.empty()) name += '-';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name + ".md";
}

bool is_as_promised(const std::string& command, const std::string& remedy) {
  return fits(words_of(command), words_of(remedy));
}

OperatorVerdict play_fault(const OperatorFault& fault, OperatorScene& scene, const std::string& rules_path) {
  const Instant began = scene.runtime().now();
  OperatorVerdict verdict = Play(fault, scene, rules_path).run();
  verdict.took = scene.runtime().now() - began;
  return verdict;
}

}  // namespace fenceline::cli
