#include "backends/trackers/open_tracker.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/trackers/github.hpp"
#include "backends/trackers/github_webhook.hpp"
#include "backends/trackers/redmine.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline {
namespace {

constexpr std::string_view kGithub = "github:";
constexpr std::string_view kRedmine = "redmine+";
constexpr std::size_t kSecretBytesMax = 4096;

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 100 && text != "." && text != ".." && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

// `example`: what it should look like.
Result<std::string> checked_base(std::string_view base, const std::string& what, const std::string& example) {
  const bool secure = base.starts_with("https://");
  if (!secure && !base.starts_with("http://"))
    return fail(Code::invalid, what + " must start with https://; write " + example);
  const std::string_view rest = base.substr(secure ? 8 : 7);
  const std::string_view host = rest.substr(0, rest.find('/'));
  if (host.contains('@'))
    return fail(Code::invalid, what +
                                   " contains a name or password, which other users could see in the process list; put "
                                   "the secret into the environment or a file of mode 0600");
  const std::string_view name =
      host.starts_with('[') ? host.substr(0, host.find(']') + 1) : host.substr(0, host.find(':'));
  if (name.empty()) return fail(Code::invalid, what + " does not name a host; write " + example);
  if (!secure && name != "127.0.0.1" && name != "localhost" && name != "[::1]")
    return fail(Code::invalid, what + " would send a secret over http:// to another machine; use https://");
  if (base.find_first_of("?# \t\r\n") != std::string_view::npos ||
      std::ranges::any_of(base, [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    return fail(Code::invalid, what + " has more than a host and a path; write " + example);
  std::string whole(base);
  while (whole.ends_with('/')) whole.pop_back();
  return whole;
}

Result<std::string> trimmed_secret(std::string text, const std::string& from) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  if (text.empty() || text.size() > kSecretBytesMax || std::ranges::any_of(text, [](char c) {
        return static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f;
      }))
    return fail(Code::invalid, from + " must be one line of 1 to 4096 printable characters");
  return text;
}

Result<std::string> secret_in_file(const std::string& name, const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0)
    return fail(Code::unavailable, "cannot open the file that " + name + " names: " + std::strerror(errno));
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
    return fail(Code::invalid, name + " must name a regular file");
  if ((about.st_mode & 077) != 0)
    return fail(Code::denied, "other users can read the file that " + name + " names; fix it with: chmod 600 " + path);
  std::string text(kSecretBytesMax + 2, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got < 0) return fail(Code::unavailable, "cannot read the file that " + name + " names: " + std::strerror(errno));
  text.resize(static_cast<std::size_t>(got));
  return trimmed_secret(std::move(text), "the file that " + name + " names");
}

}  // namespace

bool is_tracker_url(std::string_view url) {
  return url.starts_with(kGithub) || url.starts_with("github+") || url.starts_with("redmine:") ||
         url.starts_with(kRedmine);
}

Result<TrackerAddress> parse_tracker_url(std::string_view url, const Environment& environment) {
  if (url.starts_with(kGithub)) {
    const std::string_view repository = url.substr(kGithub.size());
    const auto slash = repository.find('/');
    if (slash == std::string_view::npos || !is_word(repository.substr(0, slash)) ||
        !is_word(repository.substr(slash + 1)))
      return fail(Code::invalid, "the address of a tracker on GitHub is github:OWNER/NAME");
    const std::optional<std::string> api = environment("GITHUB_API_URL");
    const Result<std::string> base =
        checked_base(api && !api->empty() ? *api : "https://api.github.com", "GITHUB_API_URL", "https://HOST/api/v3");
    if (!base) return std::unexpected(base.error());
    return TrackerAddress{TrackerAddress::Kind::github, *base, std::string(repository)};
  }
  if (url.starts_with(kRedmine)) {
    const std::string example = "redmine+https://HOST/PROJECT";
    Result<std::string> base = checked_base(url.substr(kRedmine.size()), "the tracker's address", example);
    if (!base) return std::unexpected(base.error());
    const auto slash = base->rfind('/');
    const std::string project = base->substr(slash + 1);
    base->resize(slash);
    if (base->ends_with("/"))
      return fail(Code::invalid, "the address of a tracker on Redmine is " + example + "; the project is missing");
    if (!is_word(project))
      return fail(Code::invalid,
                  "the address of a tracker on Redmine is " + example + ", with the project's identifier");
    return TrackerAddress{TrackerAddress::Kind::redmine, *base, project};
  }
  return fail(
      Code::invalid,
      "this store is not an issue tracker; give --store github:OWNER/NAME or --store redmine+https://HOST/PROJECT");
}

Result<std::string> secret_from(const std::vector<std::string>& names, const Environment& environment) {
  for (const std::string& name : names) {
    if (const std::optional<std::string> value = environment(name); value && !value->empty())
      return trimmed_secret(*value, name);
    if (const std::optional<std::string> path = environment(name + "_FILE"); path && !path->empty())
      return secret_in_file(name + "_FILE", *path);
  }
  return fail(Code::denied, "there is no token for the tracker; set " + names.front() + ", or " + names.front() +
                                "_FILE to a file of mode 0600 that holds it");
}

Result<std::unique_ptr<tracker::Tracker>> open_tracker(const Clock& clock, std::string_view url,
                                                       const Environment& environment) {
  Result<TrackerAddress> address = parse_tracker_url(url, environment);
  if (!address) return std::unexpected(address.error());
  const bool github = address->kind == TrackerAddress::Kind::github;
  Result<std::string> secret =
      secret_from(github ? std::vector<std::string>{"FENCELINE_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"}
                         : std::vector<std::string>{"FENCELINE_REDMINE_KEY"},
                  environment);
  if (!secret) return std::unexpected(secret.error());
  const std::string ca_file = environment("FENCELINE_CA_FILE").value_or("");
  if (github)
    return tracker::open_github(clock, {.base = std::move(address->base),
                                        .repository = std::move(address->place),
                                        .token = std::move(*secret),
                                        .ca_file = ca_file});
  return tracker::open_redmine(clock, {.base = std::move(address->base),
                                       .project = std::move(address->place),
                                       .key = std::move(*secret),
                                       .ca_file = ca_file});
}

Result<http::HttpHandler> open_webhook(Log log, std::string_view url, const Environment& environment,
                                       std::string secret, std::vector<std::string> workers,
                                       std::function<void(const tracker::ItemId&)> hint) {
  Result<TrackerAddress> address = parse_tracker_url(url, environment);
  if (!address) return std::unexpected(address.error());
  if (address->kind != TrackerAddress::Kind::github)
    return fail(Code::refused, "Redmine has no webhooks; leave out --webhook, the worker polls (--poll)");
  const auto hook = std::make_shared<tracker::GithubWebhook>(
      log, tracker::GithubWebhookOptions{.secret = std::move(secret),
                                         .repository = std::move(address->place),
                                         .workers = std::move(workers),
                                         .hint = std::move(hint)});
  return [hook](const http::HttpRequest& request) { return hook->answer(request); };
}

}  // namespace fenceline
