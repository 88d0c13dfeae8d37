#include "http/http_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <future>

#include "runtime/thread_runtime.hpp"
#include "runtime/unique_fd.hpp"
#include "support/results.hpp"

namespace fenceline::http {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::must;

// A server that runs, and what a test says to it without a client's help.
struct Serving {
  explicit Serving(HttpHandler handler, HttpServerOptions options = {})
      : server(must(HttpServer::open(runtime, options, std::move(handler)))) {
    task = runtime.spawn("serving", [this](std::stop_token stop) { server->run(std::move(stop)); });
  }

  std::string url(const std::string& path = "/") const { return "http://" + server->address() + path; }

  UniqueFd dial() const {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(server->port());
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    return socket;
  }

  ThreadRuntime runtime;
  std::unique_ptr<HttpServer> server;
  Task task;
};

void say(const UniqueFd& socket, const std::string& text) {
  EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

// Until the server hangs up.
std::string hear_all(const UniqueFd& socket) {
  std::string heard;
  char bytes[4096];
  for (ssize_t count; (count = ::recv(socket.get(), bytes, sizeof bytes, 0)) > 0;)
    heard.append(bytes, static_cast<std::size_t>(count));
  return heard;
}

// Until this has been heard.
std::string hear(const UniqueFd& socket, const std::string& last) {
  std::string heard;
  char byte;
  while (!heard.ends_with(last) && ::recv(socket.get(), &byte, 1, 0) == 1) heard += byte;
  return heard;
}

int times(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++count;
  return count;
}

HttpResponse echo(const HttpRequest& request) {
  return {.body = request.method + " " + request.target + " " + request.header("x-thing").value_or("-") + " " +
                  request.body};
}

TEST(HttpServer, GivesTheHandlerAllOfARequestAndTheClientAllOfTheAnswer) {
  Serving serving([](const HttpRequest& request) {
    return HttpResponse{.status = 202,
                        .body = echo(request).body + " " + std::string(request.path()),
                        .content_type = "text/x-own",
                        .headers = {{"X-More", "m"}}};
  });
  Client client;
  const std::string raw("\0\r\n\xff{}", 6);
  const auto answer =
      client.send({.method = "POST", .url = serving.url("/a?b=c"), .headers = {{"X-Thing", "t"}}, .body = raw});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 202);
  EXPECT_EQ(answer->body, "POST /a?b=c t " + raw + " /a");
  EXPECT_EQ(answer->header("content-type"), "text/x-own");
  EXPECT_EQ(answer->header("x-more"), "m");
  EXPECT_EQ(answer->header("cache-control"), "no-store");
  ASSERT_TRUE(answer->date());
  EXPECT_LT(serving.runtime.wall_now() - *answer->date(), 1h);
}

TEST(HttpServer, AnswersHeadWithoutABodyAndOldHttpWithAnEnd) {
  Serving serving(echo);
  Client client;
  const auto head = client.send({.method = "HEAD", .url = serving.url()});
  EXPECT_EQ(head->header("content-length"), "9");
  EXPECT_EQ(head->body, "");
  const UniqueFd old = serving.dial();
  say(old, "GET /old HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(hear_all(old).ends_with("\r\n\r\nGET /old - "));
}

TEST(HttpServer, AnswersPipelinedRequestsInTheirOrderOnOneConnection) {
  Serving serving(echo);
  const UniqueFd socket = serving.dial();
  std::string many;
  for (int i = 0; i < 50; ++i)
    many += "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi";
  say(socket, many + "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string heard = hear_all(socket);
  std::size_t before = 0;
  for (int i = 0; i < 50; ++i) {
    const std::size_t at = heard.find("POST /" + std::to_string(i) + " - hi");
    ASSERT_NE(at, std::string::npos) << i;
    EXPECT_GE(at, before);
    before = at;
  }
  EXPECT_TRUE(heard.ends_with("GET /last - "));
}

TEST(HttpServer, TakesARequestThatComesByteByByteInChunksOrAfterBeingAskedToGoOn) {
  Serving serving(echo);
  const UniqueFd slow = serving.dial();
  for (const char c : std::string("GET /slow HTTP/1.1\r\nX-Thing: s\r\nConnection: close\r\n\r\n"))
    say(slow, std::string(1, c));
  EXPECT_TRUE(hear_all(slow).ends_with("GET /slow s "));
  const UniqueFd chunks = serving.dial();
  say(chunks, "POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(hear(chunks, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  say(chunks, "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_TRUE(hear_all(chunks).ends_with("POST /c - abcde"));
}

TEST(HttpServer, RefusesWhatIsTooBigOrNoHttpAndSaysWhy) {
  std::atomic<int> handled = 0;
  Serving serving([&](const HttpRequest&) { return ++handled, HttpResponse{}; },
                  {.header_bytes_max = 1000, .body_bytes_max = 100});
  const auto answer_to = [&](const std::string& text) {
    const UniqueFd socket = serving.dial();
    say(socket, text);
    return hear_all(socket).substr(0, 12);
  };
  EXPECT_EQ(answer_to("POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x')), "HTTP/1.1 413");
  EXPECT_EQ(answer_to("POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"), "HTTP/1.1 413");
  EXPECT_EQ(answer_to("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + std::string(255, 'x') +
                      "\r\n0\r\n\r\n"),
            "HTTP/1.1 413");
  EXPECT_EQ(answer_to("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"), "HTTP/1.1 431");
  EXPECT_EQ(answer_to("GET /" + std::string(100'000, 'x') + " HTTP/1.1\r\n\r\n"), "HTTP/1.1 431");
  EXPECT_EQ(answer_to("nonsense\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(answer_to("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(answer_to("POST / HTTP/1.1\r\nContent-Length: 100\r\nConnection: close\r\n\r\n" + std::string(100, 'x')),
            "HTTP/1.1 200");
}

TEST(HttpServer, AHandlersHeaderWithALineEndIsAnErrorOfOurs) {
  Serving serving([](const HttpRequest&) { return HttpResponse{.headers = {{"X", "a\r\nSet-Cookie: b"}}}; });
  Client client;
  const auto answer = client.send({.url = serving.url()});
  EXPECT_EQ(answer->status, 500);
  EXPECT_EQ(answer->header("set-cookie"), std::nullopt);
}

// They hang, if the server does not hang up.
TEST(HttpServer, HangsUpOnWhoSendsHalfARequestOrNothing) {
  Serving serving(echo, {.read_timeout = 30ms, .idle_timeout = 30ms});
  const UniqueFd silent = serving.dial();
  EXPECT_EQ(hear_all(silent), "");
  const UniqueFd half = serving.dial();
  say(half, "GET / HTTP/1.1\r\nX-Th");
  EXPECT_EQ(hear_all(half), "");
  const UniqueFd body = serving.dial();
  say(body, "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(hear_all(body), "");
  Serving patient(echo, {.idle_timeout = 30ms});
  const UniqueFd idle = patient.dial();
  say(idle, "GET /one HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(hear_all(idle).ends_with("GET /one - "));
}

TEST(HttpServer, BytesThatDripDoNotPutTheEndOfPatienceOff) {
  Serving serving(echo, {.read_timeout = 100ms});
  const UniqueFd socket = serving.dial();
  say(socket, "GET / HTTP/1.1\r\nX: ");
  int dripped = 0;
  while (::send(socket.get(), "x", 1, MSG_NOSIGNAL) == 1)
    ASSERT_TRUE(serving.runtime.sleep_for(5ms, {})) << ++dripped;  // for ever, if each byte bought time
  SUCCEED();
}

TEST(HttpServer, WhoWaitsLongestMakesRoomForWhoHasARequest) {
  Serving serving(echo, {.connections_max = 4});
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(serving.dial());
  for (int i = 0; i < 16; ++i) EXPECT_EQ(hear_all(idle[static_cast<std::size_t>(i)]), "");
  Client client;
  const auto answer = client.send({.url = serving.url("/room")});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "GET /room - ");
  EXPECT_EQ(hear_all(idle[16]), "");
  say(idle[19], "GET /kept HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(hear_all(idle[19]).ends_with("GET /kept - "));
}

TEST(HttpServer, WhoSendsARequestForLongestMakesRoomWhereNobodyWaits) {
  Serving serving(echo, {.connections_max = 4, .read_timeout = 1h});
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(serving.dial());
    say(slow.back(), "POST /slow HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(hear(slow.back(), "\r\n\r\n").starts_with("HTTP/1.1 100")) << "it is being read";
  }
  Client client;
  const auto answer = client.send({.url = serving.url("/room")});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "GET /room - ");
  EXPECT_EQ(hear_all(slow[0]), "");
  say(slow[3], "hello");
  EXPECT_TRUE(hear_all(slow[3]).ends_with("POST /slow - hello"));
}

TEST(HttpServer, SaysThatItIsFullWhenAllAreAtWork) {
  std::promise<void> entered, go_on;
  const std::shared_future<void> told = go_on.get_future().share();
  Serving serving(
      [&](const HttpRequest&) {
        entered.set_value();
        told.wait();
        return HttpResponse{.body = "done"};
      },
      {.connections_max = 1});
  const UniqueFd first = serving.dial();
  say(first, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  entered.get_future().wait();
  EXPECT_TRUE(hear_all(serving.dial()).starts_with("HTTP/1.1 503"));
  go_on.set_value();
  EXPECT_TRUE(hear_all(first).ends_with("done"));
}

TEST(HttpServer, AHandlerThatWaitsDoesNotKeepOthersWaiting) {
  std::promise<void> quick_was_here;
  Serving serving([&](const HttpRequest& request) {
    if (request.target == "/quick") quick_was_here.set_value();
    if (request.target == "/slow") quick_was_here.get_future().wait();
    return HttpResponse{.body = "done"};
  });
  const UniqueFd slow = serving.dial();
  say(slow, "GET /slow HTTP/1.1\r\nConnection: close\r\n\r\n");
  Client client;
  EXPECT_EQ(client.send({.url = serving.url("/quick")})->body, "done");
  EXPECT_TRUE(hear_all(slow).ends_with("done"));
}

// It hangs, if a connection of any kind keeps it.
TEST(HttpServer, StopsAtOnceWhateverIsOpen) {
  Serving serving(echo, {.read_timeout = 1h, .idle_timeout = 1h, .write_timeout = 1h});
  const UniqueFd silent = serving.dial();
  const UniqueFd half = serving.dial();
  say(half, "GET / HTTP/1.1\r\nX-Th");
  const UniqueFd kept = serving.dial();
  say(kept, "GET /kept HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(hear(kept, "GET /kept - ").starts_with("HTTP/1.1 200"));
  serving.task.request_stop();
  serving.task.join();
  EXPECT_EQ(hear_all(silent), "");
  EXPECT_EQ(hear_all(half), "");
  EXPECT_EQ(hear_all(kept), "");
}

TEST(HttpServer, AnAnswerUnderWayGoesOutWhenItStops) {
  std::promise<void> entered, go_on;
  const std::shared_future<void> told = go_on.get_future().share();
  Serving serving([&](const HttpRequest&) {
    entered.set_value();
    told.wait();
    return HttpResponse{.body = "done"};
  });
  const UniqueFd socket = serving.dial();
  say(socket, "GET / HTTP/1.1\r\n\r\n");
  entered.get_future().wait();
  serving.task.request_stop();
  go_on.set_value();
  const std::string heard = hear_all(socket);
  EXPECT_TRUE(heard.ends_with("done"));
  EXPECT_EQ(times(heard, "Connection: close"), 1);
  serving.task.join();
}

TEST(HttpServer, OfAnAnswerThatNobodyReadsItLetsGoWhenItStops) {
  std::atomic<int> handled = 0;
  Serving serving([&](const HttpRequest&) { return ++handled, HttpResponse{.body = std::string(32 << 20, 'x')}; },
                  {.write_timeout = 1h});
  const UniqueFd socket = serving.dial();
  say(socket, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(hear(socket, "\r\n\r\n").starts_with("HTTP/1.1 200"));
  serving.task.request_stop();
  serving.task.join();
  EXPECT_EQ(handled, 1);
}

TEST(HttpServer, TellsItsPortAndWhyItCannotListen) {
  ThreadRuntime runtime;
  const auto first = must(HttpServer::open(runtime, {}, echo));
  EXPECT_NE(first->port(), 0);
  EXPECT_EQ(first->address(), "127.0.0.1:" + std::to_string(first->port()));
  const auto second = HttpServer::open(runtime, {.listen = {"127.0.0.1", first->port(), true}}, echo);
  EXPECT_EQ(code_of(second), Code::conflict);
  EXPECT_NE(second.error().message.find(first->address()), std::string::npos);
  EXPECT_EQ(code_of(HttpServer::open(runtime, {.listen = {"192.0.2.7", 0}}, echo)), Code::invalid);
  const auto everywhere = must(HttpServer::open(runtime, {.listen = {}}, echo));
  EXPECT_EQ(everywhere->address(), ":" + std::to_string(everywhere->port()));
}

TEST(HttpServer, ListensOnEveryAddressAndOnTheNewProtocol) {
  Client client;
  for (const char* where : {":0", "[::1]:0"}) {
    Serving serving(echo, {.listen = must(parse_listen_address(where))});
    const std::string host = where[0] == ':' ? "127.0.0.1" : "[::1]";
    const auto answer = client.send({.url = "http://" + host + ":" + std::to_string(serving.server->port()) + "/"});
    ASSERT_TRUE(answer) << where << answer.error().message;
    EXPECT_EQ(answer->status, 200);
  }
}

TEST(HttpServer, NoneOfItsSocketsGoesToACommand) {
  Serving serving(echo);
  const UniqueFd socket = serving.dial();
  say(socket, "GET / HTTP/1.1\r\n\r\n");
  hear(socket, "GET / - ");
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    int kind = 0;
    socklen_t size = sizeof kind;
    if (fd <= 2 || ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) != 0 || kind != SOCK_STREAM) continue;
    ++sockets;
    EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC) << fd;
  }
  EXPECT_GE(sockets, 3);
}

TEST(ListenAddress, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(must(parse_listen_address("127.0.0.1:0")), (ListenAddress{"127.0.0.1", 0, true}));
  EXPECT_EQ(must(parse_listen_address("[::1]:9464")), (ListenAddress{"::1", 9464, true}));
  EXPECT_EQ(must(parse_listen_address("localhost:9464")), (ListenAddress{"127.0.0.1", 9464, true}));
  EXPECT_EQ(must(parse_listen_address(":9464")), (ListenAddress{"", 9464, false}));
  EXPECT_EQ(must(parse_listen_address("0.0.0.0:80")), (ListenAddress{"0.0.0.0", 80, false}));
  EXPECT_EQ(must(parse_listen_address("10.1.2.3:65535")), (ListenAddress{"10.1.2.3", 65535, false}));
  for (const char* wrong :
       {"", ":", "9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:-1", "127.0.0.1:65536", "::1:9464",
        "[127.0.0.1]:1", "[::1]", "[]:1", "host:1", "127.0.0.1:1 ", "127.0.0.1:+1"})
    EXPECT_EQ(code_of(parse_listen_address(wrong)), Code::invalid) << wrong;
}

}  // namespace
}  // namespace fenceline::http
