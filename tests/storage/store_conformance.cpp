// What every scheme must do, as one list of checks: LINAC_STORE_BASE names a folder of the scheme that nobody else
// uses, LINAC_STORE_WRITTEN the same folder by a scheme that writes, where the first does not. conformance_test.py
// starts the servers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/clouds/clouds.h"
#include "linac/io/storage/copy_note.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"

namespace linac::storage {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class Conformance : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { clouds::provide(); }
  void SetUp() override {
    if (base.empty()) GTEST_SKIP() << "conformance_test.py starts this";
  }
  bool writes() const { return written == base; }
  std::string url(const std::string& name) const { return base + "/" + name; }
  const Store& store() const { return store_of(base); }
  void make(const std::string& name, const std::string& content) const {
    store_of(written).write(written + "/" + name, content);
  }
  std::string read(const std::string& name) const {
    const auto reader = store().open(url(name));
    return part(*reader, 0, static_cast<size_t>(reader->size()));
  }
  static std::string part(Reader& reader, int64_t offset, size_t size) {
    std::string text(size, '?');
    reader.read(offset, std::as_writable_bytes(std::span(text)));
    return text;
  }

  const std::string base = variable("LINAC_STORE_BASE");
  const std::string written = variable("LINAC_STORE_WRITTEN").empty() ? base : variable("LINAC_STORE_WRITTEN");
};

TEST_F(Conformance, ASourceIsReadInOneVersion) {
  std::string content(9'000'000, 'a');
  for (size_t i = 0; i < content.size(); i += 7) content[i] = static_cast<char>('a' + i / 7 % 26);
  make("source", content);
  const auto source = Source::open(url("source"));
  ASSERT_EQ(source->size(), static_cast<int64_t>(content.size()));
  std::string text(content.size(), '?');
  const auto stream = Source::stream(source);
  for (size_t got = 0, more = 1; more > 0; got += more)
    more = stream->read(std::as_writable_bytes(std::span(text)).subspan(got));
  EXPECT_EQ(text, content);
  EXPECT_EQ(read_file(source->local()), content);
  if (!source->is_ranged()) return;
  EXPECT_EQ(Source::open(url("source"))->version(), source->version());
  content[0] = 'z';
  make("source", content);
  EXPECT_THROW(source->read(0, std::as_writable_bytes(std::span(text))), Changed);
}

TEST_F(Conformance, OfSeveralWritersOnePrevails) {
  if (!store().has_conditions()) {
    message_of(ErrorCode::kUser, [&] { store().replace(url("claim"), "x", ""); });
    return;
  }
  const std::string name = url("folder/claim");
  EXPECT_FALSE(store().read_small(name));
  EXPECT_FALSE(store().replace(name, "one", "\"0123456789abcdef0123456789abcdef\"")) << "there is none";
  const auto first = store().replace(name, "one", "");
  ASSERT_TRUE(first);
  EXPECT_FALSE(store().replace(name, "two", "")) << "there is one";
  const auto read = store().read_small(name);
  EXPECT_EQ(read->content, "one");
  EXPECT_EQ(read->version, *first);
  ASSERT_TRUE(read->age_s);
  EXPECT_LT(*read->age_s, 60);
  const auto second = store().replace(name, "two", *first);
  ASSERT_TRUE(second);
  EXPECT_FALSE(store().replace(name, "three", *first));
  EXPECT_EQ(store().read_small(name)->content, "two");
  for (const std::string& version : {std::string(), *second}) {
    if (version.empty())
      store().remove(name);
    else
      ASSERT_TRUE(store().replace(name, "two", ""));
    const std::string known = version.empty() ? "" : store().read_small(name)->version;
    std::atomic<int> prevailed = 0;
    std::vector<std::thread> writers;
    for (int i = 0; i < 6; ++i)
      writers.emplace_back(
          [&, i] { prevailed += store().replace(name, fmt::format("{} {}", version, i), known).has_value(); });
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(prevailed, 1);
    store().remove(name);
  }
}

TEST_F(Conformance, AFileIsReadWholeAndInRanges) {
  std::string content;
  for (int i = 0; content.size() < 3'000'000; ++i) content += std::to_string(i) + " ";
  make("deep/er/numbers", content);
  EXPECT_EQ(store().size(url("deep/er/numbers")), static_cast<int64_t>(content.size()));
  EXPECT_EQ(read("deep/er/numbers"), content);
  const auto reader = store().open(url("deep/er/numbers"));
  for (const auto& [offset, size] : {std::pair{0, 1}, {1000, 999'999}, {2'999'990, 10}, {17, 0}})
    EXPECT_EQ(part(*reader, offset, static_cast<size_t>(size)),
              content.substr(static_cast<size_t>(offset), static_cast<size_t>(size)));
  EXPECT_EQ(read_file(store().local(url("deep/er/numbers"))), content);
}

TEST_F(Conformance, PastTheEndIsAnError) {
  make("short", "0123456789");
  const auto reader = store().open(url("short"));
  EXPECT_EQ(part(*reader, 9, 1), "9");
  for (const auto& [offset, size] : {std::pair{9, 2}, {10, 1}, {1000, 1}})
    message_of(ErrorCode::kData, [&] { part(*reader, offset, static_cast<size_t>(size)); });
}

TEST_F(Conformance, AnEmptyFileIsOne) {
  make("empty", "");
  EXPECT_EQ(store().size(url("empty")), 0);
  EXPECT_EQ(read("empty"), "");
  EXPECT_EQ(read_file(store().local(url("empty"))), "");
}

TEST_F(Conformance, WhatIsNotThereIsADataErrorThatNamesIt) {
  for (const char* name : {"none", "no/folder/none"}) {
    for (const std::string& message : {message_of(ErrorCode::kData, [&] { store().size(url(name)); }),
                                       message_of(ErrorCode::kData, [&] { store().open(url(name)); }),
                                       message_of(ErrorCode::kData, [&] { store().local(url(name)); })})
      EXPECT_NE(message.find(url(name)), std::string::npos) << message;
  }
  if (writes()) message_of(ErrorCode::kData, [&] { store().list(url("none")); });
}

TEST_F(Conformance, ACopyFollowsTheFile) {
  make("followed", "first");
  EXPECT_EQ(read_file(store().local(url("followed"))), "first");
  EXPECT_EQ(read_file(store().local(url("followed"))), "first");
  make("followed", "second");
  EXPECT_EQ(read_file(store().local(url("followed"))), "second");
}

TEST_F(Conformance, WhatIsWrittenIsRead) {
  if (!writes()) {
    message_of(ErrorCode::kUser, [&] { store().write(url("a"), "a"); });
    message_of(ErrorCode::kUser, [&] { store().remove(url("a")); });
    message_of(ErrorCode::kUser, [&] { store().need_writable(url("a")); });
    return;
  }
  store().need_writable(url("written/a"));
  store().write(url("written/a"), "one");
  store().write(url("written/a"), "two");
  EXPECT_EQ(read("written/a"), "two");
  std::string large(40'000'000, ' ');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761U >> 24);
  const TemporaryFolder folder;
  write_file_atomically(folder / "large", large);
  store().put(url("written/large"), folder / "large");
  EXPECT_TRUE(read("written/large") == large);
  const auto local = store().local(url("written/large"));
  EXPECT_TRUE(read_file(local) == large);
  if (is_remote(url("written/large"))) {
    const auto note = read_note(local);
    ASSERT_TRUE(note && note->sums) << "five pieces, fetched side by side";
    EXPECT_EQ(*note->sums, piece_sums_of(local));
  }
  store().remove(url("written/large"));
  store().remove(url("written/large"));
  message_of(ErrorCode::kData, [&] { store().size(url("written/large")); });
  message_of(ErrorCode::kData, [&] { store().put(url("written/b"), folder / "none"); });
  message_of(ErrorCode::kData, [&] { store().size(url("written/b")); });
}

TEST_F(Conformance, NamesMayHaveAnySigns) {
  if (!writes()) GTEST_SKIP() << "a URL of http says them its own way";
  std::vector<std::string> names{"a b.h5",
                                 "a#b.h5",
                                 "a%20b.h5",
                                 "a%b.h5",
                                 "a&b<c>.h5",
                                 "a'b\".h5",
                                 "a+b.h5",
                                 "a,b;c.h5",
                                 "a=b.h5",
                                 "a@b:c$!.h5",
                                 "ab.h5",
                                 "a~b(c).h5",
                                 "a\xc3\xbc\xe6\x97\xa5.h5",
                                 "\xc3\xa4.h5"};
  // XRootD's lists over http have names as they are, and then nobody knows what a percent sign is.
  const bool lists_escaped = !base.starts_with("dav");
  if (!lists_escaped) std::erase_if(names, [](const std::string& name) { return name.find('%') != std::string::npos; });
  for (const std::string& name : names) make("names/" + name, name);
  make("names/.hidden.h5", "");
  make("names/other.txt", "");
  make("names/folder.h5/inner", "");
  std::vector<std::string> expected;
  for (const std::string& name : names) expected.push_back(url("names/" + name));
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(store().glob(url("names/a*.h5")).size(), names.size() - 1);
  std::vector<std::string> found = store().glob(url("nam?s/*.h5"));
  std::erase_if(found, [](const std::string& name) { return name.ends_with("/folder.h5"); });  // a folder's name fits
  EXPECT_EQ(found, expected);
  for (const std::string& name : names) {
    EXPECT_EQ(read("names/" + name), name);
    EXPECT_EQ(read_file(store().local(url("names/" + name))), name);
  }
  const auto listed = store().list(url("names"));
  EXPECT_EQ(listed.size(), names.size() + 2);
  if (!lists_escaped) return;
  const auto entry =
      std::find_if(listed.begin(), listed.end(), [&](const Listed& file) { return file.url == url("names/a%20b.h5"); });
  ASSERT_NE(entry, listed.end());
  EXPECT_EQ(entry->size, 8);
}

TEST_F(Conformance, PatternsMatchAsInAShell) {
  if (!writes()) {
    EXPECT_EQ(store().glob(url("run*")), std::vector<std::string>{url("run*")});
    message_of(ErrorCode::kUser, [&] { store().list(url("")); });
    return;
  }
  for (const char* name : {"g/run1/p1.h5", "g/run1/p2.h5", "g/run2/p1.h5", "g/run2/deep/p1.h5", "g/run[1].h5"})
    make(name, "x");
  const auto urls = [&](std::initializer_list<const char*> names) {
    std::vector<std::string> all;
    for (const char* name : names) all.push_back(url(name));
    return all;
  };
  EXPECT_EQ(store().glob(url("g/run*/p1.h5")), urls({"g/run1/p1.h5", "g/run2/p1.h5"}));
  EXPECT_EQ(store().glob(url("g/run1/*")), urls({"g/run1/p1.h5", "g/run1/p2.h5"}));
  EXPECT_EQ(store().glob(url("g/*/*/p?.h5")), urls({"g/run2/deep/p1.h5"}));
  EXPECT_EQ(store().glob(url("g/run[2-9]/p[!2].h5")), urls({"g/run2/p1.h5"}));
  EXPECT_EQ(store().glob(url("g/run[1].h5")), urls({"g/run[1].h5"}));
  EXPECT_EQ(store().glob(url("g/none.h5")), urls({"g/none.h5"}));
  int versions = 0;
  for (const Listed& file : store().find(url("g/run*/p?.h5"))) {
    if (file.version.empty()) continue;
    ++versions;
    EXPECT_EQ(file.size, 1);
    EXPECT_EQ(file.version, store().open(file.url)->version());
  }
  EXPECT_EQ(versions, url("").starts_with("s3://") ? 3 : 0);
  const std::string message = message_of(ErrorCode::kData, [&] { store().glob(url("g/*.root")); });
  EXPECT_NE(message.find("*.root"), std::string::npos) << message;
}

TEST_F(Conformance, AReaderSeesTheOldFileOrTheNewOne) {
  if (!writes()) GTEST_SKIP();
  constexpr size_t kBytes = 18'000'000;  // in parts
  store().write(url("swapped"), std::string(kBytes, 'a'));
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 1; i <= 4; ++i) store().write(url("swapped"), std::string(kBytes, static_cast<char>('a' + i)));
    done = true;
  });
  int whole = 0;
  while (!done || whole == 0) {
    try {
      const std::string seen = read("swapped");
      EXPECT_EQ(seen.size(), kBytes);
      EXPECT_EQ(seen.find_first_not_of(seen[0]), std::string::npos);
      ++whole;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kData) << error.what();  // it changed meanwhile, and says so
    }
  }
  writer.join();
  EXPECT_EQ(read("swapped")[0], 'e');
}

TEST_F(Conformance, WrongKeysAreRefusedAndNotTold) {
  if (!base.starts_with("s3://")) GTEST_SKIP();
  make("mine", "x");
  const std::string right = variable("AWS_SECRET_ACCESS_KEY");
  ::setenv("AWS_SECRET_ACCESS_KEY", "0123456789wrong", 1);
  for (const std::string& message : {message_of(ErrorCode::kEnvironment, [&] { store().size(url("mine")); }),
                                     message_of(ErrorCode::kEnvironment, [&] { store().need_writable(url("new")); }),
                                     message_of(ErrorCode::kEnvironment, [&] { store().list(url("")); }),
                                     message_of(ErrorCode::kEnvironment, [&] { store().write(url("mine"), "y"); })}) {
    EXPECT_EQ(message.find("0123456789wrong"), std::string::npos) << message;
    EXPECT_NE(message.find("AWS_SECRET_ACCESS_KEY"), std::string::npos) << message;
  }
  ::setenv("AWS_NO_SIGN_REQUEST", "1", 1);
  EXPECT_NE(message_of(ErrorCode::kEnvironment, [&] { store().size(url("mine")); }).find("without keys"),
            std::string::npos);
  ::unsetenv("AWS_NO_SIGN_REQUEST");
  ::setenv("AWS_SECRET_ACCESS_KEY", right.c_str(), 1);
  EXPECT_EQ(read("mine"), "x");
  const std::string message =
      message_of(ErrorCode::kData, [&] { store_of("s3://no-such-bucket-here/a").size("s3://no-such-bucket-here/a"); });
  EXPECT_NE(message.find("bucket"), std::string::npos) << message;
}

}  // namespace
}  // namespace linac::storage
