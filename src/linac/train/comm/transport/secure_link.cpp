#include "linac/train/comm/transport/secure_link.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/train/comm/meeting/sockets.h"

namespace linac::comm {
namespace {

// Faster than the other suites wherever the processor has AES.
constexpr const char* kSuite = "TLS_AES_128_GCM_SHA256";
constexpr unsigned char kSuiteNumber[] = {0x13, 0x01};
constexpr size_t kReadAtOnce = 128 << 10;

std::string reason() {
  const unsigned long error = ERR_peek_last_error();
  const char* const text = ERR_reason_error_string(error);
  return text != nullptr ? text : "the connection cannot be secured";
}

struct FreeSession {
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};

}  // namespace

struct LinkContext::Callbacks {
  static const LinkContext& of(SSL* tls) {
    return *static_cast<const LinkContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(tls)));
  }

  // Made anew for each link: OpenSSL lets sessions expire.
  static SSL_SESSION* session(SSL* tls) {
    std::unique_ptr<SSL_SESSION, FreeSession> made(SSL_SESSION_new());
    const SSL_CIPHER* const suite = SSL_CIPHER_find(tls, kSuiteNumber);
    const RunKey::Bytes& key = of(tls).key_;
    const bool whole = made && suite != nullptr &&
                       SSL_SESSION_set1_master_key(made.get(), key.data(), key.size()) == 1 &&
                       SSL_SESSION_set_cipher(made.get(), suite) == 1 &&
                       SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION) == 1;
    return whole ? made.release() : nullptr;
  }

  static int as_caller(SSL* tls, const EVP_MD*, const unsigned char** name, size_t* size, SSL_SESSION** result) {
    const std::string& run = of(tls).run_;
    *name = reinterpret_cast<const unsigned char*>(run.data());
    *size = run.size();
    *result = session(tls);
    return *result != nullptr ? 1 : 0;
  }

  // Nothing for a name that is not the run's: there is no certificate to go on with, so the greeting fails.
  static int as_called(SSL* tls, const unsigned char* name, size_t size, SSL_SESSION** result) {
    const bool known = std::string_view(reinterpret_cast<const char*>(name), size) == of(tls).run_;
    *result = known ? session(tls) : nullptr;
    return !known || *result != nullptr ? 1 : 0;
  }
};

void LinkContext::Free::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}

LinkContext::LinkContext(const RunKey& key, std::string run, size_t bytes_a_key)
    : run_(std::move(run)),
      key_(key.derive("linac link 1", run_)),
      bytes_a_key_(bytes_a_key),
      context_(SSL_CTX_new(TLS_method())) {
  SSL_CTX* const context = context_.get();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context, kSuite) != 1 || SSL_CTX_set1_groups_list(context, "X25519") != 1 ||
      SSL_CTX_set_num_tickets(context, 0) != 1)
    throw environment_error("[comm] OpenSSL offers no TLS 1.3 here (" + reason() + ")");
  SSL_CTX_set_app_data(context, this);
  SSL_CTX_set_psk_use_session_callback(context, Callbacks::as_caller);
  SSL_CTX_set_psk_find_session_callback(context, Callbacks::as_called);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadAtOnce);
  broken_pipes_are_errors();  // OpenSSL writes without MSG_NOSIGNAL
}

void SecureLink::Free::operator()(ssl_st* tls) const {
  SSL_free(tls);
}

SecureLink::SecureLink(Descriptor socket, std::shared_ptr<const LinkContext> context, End end,
                       std::optional<relay::Approach> approach)
    : context_(std::move(context)),
      socket_(std::move(socket)),
      tls_(SSL_new(context_->context_.get())),
      approach_(std::move(approach)) {
  if (!tls_ || SSL_set_fd(tls_.get(), socket_.get()) != 1) throw std::runtime_error(reason());
  if (end == End::kCaller) {
    SSL_set_connect_state(tls_.get());
    // A stranger's certificate is no way around the key: nobody is trusted to sign one. See also established().
    SSL_set_verify(tls_.get(), SSL_VERIFY_PEER, nullptr);
    awaits_ = POLLOUT;
  } else {
    SSL_set_accept_state(tls_.get());
  }
}

bool SecureLink::established() {
  if (approach_) {
    if (!approach_->advance(socket_.get())) {
      awaits_ = approach_->awaits();
      return false;
    }
    approach_.reset();
  }
  ERR_clear_error();
  const int result = SSL_do_handshake(tls_.get());
  if (result == 1) {
    // That is: by the key.
    if (SSL_session_reused(tls_.get()) != 1) throw std::runtime_error("the other end does not have the run's key");
    return true;
  }
  const int error = SSL_get_error(tls_.get(), result);
  if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) fail(result);
  awaits_ = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
  return false;
}

size_t SecureLink::send(std::span<const std::byte> bytes) {
  ERR_clear_error();
  if (sent_with_key_ >= context_->bytes_a_key_ && !blocked_) {
    if (SSL_key_update(tls_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) throw std::runtime_error(reason());
    sent_with_key_ = 0;
  }
  size_t taken = 0;
  const int result = SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &taken);
  blocked_ = result != 1;
  if (blocked_) {
    if (SSL_get_error(tls_.get(), result) != SSL_ERROR_WANT_WRITE) fail(result);
    return 0;
  }
  sent_with_key_ += taken;
  return taken;
}

size_t SecureLink::receive(std::span<std::byte> bytes) {
  ERR_clear_error();
  size_t come = 0;
  const int result = SSL_read_ex(tls_.get(), bytes.data(), bytes.size(), &come);
  if (result == 1) return come;
  if (SSL_get_error(tls_.get(), result) != SSL_ERROR_WANT_READ) fail(result);
  return 0;
}

void SecureLink::fail(int result) {
  const int error = errno;
  const int kind = SSL_get_error(tls_.get(), result);
  const bool ended =
      kind == SSL_ERROR_ZERO_RETURN || (kind == SSL_ERROR_SYSCALL && error == 0) ||
      (kind == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
  if (ended) throw std::runtime_error("connection closed by peer");
  throw std::runtime_error(kind == SSL_ERROR_SYSCALL ? std::strerror(error) : reason());
}

void SecureLink::reset() {
  approach_.reset();
  tls_.reset();
  socket_.reset();
}

}  // namespace linac::comm
