#include "linac/train/comm/transport/secure_link.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace linac::comm {
namespace {

using End = SecureLink::End;

const RunKey kKey = RunKey::draw();
const auto kRun = std::make_shared<const LinkContext>(kKey, "a run");

struct Sockets {
  Descriptor one, other;
};

Sockets sockets() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// What is there to be read.
std::string taken(int socket) {
  std::string bytes(1 << 20, '\0');
  const auto size = recv(socket, bytes.data(), bytes.size(), 0);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(0, size)));
  return bytes;
}

void put(int socket, const std::string& bytes) {
  ASSERT_EQ(send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

bool moves(SecureLink& link, std::string& why) {
  try {
    return link.established();
  } catch (const std::runtime_error& error) {
    why = error.what();
    return false;
  }
}

// Why one of the two ends let go, "" once both are established.
std::string greet(SecureLink& caller, SecureLink& called) {
  std::string why;
  for (int turn = 0; turn < 20 && why.empty(); ++turn) {
    const bool first = moves(caller, why), second = moves(called, why);
    if (first && second) return "";
  }
  return why.empty() ? "nothing happens" : why;
}

std::string received(SecureLink& link) {
  std::string text(1 << 16, '\0');
  text.resize(link.receive(std::as_writable_bytes(std::span(text))));
  return text;
}

size_t sent(SecureLink& link, std::string_view text) {
  return link.send(std::as_bytes(std::span(text)));
}

struct Pair {
  explicit Pair(const std::shared_ptr<const LinkContext>& one, const std::shared_ptr<const LinkContext>& other)
      : Pair(sockets(), one, other) {}
  Pair(Sockets ends, const std::shared_ptr<const LinkContext>& one, const std::shared_ptr<const LinkContext>& other)
      : caller(std::move(ends.one), one, End::kCaller), called(std::move(ends.other), other, End::kCalled) {}
  SecureLink caller, called;
};

TEST(SecureLink, BytesArriveBothWays) {
  // A fresh key every 100 kB.
  const auto often = std::make_shared<const LinkContext>(kKey, "a run", 100'000);
  Pair pair(often, often);
  ASSERT_EQ(greet(pair.caller, pair.called), "");
  EXPECT_EQ(received(pair.caller), "");
  EXPECT_EQ(sent(pair.called, "back"), 4);
  EXPECT_EQ(received(pair.caller), "back");
  std::string all(3 << 20, '\0'), come;
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i * i >> 7);
  bool was_full = false;
  for (size_t done = 0; come.size() < all.size();) {
    size_t now = 0;
    while (done < all.size() && (now = sent(pair.caller, std::string_view(all).substr(done))) > 0) done += now;
    was_full = was_full || done < all.size();
    for (std::string more; !(more = received(pair.called)).empty();) come += more;
  }
  EXPECT_TRUE(was_full);
  EXPECT_TRUE(come == all);
  pair.caller.reset();
  try {
    received(pair.called);
    FAIL() << "the end was not noticed";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "connection closed by peer");
  }
}

TEST(SecureLink, WithoutTheKeyThereIsNone) {
  for (const auto& [key, run] : {std::pair(RunKey::draw(), "a run"), std::pair(kKey, "another run")}) {
    const auto stranger = std::make_shared<const LinkContext>(key, run);
    Pair calls(stranger, kRun), is_called(kRun, stranger);
    EXPECT_NE(greet(calls.caller, calls.called), "");
    EXPECT_NE(greet(is_called.caller, is_called.called), "");
    EXPECT_THROW(sent(is_called.caller, "secret"), std::runtime_error);
  }
}

TEST(SecureLink, WhoSpeaksAnotherLanguageIsLetGo) {
  for (const std::string& said : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100, '\0'),
                                  std::string("\x16\x03\x01\xff\xff", 5) + std::string(70'000, 'x'),
                                  std::string("\x52\0\0\0", 4) + R"({"from":1,"run":"a run","view":0})"}) {
    Sockets ends = sockets();
    SecureLink link(std::move(ends.one), kRun, End::kCalled);
    EXPECT_FALSE(link.established());
    [[maybe_unused]] const auto size = send(ends.other.get(), said.data(), said.size(), MSG_NOSIGNAL);
    EXPECT_THROW(link.established(), std::runtime_error);
    EXPECT_EQ(taken(ends.other.get()).find("run"), std::string::npos);
  }
}

// OpenSSL at the other end, without the key; `certified`: with a certificate that it has made itself.
struct Foreign {
  Foreign(int socket, bool calls, bool certified) : context(SSL_CTX_new(TLS_method())) {
    if (certified) {
      EVP_PKEY* const key = EVP_EC_gen("P-256");
      X509* const certificate = X509_new();
      X509_set_version(certificate, 2);
      X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
      X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
      X509_set_pubkey(certificate, key);
      X509_sign(certificate, key, EVP_sha256());
      EXPECT_EQ(SSL_CTX_use_certificate(context, certificate), 1);
      EXPECT_EQ(SSL_CTX_use_PrivateKey(context, key), 1);
      X509_free(certificate);
      EVP_PKEY_free(key);
    }
    tls = SSL_new(context);
    SSL_set_fd(tls, socket);
    calls ? SSL_set_connect_state(tls) : SSL_set_accept_state(tls);
  }
  ~Foreign() {
    SSL_free(tls);
    SSL_CTX_free(context);
  }
  SSL_CTX* context;
  SSL* tls = nullptr;
};

TEST(SecureLink, ACertificateIsNoWayAroundTheKey) {
  for (const bool calls : {false, true}) {
    for (const bool certified : {false, true}) {
      Sockets ends = sockets();
      SecureLink link(std::move(ends.one), kRun, calls ? End::kCalled : End::kCaller);
      Foreign foreign(ends.other.get(), calls, certified);
      std::string why;
      bool established = false;
      for (int turn = 0; turn < 20 && why.empty() && !established; ++turn) {
        established = moves(link, why);
        SSL_do_handshake(foreign.tls);
      }
      EXPECT_FALSE(established);
      EXPECT_NE(why, "") << "calls " << calls << ", certified " << certified;
    }
  }
}

// Somebody in the middle who carries the bytes of both.
struct Middle {
  Middle() : front(sockets()), back(sockets()) {
    caller = SecureLink(std::move(front.one), kRun, End::kCaller);
    called = SecureLink(std::move(back.other), kRun, End::kCalled);
    for (int turn = 0; turn < 20 && !(secured[0] && secured[1]); ++turn) {
      secured[0] = caller.established();
      carry();
      secured[1] = called.established();
      carry();
    }
  }
  void carry() {
    const std::string there = taken(front.other.get());
    recorded += there;
    if (!there.empty()) put(back.one.get(), there);
    if (const std::string here = taken(back.one.get()); !here.empty()) put(front.other.get(), here);
  }

  Sockets front, back;
  SecureLink caller, called;
  bool secured[2] = {false, false};
  std::string recorded;
};

TEST(SecureLink, WhoIsInTheMiddleReadsNothingAndChangesNothing) {
  Middle middle;
  ASSERT_TRUE(middle.secured[0] && middle.secured[1]);
  const std::string secret = "weights and gradients";
  EXPECT_EQ(sent(middle.caller, secret), secret.size());
  std::string wire = taken(middle.front.other.get());
  EXPECT_GT(wire.size(), secret.size());
  EXPECT_EQ(wire.find(secret), std::string::npos);
  EXPECT_EQ((middle.recorded + wire).find(kKey.text()), std::string::npos);
  put(middle.back.one.get(), wire);
  EXPECT_EQ(received(middle.called), secret);
  put(middle.back.one.get(), wire);
  EXPECT_THROW(received(middle.called), std::runtime_error) << "a record was taken twice";

  Middle altered;
  EXPECT_EQ(sent(altered.caller, secret), secret.size());
  wire = taken(altered.front.other.get());
  wire[wire.size() / 2] = static_cast<char>(wire[wire.size() / 2] ^ 1);
  put(altered.back.one.get(), wire);
  EXPECT_THROW(received(altered.called), std::runtime_error);
}

TEST(SecureLink, WhatWasRecordedOpensNothing) {
  Middle middle;
  ASSERT_TRUE(middle.secured[0] && middle.secured[1]);
  Sockets ends = sockets();
  SecureLink called(std::move(ends.one), kRun, End::kCalled);
  std::string why;
  EXPECT_FALSE(moves(called, why));
  put(ends.other.get(), middle.recorded);
  EXPECT_FALSE(moves(called, why));
  EXPECT_NE(why, "");
}

}  // namespace
}  // namespace linac::comm
