#include "backends/redis/redis_tls.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <limits>

#include "backends/redis/redis_errors.hpp"

namespace fenceline::redis {
namespace {

constexpr std::size_t kRecord = std::size_t{16} << 10;

std::string said_by_openssl() {
  const unsigned long error = ERR_get_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason ? reason : "TLS failed";
}

bool is_address(const std::string& host) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

bool expect_name(SSL* session, const std::string& name) {
  if (is_address(name)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name.c_str()) == 1;
  SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(session, name.c_str()) == 1 &&
         SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(name.c_str())) ==
             1;
}

}  // namespace

Result<std::unique_ptr<TlsSession>> TlsSession::start(const Address& address) {
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (!context) return fail(Code::unavailable, "TLS cannot be used: " + said_by_openssl());
  std::unique_ptr<TlsSession> made(new TlsSession(context, nullptr));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  // What is left out by the other side must not be taken for a proper end, and what we send may move in memory between
  // two tries.
  SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  const bool trusts = address.ca_file.empty() ? SSL_CTX_set_default_verify_paths(context) == 1
                                              : SSL_CTX_load_verify_file(context, address.ca_file.c_str()) == 1;
  if (!trusts)
    return fail(Code::invalid, "the file that ca= of the store's URL names holds no certificate that can be read: " +
                                   said_by_openssl());
  made->session_ = SSL_new(context);
  if (!made->session_) return fail(Code::unavailable, "TLS cannot be used: " + said_by_openssl());
  if (!expect_name(made->session_, address.server_name.empty() ? address.host : address.server_name))
    return fail(Code::invalid, "the host in the store's URL cannot be that of a certificate");
  BIO* from_server = BIO_new(BIO_s_mem());
  BIO* to_server = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(from_server, -1);
  SSL_set_bio(made->session_, from_server, to_server);
  SSL_set_connect_state(made->session_);
  return made;
}

TlsSession::~TlsSession() {
  SSL_free(session_);
  SSL_CTX_free(context_);
}

void TlsSession::give(std::string_view came) {
  while (!came.empty()) {
    const std::size_t part = std::min<std::size_t>(came.size(), std::numeric_limits<int>::max());
    BIO_write(SSL_get_rbio(session_), came.data(), static_cast<int>(part));
    came.remove_prefix(part);
  }
}

Result<bool> TlsSession::handshake(std::string_view came) {
  const std::lock_guard lock(mutex_);
  give(came);
  ERR_clear_error();
  const int done = SSL_do_handshake(session_);
  if (done == 1) return true;
  const int error = SSL_get_error(session_, done);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return false;
  const long verified = SSL_get_verify_result(session_);
  if (verified != X509_V_OK) return fail(Code::denied, X509_verify_cert_error_string(verified));
  return fail(Code::unavailable, said_by_openssl());
}

Result<void> TlsSession::encrypt(std::string_view plain) {
  const std::lock_guard lock(mutex_);
  while (!plain.empty()) {
    ERR_clear_error();
    std::size_t taken = 0;
    if (SSL_write_ex(session_, plain.data(), plain.size(), &taken) != 1)
      return fail(Code::unavailable, said_by_openssl());
    plain.remove_prefix(taken);
  }
  return {};
}

Result<void> TlsSession::decrypt(std::string_view came, RespParser& parser) {
  const std::lock_guard lock(mutex_);
  give(came);
  for (;;) {
    ERR_clear_error();
    char* room = parser.room(kRecord);
    std::size_t bytes = 0;
    const int done = SSL_read_ex(session_, room, parser.room_size(), &bytes);
    if (done == 1) {
      parser.added(bytes);
      continue;
    }
    const int error = SSL_get_error(session_, done);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return {};
    return fail(Code::broken, error == SSL_ERROR_ZERO_RETURN ? "the server closed the connection" : said_by_openssl());
  }
}

void TlsSession::take_outgoing(std::string& out) {
  const std::lock_guard lock(mutex_);
  BIO* to_server = SSL_get_wbio(session_);
  for (std::size_t waiting = BIO_ctrl_pending(to_server); waiting > 0; waiting = BIO_ctrl_pending(to_server)) {
    const std::size_t before = out.size();
    const std::size_t part = std::min<std::size_t>(waiting, std::size_t{1} << 30);
    out.resize(before + part);
    const int bytes = BIO_read(to_server, out.data() + before, static_cast<int>(part));
    out.resize(before + static_cast<std::size_t>(std::max(bytes, 0)));
    if (bytes <= 0) return;
  }
}

}  // namespace fenceline::redis
