#include "linac/io/storage/source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/storage/read_ahead.h"
#include "linac/io/storage/test_server.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;
using test::Ranges;
using test::Server;

std::string numbers(size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += std::to_string(i) + " ";
  text.resize(bytes);
  return text;
}

template <class Readable>
std::string text_of(Readable& readable, int64_t offset, size_t size) {
  std::string text(size, '?');
  readable.read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

std::string whole(ByteStream& stream, size_t step) {
  std::string text, piece(step, '?');
  while (const size_t got = stream.read(std::as_writable_bytes(std::span(piece)))) text += piece.substr(0, got);
  return text;
}

class SourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
    ::setenv("LINAC_CACHE", (folder_ / "cache").c_str(), 1);
  }
  void TearDown() override { ::unsetenv("LINAC_CACHE"); }
  const TemporaryFolder folder_;
};

TEST_F(SourceTest, AFileOfThisHostIsReadInPlace) {
  const fs::path file = folder_ / "a";
  write_file_atomically(file, numbers(100'000));
  const auto source = Source::open(file.string());
  EXPECT_FALSE(source->is_ranged());
  EXPECT_EQ(source->local(), file);
  EXPECT_EQ(source->size(), 100'000);
  EXPECT_EQ(text_of(*source, 500, 1000), numbers(100'000).substr(500, 1000));
  EXPECT_EQ(whole(*Source::stream(source), 777), numbers(100'000));
  EXPECT_EQ(source->bytes_read(), 101'000);
  EXPECT_EQ(source->streamed_content(), fingerprint(file).content);
  source->need_unchanged();
  write_file_atomically(file, "other");
  EXPECT_NE(message_of(ErrorCode::kData, [&] { source->need_unchanged(); }).find("changed"), std::string::npos);
}

TEST_F(SourceTest, AFileOfAServerIsReadInRangesOfOneVersion) {
  Ranges ranges{.body = numbers(300'000)};
  Server server([&](const std::string& request) { return ranges(request); });
  const auto source = Source::open(server.url("a?signature=secret"));
  ASSERT_TRUE(source->is_ranged());
  EXPECT_EQ(ranges.asked, 1);
  EXPECT_EQ(source->version(), "\"v1\"");
  EXPECT_EQ(text_of(*source, 1000, 50), ranges.body.substr(1000, 50));
  EXPECT_EQ(ranges.sent, 51);
  EXPECT_FALSE(fs::exists(folder_ / "cache"));
  ranges.headers = "ETag: \"v2\"\r\n";
  const std::string message = message_of(ErrorCode::kData, [&] { text_of(*source, 0, 10); });
  EXPECT_NE(message.find("changed"), std::string::npos) << message;
  EXPECT_EQ(message.find("secret"), std::string::npos) << message;
  ranges.headers = "ETag: \"v1\"\r\n";
  ranges.body += "longer";
  EXPECT_THROW(text_of(*source, 0, 10), Changed);
}

TEST_F(SourceTest, WithoutAVersionOrRangesAFileIsFetchedWhole) {
  Ranges ranges{.body = "first", .headers = ""};
  Server server([&](const std::string& request) { return ranges(request); });
  const auto source = Source::open(server.url("a"));
  EXPECT_FALSE(source->is_ranged());
  EXPECT_EQ(text_of(*source, 0, 5), "first");
  // Nobody says that it is the same, so it is compared; the copy stays for those who read it.
  const auto again = Source::open(server.url("a"));
  EXPECT_EQ(source->state().mtime_ns, again->state().mtime_ns);
  source->need_unchanged();
  ranges.body = "other";
  EXPECT_EQ(text_of(*Source::open(server.url("a")), 0, 5), "other") << "of the same size";

  Server plain([&](const std::string&) { return test::ok("0123456789", "ETag: \"v\"\r\n"); });
  EXPECT_EQ(text_of(*Source::open(plain.url("b")), 3, 3), "345");
}

TEST_F(SourceTest, NobodyAnswersIsAnErrorOfItsOwn) {
  std::string url;
  {
    Server server([](const std::string&) { return std::string(); });
    url = server.url("a");
  }
  EXPECT_THROW(Source::open(url), Unreachable);
}

TEST_F(SourceTest, CutTransfersGoOnWhereTheyStopped) {
  Ranges ranges{.body = numbers(60'000), .cut = 20'000};
  Server server([&](const std::string& request) { return ranges(request); });
  const auto source = Source::open(server.url("a"));
  EXPECT_EQ(text_of(*source, 0, 60'000), ranges.body);
  EXPECT_EQ(ranges.sent, 60'001);
}

TEST_F(SourceTest, AStreamIsReadAheadOnce) {
  Ranges ranges{.body = numbers(3 * kAheadRequestBytes + 1000)};
  Server server([&](const std::string& request) { return ranges(request); });
  const auto source = Source::open(server.url("a"));
  EXPECT_EQ(source->streamed_content(), "");
  EXPECT_EQ(whole(*Source::stream(source), 1'000'003), ranges.body);
  EXPECT_EQ(source->streamed_content(), content_hash(ranges.body));
  EXPECT_EQ(ranges.sent, 1 + static_cast<int64_t>(ranges.body.size()));
  EXPECT_EQ(ranges.asked, 1 + 4);
}

TEST_F(SourceTest, ARequestThatTakesMuchLongerThanOthersIsMadeTwice) {
  constexpr int kSlow = 8;  // of the ranges
  Ranges ranges{.body = numbers(10 * kAheadRequestBytes)};
  std::atomic<int> asked = 0;
  std::atomic<bool> over = false;
  const std::string slow = fmt::format("Range: bytes={}-", kSlow * kAheadRequestBytes);
  Server server(
      [&](const std::string& request) {
        const bool is_slow = request.find(slow) != std::string::npos && asked++ == 0;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(25);
        while (is_slow && !over && std::chrono::steady_clock::now() < end)
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return ranges(request);
      },
      Server::Connections::kSideBySide);
  {
    const auto source = Source::open(server.url("a"));
    const auto begun = std::chrono::steady_clock::now();
    const auto stream = Source::stream(source);
    EXPECT_EQ(whole(*stream, 1'000'003), ranges.body);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
    over = true;
  }
  EXPECT_EQ(asked, 2);
}

TEST_F(SourceTest, SmallNeighboursComeTogetherAndOnlyThey) {
  Ranges ranges{.body = numbers(2'000'000)};
  Server server([&](const std::string& request) { return ranges(request); });
  const auto source = Source::open(server.url("a"));
  ReadAhead ahead(source, {{1000, 100}, {1100, 50}, {1200, 300}, {900'000, 10}, {500, 20}});
  // In another order than said, in parts, over the border of two pieces.
  for (const auto& [offset, size] :
       {std::pair{500, 20}, {900'000, 10}, {1200, 100}, {1050, 100}, {1000, 50}, {1300, 200}})
    EXPECT_EQ(text_of(ahead, offset, static_cast<size_t>(size)), ranges.body.substr(offset, size)) << offset;
  EXPECT_EQ(ranges.asked, 1 + 3);
  EXPECT_EQ(ranges.sent, 1 + 500 + 10 + 20);
  EXPECT_EQ(text_of(ahead, 1000, 10), ranges.body.substr(1000, 10)) << "once more";
  EXPECT_EQ(text_of(ahead, 495, 30), ranges.body.substr(495, 30)) << "and of no piece";
}

TEST_F(SourceTest, NoMoreIsReadAheadThanMemoryIsMeantFor) {
  Ranges ranges{.body = numbers(kAheadHeldBytes + 8 * kAheadRequestBytes)};
  Server server([&](const std::string& request) { return ranges(request); });
  const auto source = Source::open(server.url("a"));
  ReadAhead ahead(source, {{0, source->size()}});
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (ranges.sent < kAheadHeldBytes && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LE(ranges.sent, 1 + kAheadHeldBytes);
  // What is needed now comes all the same.
  const int64_t last = source->size() - 5;
  EXPECT_EQ(text_of(ahead, last, 5), ranges.body.substr(static_cast<size_t>(last)));
}

TEST_F(SourceTest, ASizeThatCannotBeCostsNothing) {
  Server server([](const std::string&) {
    return std::string(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/4611686018427387904\r\nETag: \"v\"\r\n"
        "Content-Length: 1\r\nConnection: close\r\n\r\nx");
  });
  const auto source = Source::open(server.url("a"));
  EXPECT_EQ(source->size(), int64_t{1} << 62);
  ReadAhead ahead(source, {{0, source->size()}});
  EXPECT_THROW(text_of(ahead, source->size() - 10, 10), Error);
}

TEST_F(SourceTest, AnErrorReachesWhoReads) {
  std::atomic<bool> gone = false;
  Ranges ranges{.body = numbers(3 * kAheadRequestBytes)};
  Server server([&](const std::string& request) {
    return gone ? "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" : ranges(request);
  });
  const auto source = Source::open(server.url("a"));
  gone = true;
  const auto stream = Source::stream(source);
  EXPECT_NE(message_of(ErrorCode::kData, [&] { whole(*stream, 1000); }).find("404"), std::string::npos);
}

}  // namespace
}  // namespace linac::storage
