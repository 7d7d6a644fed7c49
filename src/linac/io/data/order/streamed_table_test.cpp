// Events that are read where they lie: of a server on the loopback interface, and of files compressed as a whole.

#include <gtest/gtest.h>
#include <zlib.h>

#include <atomic>
#include <cstring>
#include <fstream>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/crc32c.h"
#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/cache/packed_table.h"
#include "linac/io/data/cache/shower_copy.h"
#include "linac/io/data/formats/example.h"
#include "linac/io/data/formats/inflated_stream.h"
#include "linac/io/data/formats/record_stream.h"
#include "linac/io/data/formats/table.h"
#include "linac/io/data/test_showers.h"
#include "linac/io/data/test_tables.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/test_server.h"

namespace linac::data::testing {
namespace {

namespace fs = std::filesystem;
using storage::test::Ranges;
using storage::test::Server;

constexpr int kGzipBits = 15 + 16, kZlibBits = 15;

/// `window_bits` as zlib takes them: they say the format too.
std::string compressed(const std::string& content, int window_bits, int level = 6) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class StreamedTableTest : public DataTest {
 protected:
  void SetUp() override {
    DataTest::SetUp();
    for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
  }
  void TearDown() override {
    ::unsetenv("LINAC_CACHE_GIB");
    DataTest::TearDown();
  }

  TableBatch values(const std::string& url, const std::vector<ColumnRequest>& columns) const {
    return read_all(*EventTable::open({url}, columns));
  }
  void expect_same(const std::string& a, const std::string& b, const std::vector<ColumnRequest>& columns) const {
    const TableBatch first = values(a, columns), second = values(b, columns);
    EXPECT_GT(first.events, 0);
    EXPECT_EQ(first.columns, second.columns);
  }
  std::string refusal(const std::string& url, const std::vector<ColumnRequest>& columns) const {
    return message_of(ErrorCode::kData, [&] { EventTable::open({url}, columns); });
  }
  /// Of `content` as the file "a" of this host.
  std::string refusal_of(const std::string& content) const {
    std::ofstream(path("a"), std::ios::binary) << content;
    return refusal(path("a"), requests(5));
  }
  int64_t files_in_cache(const std::string& folder) const {
    std::error_code none;
    int64_t files = 0;
    for (fs::directory_iterator entry(folder_ / "cache" / folder, none), end; !none && entry != end; ++entry)
      files += entry->path().extension() == ".lock" ? 0 : 1;
    return files;
  }
};

TEST_F(StreamedTableTest, OfParquetTheWantedColumnsCrossTheLink) {
  write_parquet(path("a"), make_events(40'000), 10'000);
  const std::vector<ColumnRequest> all = requests(8), few{{"label", {}, {}, {}}};
  Ranges ranges{.body = read_file(path("a"))};
  Server server([&](const std::string& request) { return ranges(request); });
  const auto size = static_cast<int64_t>(ranges.body.size());
  expect_same(server.url("a"), path("a"), all);
  EXPECT_LE(static_cast<double>(ranges.sent), 1.01 * static_cast<double>(size));
  EXPECT_LE(ranges.asked, 10) << "small neighbours come together";
  EXPECT_EQ(files_in_cache("http"), 0);
  EXPECT_EQ(files_in_cache("tables"), 2);

  ranges.sent = ranges.asked = 0;
  expect_same(server.url("a"), path("a"), all);
  EXPECT_EQ(ranges.asked, 1) << "the version alone";
  EXPECT_LE(ranges.sent, 1);

  ranges.sent = 0;
  expect_same(server.url("a"), path("a"), few);
  EXPECT_LE(ranges.sent, size / 10) << "labels are small";
}

TEST_F(StreamedTableTest, AnotherVersionIsPackedAnewAndTheLastOneServesAlone) {
  write_parquet(path("a"), make_events(300));
  write_parquet(path("b"), make_events(300, 7));
  Ranges ranges{.body = read_file(path("a"))};
  auto server = std::make_unique<Server>([&](const std::string& request) { return ranges(request); });
  const std::string url = server->url("a");
  expect_same(url, path("a"), requests(8));
  const std::string first = EventTable::open({url}, requests(8))->files()[0].fingerprint;
  ranges.body = read_file(path("b"));
  ranges.headers = "ETag: \"v2\"\r\n";
  expect_same(url, path("b"), requests(8));
  EXPECT_NE(first, EventTable::open({url}, requests(8))->files()[0].fingerprint);
  EXPECT_EQ(files_in_cache("tables"), 3) << "of each file one";
  server.reset();
  expect_same(url, path("b"), requests(8));
}

TEST_F(StreamedTableTest, AFileThatChangesIsRefusedAndLeavesNothing) {
  write_parquet(path("a"), make_events(40'000), 10'000);
  Ranges ranges{.body = read_file(path("a"))};
  std::atomic<int> left = 3;
  Server server([&](const std::string& request) {
    if (left-- == 0) ranges.headers = "ETag: \"v2\"\r\n";
    return ranges(request);
  });
  EXPECT_TRUE(contains(refusal(server.url("a"), requests(8)), "changed while it was read"));
  EXPECT_EQ(files_in_cache("tables"), 0);
  expect_same(server.url("a"), path("a"), requests(8));
}

TEST_F(StreamedTableTest, OfAServerWithoutVersionsAFileIsFetchedWhole) {
  write_parquet(path("a"), make_events(300));
  Ranges ranges{.body = read_file(path("a")), .headers = ""};
  Server server([&](const std::string& request) { return ranges(request); });
  expect_same(server.url("a"), path("a"), requests(8));
  EXPECT_EQ(files_in_cache("http"), 2);  // and its note
  EXPECT_TRUE(contains(describe_reading(*storage::Source::open(server.url("a"))), "names no version"));
}

TEST_F(StreamedTableTest, Hdf5IsReadFromACopy) {
  write_hdf5(path("a"), make_events(300), 8);
  Ranges ranges{.body = read_file(path("a"))};
  Server server([&](const std::string& request) { return ranges(request); });
  expect_same(server.url("a"), path("a"), requests(8));
  EXPECT_EQ(files_in_cache("http"), 2);
  EXPECT_EQ(EventTable::open({server.url("a")}, requests(8))->files()[0].fingerprint,
            storage::fingerprint(path("a")).content);
  EXPECT_TRUE(contains(describe_reading(*storage::Source::open(server.url("a"))), "copy of the whole file"));
}

TEST_F(StreamedTableTest, DamagedFootersAreRefusedWithoutWaiting) {
  write_parquet(path("a"), make_events(2000), 500);
  const std::string whole = read_file(path("a"));
  Ranges ranges{.body = whole};
  Server server([&](const std::string& request) { return ranges(request); });
  uint32_t state = 1;
  for (int i = 0; i < 60; ++i) {
    state = state * 1664525 + 1013904223;
    ranges.body = whole;
    ranges.body[whole.size() - 9 - state % 1500] ^= static_cast<char>(1 + (state >> 16) % 255);
    ranges.headers = fmt::format("ETag: \"{}\"\r\n", i);
    try {
      values(server.url("a"), requests(8));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kData) << error.what();
    }
  }
}

TEST_F(StreamedTableTest, TfrecordIsAStream) {
  const TestEvents events = make_events(5000);
  write_tfrecord(path("a"), events, 8);
  const std::string content = read_file(path("a"));
  for (const std::string& body : {content, compressed(content, kGzipBits), compressed(content, kZlibBits)}) {
    Ranges ranges{.body = body, .headers = fmt::format("ETag: \"{}\"\r\n", body.size())};
    Server server([&](const std::string& request) { return ranges(request); });
    expect_same(server.url("a"), path("a"), requests(8));
    EXPECT_LE(static_cast<double>(ranges.sent), 1.01 * static_cast<double>(body.size()));
    EXPECT_EQ(EventTable::open({server.url("a")}, requests(8))->files()[0].fingerprint, storage::content_hash(body));
    EXPECT_EQ(count_events(storage::Source::open(server.url("a"))), 5000);
    EXPECT_EQ(files_in_cache("http"), 0);
  }
}

TEST_F(StreamedTableTest, WhatIsCompressedIsKnownByItsContent) {
  const TestEvents events = make_events(50);
  write_tfrecord(path("plain"), events, 5);
  const std::string content = read_file(path("plain"));
  for (const int level : {0, 1, 9}) {
    for (const int bits : {kGzipBits, kZlibBits, 9}) {
      std::ofstream(path("a"), std::ios::binary) << compressed(content, bits, level);
      expect_same(path("a"), path("plain"), requests(5));
    }
  }
  // A record whose length looks like zlib's first bytes: 0x78, 0x9c.
  Example example;
  constexpr size_t kLength = 0x9c78;
  size_t text = 30'000;
  std::string record;
  for (int i = 0; i < 2; ++i) {
    example["x"].bytes = {std::string(text, 'x')};
    record = encode_example(example);
    text += kLength - record.size();
  }
  ASSERT_EQ(record.size(), kLength);
  std::ofstream(path("b"), std::ios::binary) << tfrecord_frame(record);
  EXPECT_EQ(compression_of(*storage::Source::open(path("b"))), Compression::kNone);
  // Members of gzip, as `cat` makes them of two files.
  const size_t half = 21 * 4;
  std::ofstream(path("a"), std::ios::binary)
      << compressed(content.substr(0, half), kGzipBits) << compressed(content.substr(half), kGzipBits);
  expect_same(path("a"), path("plain"), requests(5));
}

TEST_F(StreamedTableTest, CompressedFilesThatAreCutOrAlteredNameTheEvent) {
  write_tfrecord(path("plain"), make_events(300), 5);
  const std::string content = read_file(path("plain"));
  for (const int bits : {kGzipBits, kZlibBits}) {
    const std::string whole = compressed(content, bits);
    for (size_t size = 20; size < whole.size(); size += 1 + whole.size() / 40)
      EXPECT_TRUE(contains(refusal_of(whole.substr(0, size)), "record ")) << size;
    EXPECT_TRUE(contains(refusal_of(whole.substr(0, whole.size() - 1)), "is cut"));
    EXPECT_TRUE(contains(refusal_of(whole + "more"), "compression "));
    for (size_t place = 12; place < whole.size(); place += 1 + whole.size() / 40) {
      std::string altered = whole;
      altered[place] ^= 0x10;
      const std::string message = refusal_of(altered);
      EXPECT_TRUE(contains(message, "record ") && contains(message, path("a"))) << place << ": " << message;
    }
  }
}

TEST_F(StreamedTableTest, AFewBytesDoNotBecomeVeryMany) {
  const std::string zeros(20 << 20, '\0');
  const std::string bomb = compressed(zeros, kZlibBits, 9);
  ASSERT_LT(bomb.size(), zeros.size() / 500);
  std::ofstream(path("bomb"), std::ios::binary) << bomb;
  const auto source = storage::Source::open(path("bomb"));
  auto stream = inflated(storage::Source::stream(source), Compression::kZlib, "bomb", 1 << 20);
  std::vector<std::byte> room(100'000);
  int64_t got = 0;
  const std::string message = message_of(ErrorCode::kData, [&] {
    while (const size_t more = stream->read(room)) got += static_cast<int64_t>(more);
  });
  EXPECT_TRUE(contains(message, "bomb") && contains(message, "LINAC_CACHE_SIZE")) << message;
  EXPECT_LE(got, 1 << 20);
  // A length that nobody's event has, with a sound checksum.
  std::string huge = tfrecord_frame("");
  const uint64_t length = uint64_t{1} << 40;
  std::memcpy(huge.data(), &length, sizeof length);
  const uint32_t sum = masked_crc32c(std::as_bytes(std::span(&length, 1)));
  std::memcpy(huge.data() + sizeof length, &sum, sizeof sum);
  EXPECT_TRUE(contains(refusal_of(compressed(huge + zeros, kZlibBits)), "it is said to have"));
}

TEST_F(StreamedTableTest, ShowersArePackedOnce) {
  ShowerBlock samples = make_showers(40);
  convert_units({}, samples, Units::kSamples);
  write_tfrecord(path("plain"), samples);
  const std::string content = read_file(path("plain"));
  const std::string hash = storage::fingerprint(path("plain")).content;
  const auto events_of = [&](const std::string& url) {
    const auto set = Dataset::open({url}, {}, {});
    const FileReport& report = set->files().front();
    EXPECT_EQ(report.fingerprint, hash) << "of the content, however it came";
    EXPECT_EQ(report.bytes, static_cast<int64_t>(content.size()));
    EXPECT_EQ(report.format, "tfrecord");
    SampleBatch batch;
    std::vector<int64_t> order(static_cast<size_t>(set->size()));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    set->read(order, batch);
    return batch.image;
  };
  const std::vector<float> wanted = events_of(path("plain"));
  ASSERT_FALSE(wanted.empty());
  std::ofstream(path("a"), std::ios::binary) << compressed(content, kGzipBits);
  EXPECT_EQ(events_of(path("a")), wanted);

  Ranges ranges{.body = compressed(content, kZlibBits)};
  auto server = std::make_unique<Server>([&](const std::string& request) { return ranges(request); });
  const std::string url = server->url("a");
  EXPECT_EQ(events_of(url), wanted);
  EXPECT_EQ(files_in_cache("http"), 0);
  const int64_t sent = ranges.sent;
  EXPECT_LE(sent, static_cast<int64_t>(ranges.body.size()) + 100);
  const fs::path copy = shower_copy(url);
  EXPECT_LE(ranges.sent - sent, 1 + storage::Source::kHeadBytes);
  server.reset();
  EXPECT_EQ(shower_copy(url), copy);

  Ranges plain{.body = content};
  const Server plain_server([&](const std::string& request) { return plain(request); });
  EXPECT_EQ(events_of(plain_server.url("b")), wanted);
  EXPECT_EQ(files_in_cache("http"), 0);
  EXPECT_LT(fs::file_size(shower_copy(plain_server.url("b"))), content.size());
  Ranges altered{.body = content};
  altered.body[content.size() - 100] ^= 1;
  const Server altered_server([&](const std::string& request) { return altered(request); });
  const std::string said = message_of(ErrorCode::kData, [&] { events_of(altered_server.url("c")); });
  EXPECT_TRUE(contains(said, "record 39")) << said;
  const auto in_the_making = [](const fs::directory_entry& entry) { return entry.path().extension() == ".part"; };
  const fs::directory_iterator tables(storage::cache_folder() / "tables");
  EXPECT_EQ(std::count_if(begin(tables), end(tables), in_the_making), 0);
  std::ofstream(path("cut"), std::ios::binary) << compressed(content, kGzipBits).substr(0, 2000);
  EXPECT_TRUE(contains(message_of(ErrorCode::kData, [&] { events_of(path("cut")); }), "is cut"));
}

}  // namespace
}  // namespace linac::data::testing
