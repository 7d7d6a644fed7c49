#include "linac/trained/tensor_file.h"

#include <gtest/gtest.h>

#include "linac/base/error.h"

namespace linac::trained {
namespace {

std::string example() {
  static const std::vector<float> weights{1, 2, 3, 4, 5, 6}, bias{-1};
  return encode_tensors({{"net/kernel", {2, 3}, weights}, {"net/bias", {1}, bias}}, {{"step", 7}});
}

TEST(TensorFile, KeepsTensorsAndMeta) {
  const TensorFile file = decode_tensors(example(), "example");
  EXPECT_EQ(file.meta.at("step"), 7);
  EXPECT_EQ(file.find("net/kernel", 6), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(file.tensors.size(), 2U);
  EXPECT_THROW(file.find("net/kernel", 5), Error);
  EXPECT_THROW(file.find("net/none", 1), Error);
}

TEST(TensorFile, NoticesEveryAlteredByteAndEveryLength) {
  const std::string bytes = example();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string altered = bytes;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    EXPECT_THROW(decode_tensors(altered, "altered"), Error) << i;
    EXPECT_THROW(decode_tensors(bytes.substr(0, i), "cut"), Error) << i;
  }
}

}  // namespace
}  // namespace linac::trained
