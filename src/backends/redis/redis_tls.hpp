// TLS between a connection and its socket, in memory only: who has the socket sends and receives. Safe to use by one
// that writes and one that reads.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "backends/redis/redis_address.hpp"
#include "backends/redis/resp.hpp"
#include "base/result.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace fenceline::redis {

class TlsSession {
 public:
  // The server's certificate must be by an authority that is trusted and for the host of the address. Errors: invalid
  // (ca=FILE cannot be used).
  static Result<std::unique_ptr<TlsSession>> start(const Address& address);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // One step with what came. True: it is over. Errors: denied (not believed), unavailable (no agreement).
  Result<bool> handshake(std::string_view came);
  // Errors: unavailable.
  Result<void> encrypt(std::string_view plain);
  // Into the parser. Errors: broken (the session is over).
  Result<void> decrypt(std::string_view came, RespParser& parser);
  // Appends what must go out, in its order.
  void take_outgoing(std::string& out);

 private:
  TlsSession(ssl_ctx_st* context, ssl_st* session) : context_(context), session_(session) {}
  void give(std::string_view came);

  std::mutex mutex_;  // guards the session: it knows one caller at a time
  ssl_ctx_st* context_;
  ssl_st* session_;
};

}  // namespace fenceline::redis
