#include "linac/base/base/protowire.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <vector>

#include "linac/base/base/error.h"

namespace linac::proto {
namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(Protowire, KnownBytes) {
  std::string out;
  append_varint(out, 1, 150);
  append_bytes(out, 2, "testing");
  EXPECT_EQ(out, std::string("\x08\x96\x01\x12\x07testing"));
}

TEST(Protowire, EveryTypeComesBack) {
  std::string out;
  append_varint(out, 1, std::numeric_limits<uint64_t>::max());
  append_double(out, 2, -1.5);
  append_float(out, 300, 0.25F);
  append_bytes(out, 4, "abc");
  Reader reader(bytes_of(out));
  EXPECT_EQ(reader.next()->bits, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(reader.next()->as_double(), -1.5);
  const auto third = reader.next();
  EXPECT_EQ(third->number, 300U);
  EXPECT_EQ(third->as_float(), 0.25F);
  EXPECT_EQ(reader.next()->text(), "abc");
  EXPECT_FALSE(reader.next().has_value());
}

TEST(Protowire, PackedListsComeBack) {
  const std::vector<float> floats{1, -2, 3.5F};
  const std::vector<int64_t> integers{0, -1, 51, 1'000'000'007};
  std::string out;
  append_packed_floats(out, 1, floats);
  append_packed_varints(out, 2, integers);
  Reader reader(bytes_of(out));
  Reader first(reader.next()->bytes);
  for (const float value : floats) EXPECT_EQ(std::bit_cast<float>(first.fixed32()), value);
  EXPECT_TRUE(first.at_end());
  Reader second(reader.next()->bytes);
  for (const int64_t value : integers) EXPECT_EQ(static_cast<int64_t>(second.varint()), value);
  EXPECT_TRUE(second.at_end());
}

// Every cut of a message either ends on a field boundary or is reported.
TEST(Protowire, TruncationNeverReadsPastTheEnd) {
  std::string out;
  append_varint(out, 1, 1'000'000);
  append_double(out, 2, 3.0);
  append_bytes(out, 3, "0123456789");
  for (size_t size = 0; size < out.size(); ++size) {
    const std::string cut = out.substr(0, size);
    Reader reader(bytes_of(cut));
    try {
      while (reader.next()) {
      }
      EXPECT_TRUE(reader.at_end());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kData);
    }
  }
}

TEST(Protowire, RefusesWhatCannotBe) {
  const std::vector<std::string> damaged{
      std::string("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 11),  // more than 64 bits
      std::string("\x00\x01", 2),                                       // field number 0
      std::string("\x0B", 1),                                           // a group
      std::string("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11),  // a length of 2^64 - 1
  };
  for (const std::string& message : damaged) {
    Reader reader(bytes_of(message));
    EXPECT_THROW(reader.next(), Error);
  }
}

}  // namespace
}  // namespace linac::proto
