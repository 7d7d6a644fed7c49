#include "linac/io/storage/cache.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <span>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/io/storage/cache_contents.h"
#include "linac/io/storage/copy_note.h"
#include "linac/io/storage/http.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/test_server.h"

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
  copy_in(root, "copies/f.json", 10, 30);  // what `data copy` keeps
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

const Cached* find(const std::vector<Cached>& contents, const fs::path& file) {
  const auto found = std::ranges::find(contents, file, &Cached::file);
  return found == contents.end() ? nullptr : &*found;
}

TEST(CacheContents, SayWhatIsWhat) {
  const TemporaryFolder folder;
  const fs::path& root = folder.path();
  const fs::path file = copy_in(root, "http/0123-a.part-1.json", 1000, 3);
  write_note(file, {{"e", "", 1000}, "http://host/a.part-1.json", PieceSums{1}});
  copy_in(root, "tables/b.pack", 10, 2);
  copy_in(root, "tables/c.tfrecord", 20, 1);
  copy_in(root, "models/m/1/d.keras", 30, 4);
  copy_in(root, "index/e.idx", 40, 5);
  copy_in(root, "copies/f.json", 50, 6);
  copy_in(root, "s3/g.part", 60, 7);
  copy_in(root, "http/h.lock", 0, 8);
  const std::vector<Cached> contents = cache_contents(root);
  std::vector<std::string> kinds;
  int64_t bounded = 0;
  for (const Cached& copy : contents) {
    kinds.emplace_back(to_string(copy.kind));
    if (copy.is_bounded) bounded += copy.bytes;
    EXPECT_FALSE(copy.in_use);
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"showers", "table", "download", "model", "scan", "copy note", "part"}));
  EXPECT_EQ(bounded, 1120);
  ASSERT_NE(find(contents, file), nullptr);
  EXPECT_EQ(find(contents, file)->source, "http://host/a.part-1.json");
  EXPECT_TRUE(cache_contents(root / "none").empty());
  EXPECT_FALSE(fs::exists(root / "none"));
}

TEST(CacheContents, WhatIsUsedOrChangedIsNotRemoved) {
  const TemporaryFolder folder;
  const fs::path& root = folder.path();
  const fs::path theirs = copy_in(root, "http/theirs", 1000, 30), free = copy_in(root, "http/free", 1000, 1),
                 made = copy_in(root, "http/made.part", 1000, 1), changed = copy_in(root, "http/changed", 1000, 1);
  write_note(free, {{"e", "", 1000}, "http://host/free", {}});
  Child child([&] {
    use_cached(theirs, root);
    use_cached(root / "http/made", root);
  });
  const std::vector<Cached> contents = cache_contents(root);
  EXPECT_TRUE(find(contents, theirs)->in_use && find(contents, made)->in_use && !find(contents, free)->in_use);
  copy_in(root, "http/changed", 2000, 1);
  EXPECT_EQ(remove_cached(root, contents, true).removed.size(), 1U);
  EXPECT_TRUE(fs::exists(free)) << "a dry run removes nothing";
  const Removal removal = remove_cached(root, contents);
  ASSERT_EQ(removal.removed.size(), 1U);
  EXPECT_EQ(removal.removed[0].file, free);
  EXPECT_EQ(removal.in_use.size(), 2U);
  EXPECT_EQ(removal.error, "");
  EXPECT_FALSE(fs::exists(free) || fs::exists(note_of(free)));
  EXPECT_TRUE(fs::exists(theirs) && fs::exists(made) && fs::exists(changed));
  child.end();
  EXPECT_EQ(remove_cached(root, cache_contents(root)).removed.size(), 3U);
}

TEST(Cache, AFolderThatCannotBeWrittenIsNoError) {
  use_cached("/proc/none/http/a", "/proc/none");
  EXPECT_EQ(make_room("/proc/none", 1), 0);
}

TEST(Cache, TheLimitComesFromTheEnvironment) {
  ::unsetenv("LINAC_CACHE_GIB");
  ::unsetenv("LINAC_CACHE_SIZE");
  EXPECT_EQ(cache_bytes_max(), kCacheBytesDefault);
  ::setenv("LINAC_CACHE_GIB", "0.5", 1);
  EXPECT_EQ(cache_bytes_max(), int64_t{1} << 29);
  ::setenv("LINAC_CACHE_SIZE", "3 MiB", 1);
  EXPECT_EQ(cache_bytes_max(), int64_t{3} << 20) << "the newer name goes first";
  ::setenv("LINAC_CACHE_SIZE", "12345", 1);
  EXPECT_EQ(cache_bytes_max(), 12345);
  for (const char* wrong : {"0", "-1", "much", "1 GB", "nan"}) {
    ::setenv("LINAC_CACHE_SIZE", wrong, 1);
    EXPECT_THROW(cache_bytes_max(), Error) << wrong;
  }
  ::setenv("LINAC_CACHE_SIZE", "", 1);
  for (const char* wrong : {"0", "-1", "much", "1 GiB", "1MiB", "nan", "inf"}) {
    ::setenv("LINAC_CACHE_GIB", wrong, 1);
    EXPECT_THROW(cache_bytes_max(), Error) << wrong;
  }
  ::unsetenv("LINAC_CACHE_GIB");
  ::unsetenv("LINAC_CACHE_SIZE");
}

TEST(CopyNote, KeepsWhatItWasGivenAndUnderstandsOlderOnes) {
  const TemporaryFolder folder;
  const fs::path file = folder / "a";
  EXPECT_FALSE(read_note(file));
  write_note(file, {{"\"e\"", "yesterday", 5}, "http://host/a", PieceSums{0, 0x123456789abcdef0, ~uint64_t{0}}});
  const auto note = read_note(file);
  ASSERT_TRUE(note && note->sums);
  EXPECT_EQ(note->said.etag, "\"e\"");
  EXPECT_EQ(*note->sums, (PieceSums{0, 0x123456789abcdef0, ~uint64_t{0}}));
  write_file_atomically(note_of(file), R"({"etag":"e","modified":"m","size":7})");
  ASSERT_TRUE(read_note(file));
  EXPECT_TRUE(read_note(file)->source.empty() && !read_note(file)->sums);
  for (const char* broken : {"", "{", "[]", R"({"etag":1,"modified":"m","size":7})"}) {
    write_file_atomically(note_of(file), broken);
    EXPECT_FALSE(read_note(file)) << broken;
  }
}

TEST(PieceSummer, DoesNotDependOnHowTheBytesCome) {
  const TemporaryFolder folder;
  std::string text(2 * kSummedBytes + 12345, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 + i / 1000);
  const auto bytes = std::as_bytes(std::span(text));
  PieceSummer whole, parts;
  whole.add(bytes);
  for (size_t at = 0, step = 1; at < bytes.size(); at += step, step = step * 3 + 1)
    parts.add(bytes.subspan(at, std::min(step, bytes.size() - at)));
  const PieceSums sums = whole.finish();
  ASSERT_EQ(sums.size(), 3U);
  EXPECT_EQ(parts.finish(), sums);
  EXPECT_EQ(sums[1], checksum(bytes.subspan(kSummedBytes, kSummedBytes)));
  write_file_atomically(folder / "a", text);
  EXPECT_EQ(piece_sums_of(folder / "a"), sums);
  EXPECT_TRUE(PieceSummer().finish().empty());
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

TEST_F(Downloads, KeepChecksumsAlsoOfWhatComesInPieces) {
  const std::string content(700'000, 'q');
  int asked = 0;
  Server server([&](const std::string& request) {
    if (++asked == 1) return test::ok(content, "ETag: \"v\"\r\n").substr(0, 300'000);  // and breaks off
    const size_t range = request.find("Range: bytes=");
    if (range == std::string::npos) return test::ok(content, "ETag: \"v\"\r\n");
    const size_t from = std::stoul(request.substr(range + 13));
    const std::string rest = content.substr(from);
    return "HTTP/1.1 206 Partial Content\r\nETag: \"v\"\r\nContent-Length: " + std::to_string(rest.size()) +
           "\r\nConnection: close\r\n\r\n" + rest;
  });
  const fs::path file = download(server.url("a?secret=1"), root_);
  ASSERT_EQ(read_file(file), content);
  EXPECT_GE(asked, 2);
  const auto note = read_note(file);
  ASSERT_TRUE(note && note->sums);
  EXPECT_EQ(*note->sums, piece_sums_of(file));
  EXPECT_EQ(note->source, server.url("a"));
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
