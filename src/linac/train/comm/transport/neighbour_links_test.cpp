#include "linac/train/comm/transport/neighbour_links.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "linac/base/base/temporary_folder.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/test_server.h"
#include "linac/train/comm/transport/control_links.h"

namespace linac::comm {
namespace {

using storage::FileRange;
using storage::RangeShare;
using End = SecureLink::End;

constexpr int64_t kRange = 300 << 10;  // more than a socket holds

const auto kRun = std::make_shared<const LinkContext>(RunKey::draw(), "a run");

void established(SecureLink& link) {
  while (!link.established()) {
    pollfd ready{link.descriptor(), link.awaits(), 0};
    poll(&ready, 1, 1000);
  }
}

/// Two processes of a run in one: whoever calls reaches `server`.
class NeighbourLinksTest : public ::testing::Test {
 protected:
  NeighbourLinksTest() {
    ranges_.body.resize(4 * kRange);
    for (size_t i = 0; i < ranges_.body.size(); ++i) ranges_.body[i] = static_cast<char>((i * i) >> 9);
    web_.emplace([this](const std::string& request) { return ranges_(request); });
    source_ = storage::Source::open(web_->url("events"));
    server_.emplace(std::make_shared<RangeShare>(RangeShare::Settings{.folder = folder_.path()}),
                    [](const std::string&, const ViewEnd&) -> SecureLink { throw std::runtime_error("calls nobody"); });
    client_.emplace(std::make_shared<RangeShare>(RangeShare::Settings{.folder = folder_.path()}),
                    [this](const std::string&, const ViewEnd&) { return called(); });
  }

  /// A link to the server, as the node makes one.
  SecureLink called() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    ++calls_;
    if (refused_) throw std::runtime_error("nobody listens there");
    SecureLink caller(Descriptor(ends[0]), kRun, End::kCaller), server(Descriptor(ends[1]), kRun, End::kCalled);
    std::thread other([&] { established(server); });
    established(caller);
    other.join();
    server_->take(std::move(server));
    return caller;
  }

  FileRange range(int i) const { return {source_->url(), source_->version(), source_->size(), i * kRange, kRange}; }
  bool asked(int i) {
    std::string bytes(kRange, '\0');
    uint64_t said = 0;
    const bool given = client_->ask("server", range(i), std::as_writable_bytes(std::span(bytes)), said);
    if (!given) return false;
    EXPECT_TRUE(bytes == ranges_.body.substr(static_cast<size_t>(i * kRange), kRange));
    EXPECT_EQ(said, storage::checksum(std::as_bytes(std::span(bytes))));
    return true;
  }

  TemporaryFolder folder_;
  storage::test::Ranges ranges_;
  std::optional<storage::test::Server> web_;
  std::shared_ptr<const storage::Source> source_;
  std::atomic<int> calls_ = 0;
  bool refused_ = false;
  std::optional<NeighbourLinks> server_, client_;
};

TEST_F(NeighbourLinksTest, OneLinkServesManyRanges) {
  for (int turn = 0; turn < 2; ++turn)
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(asked(i));
  EXPECT_EQ(calls_, 1);
}

TEST_F(NeighbourLinksTest, SeveralAskSideBySide) {
  std::vector<std::thread> askers;
  for (int i = 0; i < 12; ++i) askers.emplace_back([this, i] { EXPECT_TRUE(asked(i % 4)); });
  for (std::thread& asker : askers) asker.join();
  EXPECT_LE(static_cast<size_t>(calls_), NeighbourLinks::kLinksMax);
}

TEST_F(NeighbourLinksTest, WhatIsNotGivenLeavesTheLink) {
  FileRange other = range(0);
  other.version = "another";
  std::vector<std::byte> bytes(kRange);
  uint64_t said = 0;
  EXPECT_FALSE(client_->ask("server", other, bytes, said));
  EXPECT_TRUE(asked(1));
  EXPECT_EQ(calls_, 1);
}

TEST_F(NeighbourLinksTest, WhereNobodyListensNothingIsGiven) {
  refused_ = true;
  EXPECT_FALSE(asked(0));
  refused_ = false;
  EXPECT_TRUE(asked(0)) << "a link that was not made takes no place";
}

TEST_F(NeighbourLinksTest, AServerThatWasStartedAgainIsCalledAgain) {
  EXPECT_TRUE(asked(0));
  server_.emplace(std::make_shared<RangeShare>(RangeShare::Settings{.folder = folder_.path()}),
                  [](const std::string&, const ViewEnd&) -> SecureLink { throw std::runtime_error("calls nobody"); });
  EXPECT_TRUE(asked(1));
  EXPECT_EQ(calls_, 2);
}

TEST_F(NeighbourLinksTest, WhoSendsNonsenseIsLetGoAndTheOthersAreServed) {
  const std::string deep(10'000, '[');
  for (const std::string& text :
       {frame("no JSON"), frame("{}"), frame(deep), std::string("\xff\xff\xff\xff"),
        frame(R"({"url": 1, "version": [], "size": "", "offset": {}, "bytes": null})"),
        frame(R"({"url":"file:///etc/passwd","version":"","size":1e99,"offset":0,"bytes":5})")}) {
    SecureLink stranger = called();
    EXPECT_EQ(stranger.send(std::as_bytes(std::span(text))), text.size());
    pollfd ready{stranger.descriptor(), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 10'000), 1) << text.substr(0, 20);
    std::byte answer[64];
    try {
      const size_t come = stranger.receive(answer);  // "not given" at most
      EXPECT_LE(come, 16U);
      for (size_t i = 0; i < std::min<size_t>(come, 8); ++i) EXPECT_EQ(answer[i], std::byte{0});
    } catch (const std::runtime_error&) {
    }
    EXPECT_TRUE(asked(0));
  }
}

TEST_F(NeighbourLinksTest, WhoAsksAndLeavesCostsNobodyAnything) {
  for (int i = 0; i < 4; ++i) {
    SecureLink gone = called();
    const FileRange one = range(i);
    const std::string text = frame(fmt::format(R"({{"url":"{}","version":{},"size":{},"offset":{},"bytes":{}}})",
                                               one.url, R"("\"v1\"")", one.size, one.offset, one.bytes));
    EXPECT_EQ(gone.send(std::as_bytes(std::span(text))), text.size());
    gone.reset();
  }
  EXPECT_TRUE(asked(0));
}

TEST_F(NeighbourLinksTest, BeyondAllServersALinkIsClosed) {
  std::vector<SecureLink> links;
  for (size_t i = 0; i < NeighbourLinks::kServersMax; ++i) links.push_back(called());
  EXPECT_FALSE(asked(0));
  links.clear();
}

}  // namespace
}  // namespace linac::comm
