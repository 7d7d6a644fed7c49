#include "linac/base/base/tfrecord_frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "linac/base/base/crc32c.h"
#include "linac/base/base/error.h"

namespace linac {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// The check value of the algorithm, and the examples of RFC 3720, appendix B.4.
TEST(Crc32c, KnownAnswers) {
  std::string rising(32, '\0');
  for (int i = 0; i < 32; ++i) rising[static_cast<size_t>(i)] = static_cast<char>(i);
  const std::vector<std::pair<std::string, uint32_t>> cases{{"123456789", 0xE3069283},
                                                            {"", 0},
                                                            {std::string(32, '\0'), 0x8A9136AA},
                                                            {std::string(32, '\xFF'), 0x62A8AB43},
                                                            {rising, 0x46DD794E}};
  for (const auto& [text, crc] : cases) {
    EXPECT_EQ(crc32c(bytes_of(text)), crc);
    EXPECT_EQ(crc32c_portable(bytes_of(text)), crc);
  }
}

TEST(Crc32c, BothWaysAgreeOnAwkwardSizes) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(crc32c(bytes_of(text)), crc32c_portable(bytes_of(text))) << i;
    text.push_back(static_cast<char>(i * 37));
  }
}

TEST(Crc32c, BothWaysAgreeWhereLanesBeginAndEnd) {
  std::string text(50000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>((i * i) >> 5);
  for (const size_t size : {2047, 6143, 6144, 6145, 6151, 6152, 12287, 12288, 18433, 49999}) {
    const auto bytes = bytes_of(text).subspan(1, size);
    EXPECT_EQ(crc32c(bytes), crc32c_portable(bytes)) << size;
  }
}

TEST(TfrecordFrame, ComesBack) {
  const std::string frame = tfrecord_frame("a record");
  ASSERT_EQ(frame.size(), 8 + kTfrecordHeaderBytes + kTfrecordFooterBytes);
  const auto bytes = bytes_of(frame);
  EXPECT_EQ(tfrecord_length(bytes.first(kTfrecordHeaderBytes)), 8U);
  EXPECT_TRUE(tfrecord_data_intact(bytes.subspan(kTfrecordHeaderBytes, 8), bytes.last(kTfrecordFooterBytes)));
}

TEST(TfrecordFrame, EveryFlippedBitIsNoticed) {
  const std::string frame = tfrecord_frame("a record");
  for (size_t i = 0; i < frame.size() * 8; ++i) {
    std::string damaged = frame;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << (i % 8)));
    const auto bytes = bytes_of(damaged);
    if (i / 8 < kTfrecordHeaderBytes) {
      EXPECT_THROW(tfrecord_length(bytes.first(kTfrecordHeaderBytes)), Error);
    } else {
      EXPECT_FALSE(tfrecord_data_intact(bytes.subspan(kTfrecordHeaderBytes, 8), bytes.last(kTfrecordFooterBytes)));
    }
  }
}

}  // namespace
}  // namespace linac
