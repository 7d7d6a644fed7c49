#include "linac/io/storage/store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/test_server.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;
using test::Server;

std::string text_of(Reader& reader, int64_t offset, size_t size) {
  std::string text(size, '?');
  reader.read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

template <class F>
ErrorCode code_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(Store, FilesAreWrittenListedReadAndRemoved) {
  const TemporaryFolder folder;
  const std::string root = folder.path().string(), file = root + "/deep/b.txt";
  const Store& store = store_of(file);
  EXPECT_EQ(&store, &store_of("file://" + file));
  store.write(file, "first");
  store.write("file://" + file, "0123456789");
  store.write(root + "/deep/a.txt", "a");
  fs::create_directory(root + "/deep/inner");
  const auto listed = store.list(root + "/deep");
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].url, root + "/deep/a.txt");
  EXPECT_EQ(listed[1].size, 10);
  EXPECT_EQ(store.glob(root + "/deep/*.txt").size(), 2U);
  EXPECT_EQ(store.size(file), 10);
  const auto reader = store.open(file);
  EXPECT_EQ(reader->size(), 10);
  EXPECT_EQ(text_of(*reader, 3, 4), "3456");
  EXPECT_EQ(code_of([&] { text_of(*reader, 8, 4); }), ErrorCode::kData);
  store.remove(file);
  store.remove(file);
  EXPECT_FALSE(fs::exists(file));
  EXPECT_EQ(code_of([&] { store.open(file); }), ErrorCode::kData);
  EXPECT_EQ(code_of([&] { store.list(root + "/none"); }), ErrorCode::kData);
  EXPECT_EQ(code_of([&] { store.write("/proc/none/a", ""); }), ErrorCode::kEnvironment);
}

TEST(Store, HttpIsReadInRanges) {
  const std::string body = "0123456789";
  Server server([&](const std::string& request) {
    const size_t range = request.find("Range: bytes=");
    if (request.starts_with("HEAD") || range == std::string::npos)
      return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", body.size(),
                         request.starts_with("HEAD") ? "" : body);
    const size_t first = std::stoul(request.substr(range + 13));
    const size_t last = std::stoul(request.substr(request.find('-', range + 13) + 1));
    return fmt::format("HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                       last - first + 1, body.substr(first, last - first + 1));
  });
  const Store& store = store_of(server.url("a"));
  EXPECT_EQ(store.size(server.url("a")), 10);
  const auto reader = store.open(server.url("a"));
  EXPECT_EQ(text_of(*reader, 2, 5), "23456");
  EXPECT_EQ(text_of(*reader, 0, 10), body);
  EXPECT_EQ(store.glob(server.url("a*")), std::vector<std::string>{server.url("a*")});
  EXPECT_EQ(code_of([&] { store.list(server.url("")); }), ErrorCode::kUser);
  EXPECT_EQ(code_of([&] { store.write(server.url("a"), ""); }), ErrorCode::kUser);
  EXPECT_EQ(code_of([&] { store.remove(server.url("a")); }), ErrorCode::kUser);
}

TEST(Store, AServerWithoutRangesSaysSo) {
  Server server([](const std::string& request) {
    return request.starts_with("HEAD") ? "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"
                                       : test::ok("0123456789", "");
  });
  const auto reader = store_of(server.url("a")).open(server.url("a"));
  EXPECT_EQ(code_of([&] { text_of(*reader, 2, 5); }), ErrorCode::kData);
  Server missing([](const std::string&) {
    return std::string("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  EXPECT_EQ(code_of([&] { store_of(missing.url("b")).open(missing.url("b")); }), ErrorCode::kData);
}

TEST(Store, AModelsFileIsAPathOrAUrl) {
  EXPECT_EQ(local_copy("not/there.keras"), "not/there.keras");
  EXPECT_EQ(code_of([] { local_copy("hdfs://host/model.keras"); }), ErrorCode::kUser);
  const TemporaryFolder folder;
  ::setenv("LINAC_CACHE", folder.path().c_str(), 1);
  Server server([](const std::string&) { return test::ok("model", ""); });
  const std::string copy = local_copy(server.url("model.keras"));
  ::unsetenv("LINAC_CACHE");
  EXPECT_EQ(read_file(copy), "model");
  EXPECT_TRUE(copy.ends_with("model.keras")) << copy;
}

}  // namespace
}  // namespace linac::storage
