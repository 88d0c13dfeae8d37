// One connection to the server, which never blocks longer than it is told (but for the name of a host, which the system
// looks up in its own time). One thread may write while another reads.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/command.hpp"
#include "backends/redis/redis_address.hpp"
#include "backends/redis/redis_errors.hpp"
#include "backends/redis/resp.hpp"
#include "base/result.hpp"
#include "runtime/clock.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline::redis {

class TlsSession;

// A read that may take at least this long is one system call, and ends after this long at the latest.
inline constexpr Duration kReadSlice = std::chrono::milliseconds{100};

class Connection {
 public:
  // Connected, let in, and in its database. Whoever waits for a server that does not answer hears `stop`. Errors: as
  // error_of; unavailable if it cannot be reached or the deadline comes first; denied (its certificate is not
  // believed); held (stopped).
  static Result<std::unique_ptr<Connection>> connect(const Clock& clock, const Address& address, Instant deadline,
                                                     const std::stop_token& stop = {});
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // One command and its answer, for who has the connection alone. Errors: unavailable if not all of it went out;
  // in_doubt if no answer came until the deadline or a stop. After either the connection is of no use. An error that
  // the server answered is a value.
  Result<Value> call(const Command& command, Instant deadline, const std::stop_token& stop = {});

  // Takes from the front of `bytes` what can go out now. True: all is out. False: the rest must wait; call again, also
  // if `bytes` is empty. Errors: unavailable, the connection is over: what is left in `bytes` will not go out.
  Result<bool> write(std::string& bytes);
  // What came within the time. False: nothing. Errors: broken, the connection is over or the server sends garbage; what
  // came before is in `values`.
  Result<bool> read(std::vector<Value>& values, Duration at_most);

  // From any thread: whoever reads or writes finds that it is over.
  void shut();
  int socket() const { return socket_.get(); }

 private:
  explicit Connection(const Clock& clock, UniqueFd socket);

  Result<void> shake_hands(const Address& address, Instant deadline, const std::stop_token& stop);
  Result<void> log_in(const Address& address, Instant deadline, const std::stop_token& stop);
  // False: the deadline came, or a stop.
  bool wait(short events, Instant deadline, const std::stop_token& stop) const;
  // Bytes that went out: 0 if they must wait. Errors: unavailable.
  Result<std::size_t> send_some(std::string_view bytes);
  Result<bool> send_encrypted();
  // Bytes that came: 0 if none did. Errors: broken.
  Result<std::size_t> receive(char* room, std::size_t size, Duration at_most);

  const Clock& clock_;
  UniqueFd socket_;
  std::unique_ptr<TlsSession> tls_;
  std::string encrypted_;       // on its way out; of who writes
  std::string received_;        // of who reads, before it is decrypted
  RespParser parser_;           // of who reads
  std::vector<Value> answers_;  // of call()
};

}  // namespace fenceline::redis
