#include "linac/storage/cache.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/base/temporary_folder.h"
#include "linac/storage/http.h"
#include "linac/storage/test_server.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;
using test::Server;

// A copy of so many bytes, used so many hours ago.
fs::path copy_in(const fs::path& root, const std::string& name, size_t bytes, int hours_ago) {
  const fs::path file = root / name;
  fs::create_directories(file.parent_path());
  write_file_atomically(file, std::string(bytes, 'x'));
  const timespec then{.tv_sec = std::time(nullptr) - 3600 * hours_ago, .tv_nsec = 0};
  const timespec times[2] = {then, then};
  EXPECT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  return file;
}

// Runs `work` in a child process, which then waits for end(). Made before this process has threads of its own.
class Child {
 public:
  template <class Work>
  explicit Child(const Work& work) {
    int ready[2], go[2];
    EXPECT_EQ(::pipe(ready) + ::pipe(go), 0);
    id_ = ::fork();
    if (id_ == 0) {
      ::close(go[1]);
      work();
      char byte = 0;
      [[maybe_unused]] const ssize_t told = ::write(ready[1], &byte, 1);
      [[maybe_unused]] const ssize_t heard = ::read(go[0], &byte, 1);
      ::_exit(0);
    }
    ::close(ready[1]);
    ::close(go[0]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    end_ = go[1];
  }
  ~Child() { end(); }
  void end() {
    if (end_ < 0) return;
    ::close(std::exchange(end_, -1));
    ::waitpid(id_, nullptr, 0);
  }

 private:
  pid_t id_;
  int end_ = -1;
};

TEST(Cache, WhatWasUsedLongestAgoGoesFirst) {
  const TemporaryFolder folder;
  const fs::path& root = folder.path();
  const fs::path oldest = copy_in(root, "http/a", 1000, 30), old = copy_in(root, "tables/b.pack", 1000, 20),
                 late = copy_in(root, "models/m/1/c.keras", 1000, 10);
  copy_in(root, "http/a.json", 10, 30);
  copy_in(root, "http/a.lock", 0, 30);
  copy_in(root, "http/d.part", 5000, 1);       // becomes a copy
  copy_in(root, "http/e.tmp.17", 500, 48);     // a killed process left it
  copy_in(root, "index/f.idx", 100'000, 100);  // is not counted
  EXPECT_EQ(make_room(root, 10'000), 0);
  EXPECT_EQ(make_room(root, 3000), 500);
  EXPECT_FALSE(fs::exists(root / "http/e.tmp.17"));
  EXPECT_EQ(make_room(root, 3000, 500), 1000);
  EXPECT_FALSE(fs::exists(oldest));
  EXPECT_FALSE(fs::exists(root / "http/a.json"));
  EXPECT_TRUE(fs::exists(old) && fs::exists(late));
  EXPECT_EQ(free_bytes(root, 1), 1000);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(late) && fs::exists(root / "index/f.idx") && fs::exists(root / "http/d.part"));
}

TEST(Cache, WhatALivingProcessUsesStays) {
  const TemporaryFolder folder;
  const fs::path& root = folder.path();
  const fs::path theirs = copy_in(root, "http/theirs", 1000, 30), ours = copy_in(root, "http/ours", 1000, 20),
                 free = copy_in(root, "http/free", 1000, 1);
  Child child([&] { use_cached(theirs, root); });
  use_cached(ours, root);
  EXPECT_EQ(make_room(root, 1), 1000);
  EXPECT_FALSE(fs::exists(free));
  EXPECT_TRUE(fs::exists(theirs) && fs::exists(ours));
  child.end();
  EXPECT_EQ(make_room(root, 1), 1000);
  EXPECT_FALSE(fs::exists(theirs));
  EXPECT_TRUE(fs::exists(ours));
}

TEST(Cache, AFolderThatCannotBeWrittenIsNoError) {
  use_cached("/proc/none/http/a", "/proc/none");
  EXPECT_EQ(make_room("/proc/none", 1), 0);
}

TEST(Cache, TheLimitComesFromTheEnvironment) {
  ::unsetenv("LINAC_CACHE_GIB");
  EXPECT_EQ(cache_bytes_max(), static_cast<int64_t>(kCacheGibDefault) << 30);
  ::setenv("LINAC_CACHE_GIB", "0.5", 1);
  EXPECT_EQ(cache_bytes_max(), int64_t{1} << 29);
  for (const char* wrong : {"0", "-1", "much", "1 GiB", "nan", "inf"}) {
    ::setenv("LINAC_CACHE_GIB", wrong, 1);
    EXPECT_THROW(cache_bytes_max(), Error) << wrong;
  }
  ::unsetenv("LINAC_CACHE_GIB");
}

class Downloads : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
  }
  void TearDown() override { ::unsetenv("LINAC_CACHE_GIB"); }
  const TemporaryFolder folder_;
  const fs::path& root_ = folder_.path();
};

TEST_F(Downloads, MakeRoomForThemselves) {
  const fs::path old = copy_in(root_, "http/old", 1'000'000, 5);
  ::setenv("LINAC_CACHE_GIB", "0.001", 1);  // 1,073,741 bytes
  Server server([](const std::string&) { return test::ok(std::string(500'000, 'y'), ""); });
  const fs::path file = download(server.url("new"), root_);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_EQ(fs::file_size(file), 500'000U);
  const fs::path second = download(server.url("second"), root_), third = download(server.url("third"), root_);
  EXPECT_TRUE(fs::exists(file) && fs::exists(second) && fs::exists(third)) << "all are in use by this process";
}

TEST_F(Downloads, TwoProcessesShareOne) {
  // The server is a third process: a fork takes no threads along.
  int address[2];
  ASSERT_EQ(::pipe(address), 0);
  Child serving([&] {
    auto* server = new Server([](const std::string& request) {
      if (request.find("If-None-Match") != std::string::npos)
        return std::string("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\nConnection: close\r\n\r\n");
      ::usleep(100'000);
      return test::ok(std::string(300'000, 'z'), "ETag: \"v\"\r\n");
    });
    const std::string url = server->url("shared");
    [[maybe_unused]] const ssize_t told = ::write(address[1], url.data(), url.size());
  });
  char text[200] = {};
  ASSERT_GT(::read(address[0], text, sizeof text - 1), 0);
  const std::string url = text;
  pid_t children[3];
  for (pid_t& child : children) {
    child = ::fork();
    if (child == 0) {
      bool whole = false;
      try {
        whole = read_file(download(url, root_)) == std::string(300'000, 'z');
      } catch (const std::exception&) {
      }
      ::_exit(whole ? 0 : 1);
    }
  }
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(Downloads, AFileThatCannotBeWrittenIsAnErrorWithoutTraces) {
  Server server([](const std::string&) { return test::ok(std::string(500'000, 'y'), ""); });
  rlimit former{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &former), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = former;
  small.rlim_cur = 100'000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  try {
    download(server.url("a"), root_);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &former);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(message.find("cannot be written into the cache"), std::string::npos) << message;
  for (const auto& entry : fs::directory_iterator(root_ / "http")) EXPECT_EQ(entry.path().extension(), ".lock");
  EXPECT_EQ(fs::file_size(download(server.url("a"), root_)), 500'000U);
}

TEST_F(Downloads, AFullDiskLosesOldCopies) {
  const fs::path disk = root_ / "disk";
  fs::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "mounting is not allowed here";
  {
    const fs::path old = copy_in(disk, "http/old", 700'000, 5);
    Server server([](const std::string&) { return test::ok(std::string(600'000, 'y'), "ETag: \"v\"\r\n"); });
    EXPECT_EQ(fs::file_size(download(server.url("new"), disk)), 600'000U);
    EXPECT_FALSE(fs::exists(old));
    EXPECT_THROW(download(server.url("second"), disk), Error) << "the first one is in use";
  }
  ::umount2(disk.c_str(), MNT_DETACH);
}

TEST_F(Downloads, ACopyServesWhereTheFolderCannotBeWritten) {
  Server server([](const std::string&) { return test::ok("content", "ETag: \"v\"\r\n"); });
  const fs::path file = download(server.url("a"), root_);
  // A folder in the place of the file that would be written stops any user.
  fs::create_directory(file.string() + ".part");
  EXPECT_EQ(read_file(download(server.url("a"), root_)), "content");
  EXPECT_THROW(download(server.url("a"), "/proc/none"), Error);
}

}  // namespace
}  // namespace linac::storage
