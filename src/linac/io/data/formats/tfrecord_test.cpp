#include "linac/io/data/formats/tfrecord.h"

#include <gtest/gtest.h>

#include <cstring>

#include "linac/base/base/error.h"
#include "linac/base/base/protowire.h"
#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/formats/example.h"

namespace linac::data {
namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(Example, ComesBack) {
  Example example;
  example["X"].floats = {1, 0, -2.5F};
  example["shape"].integers = {51, 51, 25, -1};
  example["name"].bytes = {"electron", "", std::string("\0x", 2)};
  example["empty"] = {};
  EXPECT_EQ(parse_example(bytes_of(encode_example(example))), example);
}

// Bytes as tf.train.Example(...).SerializeToString() gives them for {"a": int64 [1, 300], "b": bytes ["xy"],
// "c": float [1.5]}.
TEST(Example, ReadsWhatTensorFlowWrites) {
  const std::string bytes(
      "\x0a\x2a"
      "\x0a\x0c\x0a\x01\x61\x12\x07\x1a\x05\x0a\x03\x01\xac\x02"
      "\x0a\x0b\x0a\x01\x62\x12\x06\x0a\x04\x0a\x02\x78\x79"
      "\x0a\x0d\x0a\x01\x63\x12\x08\x12\x06\x0a\x04\x00\x00\xc0\x3f",
      44);
  const Example example = parse_example(bytes_of(bytes));
  ASSERT_EQ(example.size(), 3U);
  EXPECT_EQ(example.at("a").integers, (std::vector<int64_t>{1, 300}));
  EXPECT_EQ(example.at("b").bytes, std::vector<std::string>{"xy"});
  EXPECT_EQ(example.at("c").floats, std::vector<float>{1.5F});
}

TEST(Example, PackedListsAreFoundWhereTheyLie) {
  Example example;
  example["X"].floats = {1, 0, -2.5F};
  example["shape"].integers = {51, 51, 25, -1};
  const std::string bytes = encode_example(example);
  std::vector<PackedList> lists;
  ASSERT_TRUE(find_packed_lists(bytes_of(bytes), lists));
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ(lists[0].name, "X");
  EXPECT_EQ(lists[0].kind, FeatureKind::kFloats);
  ASSERT_EQ(lists[0].bytes.size(), 3 * sizeof(float));
  EXPECT_EQ(std::memcmp(lists[0].bytes.data(), example["X"].floats.data(), lists[0].bytes.size()), 0);
  EXPECT_EQ(lists[1].name, "shape");
  EXPECT_EQ(lists[1].kind, FeatureKind::kIntegers);

  EXPECT_FALSE(find_packed_lists(bytes_of(bytes + bytes), lists)) << "twice: the last one would count";
  for (size_t end = 0; end < bytes.size(); ++end)
    EXPECT_FALSE(find_packed_lists(bytes_of(bytes).first(end), lists)) << "cut at " << end;
  example["name"].bytes = {"electron"};
  EXPECT_FALSE(find_packed_lists(bytes_of(encode_example(example)), lists));
}

TEST(Example, AcceptsUnpackedLists) {
  std::string floats, integers;
  for (const float value : {1.F, 2.F}) proto::append_float(floats, 1, value);
  for (const uint64_t value : {7, 8}) proto::append_varint(integers, 1, value);
  const auto entry = [](const std::string& key, uint32_t kind, const std::string& list) {
    std::string feature, out;
    proto::append_bytes(feature, kind, list);
    proto::append_bytes(out, 1, key);
    proto::append_bytes(out, 2, feature);
    return out;
  };
  std::string features, message;
  proto::append_bytes(features, 1, entry("f", 2, floats));
  proto::append_bytes(features, 1, entry("i", 3, integers));
  proto::append_bytes(message, 1, features);
  std::vector<PackedList> lists;
  EXPECT_FALSE(find_packed_lists(bytes_of(message), lists));
  const Example example = parse_example(bytes_of(message));
  EXPECT_EQ(example.at("f").floats, (std::vector<float>{1, 2}));
  EXPECT_EQ(example.at("i").integers, (std::vector<int64_t>{7, 8}));
}

TEST(Example, EveryCutIsAnErrorOrSmaller) {
  Example example;
  example["X"].floats = {1, 2, 3};
  example["i"].integers = {1, 1000};
  const std::string whole = encode_example(example);
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_THROW(parse_example(bytes_of(whole.substr(0, size))), Error) << size;
  }
  EXPECT_TRUE(parse_example({}).empty());
}

TEST(Example, ListsOfTheWrongTypeAreRefused) {
  std::string list, feature, entry, features, message;
  proto::append_bytes(list, 1, "12345");  // five bytes are no floats
  proto::append_bytes(feature, 2, list);
  proto::append_bytes(entry, 1, "X");
  proto::append_bytes(entry, 2, feature);
  proto::append_bytes(features, 1, entry);
  proto::append_bytes(message, 1, features);
  EXPECT_THROW(parse_example(bytes_of(message)), Error);
}

class Tfrecord : public ::testing::Test {
 protected:
  std::string content_ = tfrecord_frame("first") + tfrecord_frame("") + tfrecord_frame("the third");
};

TEST_F(Tfrecord, RecordsAreFoundInAnyOrder) {
  const MemorySource source(std::as_bytes(std::span(content_)));
  const auto offsets = index_records(source, "memory");
  ASSERT_EQ(offsets, (std::vector<uint64_t>{0, 21, 37}));
  std::vector<std::byte> record;
  for (const auto& [i, text] : {std::pair<size_t, std::string>{2, "the third"}, {0, "first"}, {1, ""}}) {
    read_record(source, offsets[i], i, "memory", record);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(record.data()), record.size()), text);
  }
}

TEST_F(Tfrecord, EveryCutIsNoticed) {
  for (size_t size = 1; size < content_.size(); ++size) {
    if (size == 21 || size == 37) continue;  // between records
    const std::string cut = content_.substr(0, size);
    const MemorySource source(std::as_bytes(std::span(cut)));
    EXPECT_THROW(index_records(source, "cut"), Error) << size;
  }
}

TEST_F(Tfrecord, DamageNamesFileAndRecord) {
  content_[37 + 12] ^= 1;
  const MemorySource source(std::as_bytes(std::span(content_)));
  const auto offsets = index_records(source, "a.tfrecord");
  std::vector<std::byte> record;
  try {
    read_record(source, offsets[2], 2, "a.tfrecord", record);
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), ErrorCode::kData);
    EXPECT_NE(message.find("a.tfrecord: record 2"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace linac::data
