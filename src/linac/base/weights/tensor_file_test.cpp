#include "linac/base/weights/tensor_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "linac/base/base/error.h"

namespace linac::weights {
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

// A long history or many classes: safetensors' readers stop at 100,000,000 bytes, ours where the bytes are not proven.
TEST(TensorFile, ReadsWhateverHeaderItWrites) {
  const std::vector<float> weights{1, 2};
  const nlohmann::json meta = {{"classes", std::string(17 << 20, 'c')}};
  for (const Digest digest : {Digest::kLast, Digest::kNone}) {
    const TensorFile file = decode_tensors(encode_tensors({{"w", {2}, weights}}, meta, digest), "long", digest);
    EXPECT_EQ(file.meta.at("classes").get_ref<const std::string&>().size(), size_t{17} << 20);
    EXPECT_EQ(file.find("w", 2), weights);
  }
  EXPECT_THROW(encode_tensors({{std::string(100'000'001, 'n'), {2}, weights}}, {}, Digest::kNone), Error);
}

TEST(TensorFile, RefusesAHeaderSizeBeyondTheFile) {
  const std::vector<float> weights{1, 2};
  for (const uint64_t size : {uint64_t{1'000}, uint64_t{100'000'001}, UINT64_MAX, UINT64_MAX - 7}) {
    std::string bytes = encode_tensors({{"w", {2}, weights}}, {}, Digest::kNone);
    std::memcpy(bytes.data(), &size, sizeof size);
    EXPECT_THROW(decode_tensors(bytes, "lies", Digest::kNone), Error) << size;
  }
}

TEST(TensorFile, RefusesPlacesThatAreNone) {
  const auto file = [](const std::string& offsets) {
    const std::string header =
        R"({"__metadata__":{"linac":"{}"},"a":{"data_offsets":[0,8]},"b":{"data_offsets":)" + offsets + "}}";
    const uint64_t size = header.size();
    return std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + std::string(16, 'x');
  };
  EXPECT_EQ(decode_tensors(file("[8,16]"), "whole", Digest::kNone).tensors.size(), 2U);
  for (const char* bad :
       {"[8,20]", "[16,8]", "[8,15]", "[-8,8]", "[0.5,8]", "[8,1e300]", "[8,true]", "[8]", "8", "[0,16]"})
    EXPECT_THROW(decode_tensors(file(bad), bad, Digest::kNone), Error) << bad;
}

}  // namespace
}  // namespace linac::weights
