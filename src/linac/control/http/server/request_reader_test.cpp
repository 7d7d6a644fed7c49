#include "linac/control/http/server/request_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstring>
#include <random>

namespace linac::http {
namespace {

namespace asio = boost::asio;
using Outcome = RequestReader::Outcome;

/// A client that sends `bytes` in pieces of at most `piece`, then goes.
class Client : public Stream {
 public:
  Client(std::string bytes, size_t piece) : bytes_(std::move(bytes)), piece_(piece) {}
  Task<bool> begin(Seconds) override { co_return true; }
  Task<size_t> read_some(asio::mutable_buffer into, Seconds) override {
    const size_t count = std::min({into.size(), piece_, bytes_.size() - sent_});
    std::memcpy(into.data(), bytes_.data() + sent_, count);
    sent_ += count;
    co_return count;
  }
  Task<bool> write(const std::vector<asio::const_buffer>&, Seconds) override { co_return true; }
  Task<void> end(Seconds) override { co_return; }
  Task<void> linger(Seconds) override { co_return; }
  void cancel() override {}

 private:
  const std::string bytes_;
  const size_t piece_;
  size_t sent_ = 0;
};

struct Exchange {
  Outcome head_outcome = Outcome::kGone, body_outcome = Outcome::kGone;
  Head head;
  std::string body;
};

constexpr uint64_t kBodyMax = 1000;

/// The requests that a client's bytes are read as, up to the first that is not whole.
std::vector<Exchange> exchanges(const std::string& bytes, size_t piece) {
  std::vector<Exchange> found;
  asio::io_context io;
  const auto read = [&]() -> Task<void> {
    Client client(bytes, piece);
    RequestReader reader(client);
    const Stream::Seconds limit(1);
    for (bool goes_on = true; goes_on;) {
      Exchange& exchange = found.emplace_back();
      exchange.head_outcome = co_await reader.read_head(exchange.head, limit, limit);
      if (exchange.head_outcome != Outcome::kDone) co_return;
      std::string& body = exchange.body;
      exchange.body_outcome =
          co_await reader.read_body(kBodyMax, limit, limit, [&body](std::string_view part) { body.append(part); });
      goes_on = exchange.body_outcome == Outcome::kDone;
    }
  };
  std::exception_ptr error;
  asio::co_spawn(io, read, [&](std::exception_ptr e) { error = e; });
  io.run();
  if (error) std::rethrow_exception(error);
  return found;
}

const std::string kTwo =
    "POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Two: 1\r\nX-Two: 2\r\nContent-Length: 5\r\n\r\nhello"
    "PUT /d HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";

TEST(RequestReader, ReadsPipelinedRequestsInPiecesOfAnySize) {
  for (const size_t piece : {1, 2, 3, 7, 60, 1000}) {
    const auto found = exchanges(kTwo, piece);
    ASSERT_EQ(found.size(), 3U) << piece;  // the third is the end
    EXPECT_EQ(found[0].head.method, "POST");
    EXPECT_EQ(found[0].head.target, "/a?b=c");
    EXPECT_EQ(found[0].head.headers.at("x-two"), "1, 2");
    EXPECT_EQ(found[0].body, "hello");
    EXPECT_EQ(found[1].head.method, "PUT");
    EXPECT_EQ(found[1].body, "abcde");
    EXPECT_EQ(found[2].head_outcome, Outcome::kGone);
  }
}

TEST(RequestReader, RefusesWhatIsTooLargeOrNoHttp) {
  const auto body = [](const std::string& bytes) { return exchanges(bytes, 100).at(0).body_outcome; };
  const auto head = [](const std::string& bytes) { return exchanges(bytes, 100).at(0).head_outcome; };
  EXPECT_EQ(body("POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n"), Outcome::kTooLarge);
  EXPECT_EQ(body("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'a')),
            Outcome::kTooLarge);
  EXPECT_EQ(body("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), Outcome::kBroken);
  EXPECT_EQ(body("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc"), Outcome::kGone);
  EXPECT_EQ(head("GET / HTTP/1.1\r\nX: " + std::string(RequestReader::kHeadBytesMax, 'a')), Outcome::kTooLarge);
  EXPECT_EQ(head(std::string(2 * RequestReader::kHeadBytesMax, 'a')), Outcome::kTooLarge);
  for (const char* bytes : {"GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02", "GET /\x01 HTTP/1.1\r\n\r\n",
                            "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                            "POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n",
                            "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
                            "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                            "POST / HTTP/1.1\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n",
                            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
                            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
                            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"})
    EXPECT_EQ(head(bytes), Outcome::kBroken) << bytes;
}

TEST(RequestReader, DamagedRequestsNeverDeliverMoreThanTheLimit) {
  std::mt19937 random(20261122);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  constexpr std::string_view kPieces[] = {
      "\r\n", ":", "chunked", "Content-Length: 99999999999999999999\r\n", "0\r\n\r\n", "ffffffffffffffff\r\n"};
  int whole = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = kTwo;
    for (size_t changes = below(4); changes > 0; --changes) {
      const size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 1:
          bytes.erase(at, below(9));
          break;
        case 2:
          bytes.insert(at, kPieces[below(std::size(kPieces))]);
          break;
        default:
          bytes.insert(at, bytes.substr(below(bytes.size()), below(40)));
      }
      if (bytes.empty()) break;
    }
    for (const Exchange& exchange : exchanges(bytes, 1 + below(200))) {
      EXPECT_LE(exchange.body.size(), kBodyMax);
      EXPECT_LE(exchange.head.target.size(), RequestReader::kHeadBytesMax);
      whole += exchange.body_outcome == Outcome::kDone;
    }
  }
  EXPECT_GT(whole, 10000);  // many survive: the test reaches beyond the first line
}

}  // namespace
}  // namespace linac::http
