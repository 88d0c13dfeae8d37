#include "http/http_client.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "base/text.hpp"

namespace fenceline::http {

struct EndHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using Handle = std::unique_ptr<CURL, EndHandle>;  // a part of Client

namespace {

struct EndList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, EndList>;

bool library_is_up() {
  static const bool up = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return up;
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

// An answer as it comes.
struct Arriving {
  Response response;
  std::size_t bytes_max = 0;
  bool too_long = false;
};

std::size_t take_body(char* data, std::size_t, std::size_t size, void* context) {
  Arriving& arriving = *static_cast<Arriving*>(context);
  if (arriving.response.body.size() + size > arriving.bytes_max) {
    arriving.too_long = true;
    return 0;  // ends the transfer
  }
  arriving.response.body.append(data, size);
  return size;
}

std::size_t take_header(char* data, std::size_t, std::size_t size, void* context) {
  Arriving& arriving = *static_cast<Arriving*>(context);
  const std::string_view line(data, size);
  if (line.starts_with("HTTP/")) {
    arriving.response.headers.clear();  // of an answer before: 100, or a proxy's
  } else if (const auto colon = line.find(':'); colon != std::string_view::npos) {
    arriving.response.headers.push_back({lower_case(line.substr(0, colon)), trimmed(line.substr(colon + 1))});
  }
  return size;
}

bool is_here(std::string_view url) {
  const auto at = url.find("://");
  const std::string_view rest = at == std::string_view::npos ? url : url.substr(at + 3);
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  return host.starts_with("127.0.0.1") || host.starts_with("localhost") || host.starts_with("[::1]");
}

bool only_reads(const std::string& method) { return method == "GET" || method == "HEAD"; }

List list_of(const std::vector<Header>& headers) {
  curl_slist* list = nullptr;
  const auto add = [&](const std::string& line) {
    curl_slist* longer = curl_slist_append(list, line.c_str());
    if (longer == nullptr) {
      curl_slist_free_all(list);
      throw std::bad_alloc();
    }
    list = longer;
  };
  for (const Header& header : headers) add(header.name + ": " + header.value);
  add("Expect:");  // no question before the body: it costs a round trip
  return List(list);
}

}  // namespace

std::optional<std::string> Response::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &Header::name);
  if (found == headers.end()) return std::nullopt;
  return found->value;
}

std::optional<WallTime> Response::date() const {
  const std::optional<std::string> text = header("date");
  return text ? parse_date(*text) : std::nullopt;
}

std::optional<WallTime> parse_date(const std::string& text) {
  const time_t seconds = curl_getdate(text.c_str(), nullptr);
  if (seconds < 0) return std::nullopt;
  return WallTime(std::chrono::seconds{seconds});
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_letter_or_digit(c) || std::string_view("-._~").contains(c)) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

struct Client::Parts {
  ClientOptions options;
  std::mutex mutex;
  std::vector<Handle> idle;

  Handle take() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return Handle(curl_easy_init());
    Handle handle = std::move(idle.back());
    idle.pop_back();
    return handle;
  }
  void give_back(Handle handle) {
    curl_easy_reset(handle.get());  // its connections stay
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(handle));
  }
};

Client::Client(ClientOptions options) : parts_(std::make_unique<Parts>()) { parts_->options = std::move(options); }
Client::~Client() = default;

std::expected<Response, Failure> Client::send(const Request& request) {
  if (!library_is_up()) return std::unexpected(Failure{.message = "libcurl failed to initialise"});
  const auto has_line_end = [](const Header& header) {
    return (header.name + header.value).find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos;
  };
  if (std::ranges::any_of(request.headers, has_line_end))
    return std::unexpected(Failure{.message = "a header must not contain a line break"});
  Handle handle = parts_->take();
  if (!handle) return std::unexpected(Failure{.message = "out of memory for a request"});
  const List headers = list_of(request.headers);
  Arriving arriving{.bytes_max = parts_->options.answer_bytes_max};
  CURL* curl = handle.get();
  const auto set = [curl](CURLoption option, auto value) { return curl_easy_setopt(curl, option, value); };
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!only_reads(request.method) || !request.body.empty()) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.c_str());
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  if (request.method == "HEAD") set(CURLOPT_NOBODY, 1L);
  if (!only_reads(request.method)) {
    set(CURLOPT_FRESH_CONNECT, 1L);
    set(CURLOPT_FORBID_REUSE, 1L);
  }
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_USERAGENT, parts_->options.user_agent.c_str());
  set(CURLOPT_ACCEPT_ENCODING, "");
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(
                              1, std::chrono::ceil<std::chrono::milliseconds>(request.timeout).count())));
  set(CURLOPT_WRITEFUNCTION, take_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&arriving));
  set(CURLOPT_HEADERFUNCTION, take_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&arriving));
  if (!parts_->options.ca_file.empty()) set(CURLOPT_CAINFO, parts_->options.ca_file.c_str());
  if (is_here(request.url)) set(CURLOPT_PROXY, "");
  const CURLcode code = curl_easy_perform(curl);
  curl_off_t began_sending = 0;
  curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &began_sending);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  parts_->give_back(std::move(handle));
  if (arriving.too_long)
    return std::unexpected(Failure{
        .sent = true, .message = "the answer has more than " + std::to_string(arriving.bytes_max >> 20) + " MiB"});
  if (code != CURLE_OK)
    return std::unexpected(Failure{.sent = began_sending > 0, .message = lower_case(curl_easy_strerror(code))});
  arriving.response.status = static_cast<int>(status);
  return std::move(arriving.response);
}

}  // namespace fenceline::http
