#include "linac/base/base/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace linac {
namespace {

std::string unpacked(const std::string& packed, size_t bytes) {
  std::string out(bytes + 1, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

TEST(Gzip, ComesBackAndHasNoTime) {
  std::string noise;
  for (uint32_t i = 0, x = 1; i < 100'000; ++i, x = x * 1664525u + 1013904223u) noise += static_cast<char>(x >> 24);
  for (const std::string& bytes : {std::string(), std::string("a"), std::string(100'000, 'a'), noise}) {
    const std::string packed = gzip(bytes);
    EXPECT_EQ(unpacked(packed, bytes.size()), bytes);
    EXPECT_EQ(packed.substr(4, 4), std::string(4, '\0'));
  }
}

}  // namespace
}  // namespace linac
