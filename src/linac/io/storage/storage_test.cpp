#include "linac/io/storage/storage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/storage/file_lock.h"
#include "linac/io/storage/http.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/test_server.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

class Storage : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  const TemporaryFolder test_folder_;
  const fs::path folder_ = test_folder_.path();
};

TEST_F(Storage, GlobsAreSortedAndMustMatch) {
  const std::string b = write("b.h5", ""), a = write("a.h5", "");
  write("c.txt", "");
  EXPECT_EQ(expand((folder_ / "*.h5").string()), (std::vector<std::string>{a, b}));
  EXPECT_EQ(expand("file://" + (folder_ / "?.h5").string()), (std::vector<std::string>{a, b}));
  const std::string message = message_of(ErrorCode::kData, [&] { expand((folder_ / "*.root").string()); });
  EXPECT_NE(message.find("*.root"), std::string::npos);
}

TEST_F(Storage, GlobsPassOverWhatLiesBesideData) {
  const std::string part = write("part-0.parquet", "");
  const std::string mark = write("_SUCCESS", ""), summary = write("_metadata", "");
  write(".part-0.crc", "");
  EXPECT_EQ(expand((folder_ / "*").string()), std::vector<std::string>{part});
  EXPECT_EQ(expand(mark), std::vector<std::string>{mark});
  EXPECT_EQ(expand((folder_ / "_m*").string()), std::vector<std::string>{summary});
  EXPECT_EQ(find_all({(folder_ / "*").string()}).size(), 1U);
  EXPECT_NE(message_of(ErrorCode::kData, [&] { expand((folder_ / "*S").string()); }).find("begin with '_'"),
            std::string::npos);
}

TEST_F(Storage, NamesThatAreNoPatternsStay) {
  EXPECT_EQ(expand("plain.h5"), std::vector<std::string>{"plain.h5"});
  EXPECT_EQ(expand("http://host/a*.h5"), std::vector<std::string>{"http://host/a*.h5"});
  EXPECT_EQ(expand("file:///a%20b"), std::vector<std::string>{"/a b"});
  const std::string odd = write("run[1].h5", "");
  EXPECT_EQ(expand(odd), std::vector<std::string>{odd});
}

TEST_F(Storage, OtherSchemesAreRefused) {
  for (const char* url : {"ftp://host/file", "hdfs://host/file"}) {
    EXPECT_NE(message_of(ErrorCode::kUser, [&] { fetch(url); }).find("http://"), std::string::npos);
    message_of(ErrorCode::kUser, [&] { expand(url); });
  }
  EXPECT_TRUE(is_remote("gs://bucket/key"));  // which a program without module clouds does not read
  EXPECT_NE(message_of(ErrorCode::kUser, [] { fetch("az://bucket/key"); }).find("linac data copy"), std::string::npos);
  message_of(ErrorCode::kUser, [] { fetch(""); });
  message_of(ErrorCode::kUser, [] { fetch("file://relative"); });
}

TEST_F(Storage, AnOutputIsAPathOrTheUrlOfAStoreThatIsWritten) {
  const std::string path = (folder_ / "out.h5").string();
  const Output plain(path);
  EXPECT_EQ(plain.path(), path);
  const Output output("file://" + path);
  EXPECT_NE(output.path(), path);
  EXPECT_TRUE(output.path().ends_with("/out.h5"));
  write_file_atomically(output.path(), "x");
  EXPECT_FALSE(exists(path));
  output.publish();
  EXPECT_EQ(read_file(path), "x");
  EXPECT_TRUE(exists("file://" + path));
  message_of(ErrorCode::kUser, [] { Output("http://host/out.h5"); });
  message_of(ErrorCode::kUser, [] { Output("hdfs://host/out.h5"); });
  need_local_folder(folder_, "train");
  EXPECT_NE(message_of(ErrorCode::kUser, [] { need_local_folder("s3://bucket/run", "train"); }).find("aws s3 sync"),
            std::string::npos);
  message_of(ErrorCode::kUser, [] { need_another_file("s3://b/k", std::vector<std::string>{"s3://b/k"}, "out"); });
}

TEST_F(Storage, LocalFilesMustBeThere) {
  const fs::path file = write("showers.h5", "x");
  EXPECT_EQ(fetch(file.string()), file);
  EXPECT_EQ(fetch("file://" + file.string()), file);
  const std::string missing = message_of(ErrorCode::kData, [&] { fetch((folder_ / "shower.h5").string()); });
  EXPECT_NE(missing.find("did you mean " + file.string()), std::string::npos) << missing;
  EXPECT_NE(message_of(ErrorCode::kData, [&] { fetch(folder_.string()); }).find("folder"), std::string::npos);
  EXPECT_NE(message_of(ErrorCode::kData, [&] { fetch((folder_ / "x" / "y").string()); }).find("no folder"),
            std::string::npos);
  if (::geteuid() != 0) {
    fs::permissions(file, fs::perms::none);
    message_of(ErrorCode::kEnvironment, [&] { fetch(file.string()); });
  }
}

TEST_F(Storage, FingerprintFollowsTheContent) {
  const fs::path a = write("a", "123456789"), b = write("b", "123456789"), c = write("c", "123456780");
  const Fingerprint first = fingerprint(a);
  EXPECT_EQ(first.size, 9);
  EXPECT_EQ(first.content.size(), 32U);
  EXPECT_GT(first.mtime_ns, 0);
  EXPECT_EQ(first.content, content_hash("123456789"));
  EXPECT_EQ(first.content, fingerprint(b).content);
  EXPECT_NE(first.content, fingerprint(c).content);
  EXPECT_EQ(fingerprint(write("empty", "")).content, "99aa06d3014798d86001c324468d497f");  // XXH3's value for no bytes
  message_of(ErrorCode::kEnvironment, [&] { fingerprint(folder_ / "none"); });
}

TEST_F(Storage, LockKeepsThreadsApart) {
  std::atomic<int> inside = 0, most = 0;
  const auto work = [&] {
    for (int i = 0; i < 20; ++i) {
      const FileLock lock(folder_ / "lock");
      most = std::max(most.load(), ++inside);
      std::this_thread::yield();
      --inside;
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(most, 1);
}

using test::ok;
using test::Server;

class Http : public Storage {
 protected:
  void SetUp() override {
    Storage::SetUp();
    // The tests talk to this machine only.
    for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
  }
};

TEST_F(Http, ASecondDownloadIsNone) {
  Server server([](const std::string& request) {
    if (request.find("If-None-Match: \"v1\"") != std::string::npos)
      return std::string("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nConnection: close\r\n\r\n");
    return ok("the content", "ETag: \"v1\"\r\n");
  });
  const fs::path file = download(server.url("showers.h5"), folder_);
  EXPECT_EQ(read_file(file), "the content");
  EXPECT_EQ(download(server.url("showers.h5"), folder_), file);
  EXPECT_EQ(read_file(file), "the content");
  ASSERT_EQ(server.requests().size(), 2U);
  server.stop();
  EXPECT_EQ(read_file(download(server.url("showers.h5"), folder_)), "the content") << "server gone: the copy serves";
}

TEST_F(Http, SizeAndDateDecideWithoutETags) {
  std::string body = "first";
  Server server([&](const std::string&) { return ok(body, "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n"); });
  const fs::path file = download(server.url("a"), folder_);
  const auto written = fs::last_write_time(file);
  download(server.url("a"), folder_);
  EXPECT_EQ(fs::last_write_time(file), written);
  body = "second";
  EXPECT_EQ(read_file(download(server.url("a"), folder_)), "second");
}

TEST_F(Http, ANewVersionReplacesTheCopy) {
  std::string version = "1";
  Server server([&](const std::string&) { return ok("content " + version, "ETag: \"" + version + "\"\r\n"); });
  EXPECT_EQ(read_file(download(server.url("a"), folder_)), "content 1");
  version = "2";
  EXPECT_EQ(read_file(download(server.url("a"), folder_)), "content 2");
}

TEST_F(Http, ABrokenTransferGoesOnWhereItStopped) {
  const std::string body(100'000, 'x');
  Server server([&](const std::string& request) {
    const size_t range = request.find("Range: bytes=");
    if (range == std::string::npos) {
      const std::string whole = ok(body, "ETag: \"v\"\r\n");
      return whole.substr(0, whole.size() - 40'000);
    }
    const size_t start = std::stoul(request.substr(range + 13));
    return fmt::format(
        "HTTP/1.1 206 Partial Content\r\nETag: \"v\"\r\nContent-Range: bytes {}-{}/{}\r\nContent-Length: {}\r\n"
        "Connection: close\r\n\r\n{}",
        start, body.size() - 1, body.size(), body.size() - start, body.substr(start));
  });
  EXPECT_EQ(read_file(download(server.url("a"), folder_)), body);
  ASSERT_EQ(server.requests().size(), 2U);
  EXPECT_NE(server.requests()[1].find("Range: bytes=60000-"), std::string::npos);
}

TEST_F(Http, AServerThatAlwaysBreaksIsGivenUp) {
  Server server([](const std::string&) { return ok("0123456789", "").substr(0, 60); });
  message_of(ErrorCode::kEnvironment, [&] { download(server.url("a"), folder_); });
  EXPECT_EQ(server.requests().size(), 4U);
  for (const auto& entry : fs::directory_iterator(folder_ / "http")) EXPECT_EQ(entry.path().extension(), ".lock");
}

TEST_F(Http, ABusyServerIsAskedAgainAMissingFileIsNot) {
  std::atomic<int> asked = 0;
  Server busy([&](const std::string&) {
    if (++asked < 3)
      return fmt::format("HTTP/1.1 503 Busy\r\n{}Content-Length: 4\r\nConnection: close\r\n\r\nbusy",
                         asked == 2 ? "Retry-After: 1\r\n" : "");
    return ok("content", "");
  });
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(read_file(download(busy.url("a"), folder_)), "content");
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(1250)) << "as long as it asks for";

  Server missing([](const std::string&) {
    return std::string("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnone");
  });
  const std::string message = message_of(ErrorCode::kData, [&] { download(missing.url("b?token=secret"), folder_); });
  EXPECT_NE(message.find("404"), std::string::npos);
  EXPECT_EQ(message.find("secret"), std::string::npos);
  EXPECT_EQ(missing.requests().size(), 1U);
}

TEST_F(Http, FetchUsesTheCacheFolder) {
  ::setenv("LINAC_CACHE", folder_.c_str(), 1);
  Server server([](const std::string&) { return ok("content", ""); });
  const fs::path file = fetch(server.url("a.h5"));
  ::unsetenv("LINAC_CACHE");
  EXPECT_EQ(file.parent_path(), folder_ / "http");
  EXPECT_EQ(read_file(file), "content");
}

TEST(CacheFolder, FollowsTheEnvironment) {
  ::setenv("LINAC_CACHE", "/a", 1);
  EXPECT_EQ(cache_folder(), "/a");
  ::unsetenv("LINAC_CACHE");
  ::setenv("XDG_CACHE_HOME", "/b", 1);
  EXPECT_EQ(cache_folder(), "/b/linac");
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(cache_folder().filename(), "linac");
}

TEST(CacheFolder, WithoutAHomeIsOneOfTheUsersAlone) {
  const TemporaryFolder folder;
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  ::setenv("HOME", "/dev/null", 1);
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  const fs::path own = folder / fmt::format("linac-cache-{}", ::getuid());
  EXPECT_EQ(cache_folder(), own);
  EXPECT_EQ(fs::status(own).permissions(), fs::perms::owner_all);
  fs::permissions(own, fs::perms::all);
  message_of(ErrorCode::kEnvironment, [] { cache_folder(); });
  fs::remove(own);
  fs::create_directory_symlink(folder.path(), own);
  message_of(ErrorCode::kEnvironment, [] { cache_folder(); });
  ::unsetenv("TMPDIR");
  ::setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace linac::storage
