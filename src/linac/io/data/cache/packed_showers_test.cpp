#include "linac/io/data/cache/packed_showers.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/io/data/test_showers.h"
#include "linac/io/storage/storage.h"

namespace linac::data::testing {
namespace {

namespace fs = std::filesystem;

class PackedShowersTest : public DataTest {
 protected:
  fs::path file() const { return storage::cache_folder() / "tables" / "a"; }

  std::string packed(const ShowerBlock& block) const {
    std::string content;
    ShowerPacker packer([&](std::span<const std::byte> bytes) {
      content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    });
    const auto cells = static_cast<size_t>(block.shape.cells());
    std::vector<uint8_t> anywhere(1 + cells * sizeof(float));  // not aligned, as in a record
    for (size_t i = 0; i < block.energy.size(); ++i) {
      std::memcpy(anywhere.data() + 1, block.image.data() + i * cells, cells * sizeof(float));
      packer.add({std::span(anywhere).subspan(1), block.shape, block.energy[i], block.angle[i], block.ecal[i]});
    }
    packer.finish({"the content's hash", 12345});
    return content;
  }

  std::unique_ptr<const ShowerFile> opened(const std::string& content) const {
    make_folder(file().parent_path());
    write_file_atomically(file(), content);
    return open_shower_file(file(), "s3://x/a", {}, std::nullopt);
  }
};

/// Compared as bytes: -0 is another value than 0.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

ShowerBlock odd_showers(const EventShape& shape) {
  ShowerBlock block = make_showers(4, shape);
  convert_units({}, block, Units::kSamples);
  const int64_t cells = shape.cells();
  std::fill_n(block.image.begin(), cells, 0.0F);          // nothing in it
  std::fill_n(block.image.begin() + cells, cells, 0.5F);  // all of it
  float* const odd = block.image.data() + 2 * cells;
  odd[0] = -0.0F, odd[1] = std::numeric_limits<float>::denorm_min(), odd[cells - 1] = 1e30F;
  return block;
}

TEST_F(PackedShowersTest, EveryBitComesBack) {
  for (const EventShape& shape :
       {EventShape{5, 4, 3}, EventShape{4, 4, 4}, EventShape{13, 5, 1}, EventShape{9, 9, 9}}) {
    const ShowerBlock wanted = odd_showers(shape);
    const auto file = opened(packed(wanted));
    EXPECT_EQ(file->format(), "tfrecord");
    EXPECT_EQ(file->shape(), shape);
    ASSERT_EQ(file->events(), 4);
    EXPECT_EQ(file->original()->content, "the content's hash");
    EXPECT_EQ(file->original()->bytes, 12345);
    ShowerBlock all, filled;
    file->read(0, 4, all);
    EXPECT_TRUE(same_bits(all.image, wanted.image)) << to_string(shape);
    EXPECT_TRUE(same_bits(all.energy, wanted.energy) && same_bits(all.angle, wanted.angle));
    EXPECT_TRUE(same_bits(all.ecal, wanted.ecal));
    for (int64_t event = 0; event < 4; ++event) {
      std::vector<float> some;
      for (int64_t cell = 0; cell < shape.cells(); ++cell) {
        const float value = wanted.image[static_cast<size_t>(event * shape.cells() + cell)];
        if (std::bit_cast<uint32_t>(value) != 0) some.push_back(value);
      }
      ASSERT_TRUE(file->read_filled(event, filled));
      EXPECT_TRUE(same_bits(filled.image, some)) << event;
    }
  }
}

TEST_F(PackedShowersTest, AlteredOrCutItIsRefusedAndRemoved) {
  const ShowerBlock wanted = odd_showers(kSmallShape);
  const std::string content = packed(wanted);
  int refused = 0;
  const auto reads = [&](const std::string& altered) {
    ShowerBlock all;
    try {
      make_folder(file().parent_path());
      write_file_atomically(file(), altered);
      open_packed_showers(file(), "s3://x/a")->read(0, 4, all);
      EXPECT_TRUE(same_bits(all.image, wanted.image));
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kEnvironment) << error.what();
      EXPECT_FALSE(fs::exists(file()));
      ++refused;
      return false;
    }
  };
  for (size_t at = 0; at < content.size(); at += 3) {
    std::string altered = content;
    altered[at] = static_cast<char>(altered[at] ^ 0x11);
    EXPECT_EQ(reads(altered), at < sizeof(PackedShowersHead)) << "byte " << at;
    EXPECT_FALSE(reads(content.substr(0, at)));
  }
  EXPECT_GT(refused, 100);
}

TEST_F(PackedShowersTest, DamagedItIsMadeAnewOnce) {
  const ShowerBlock wanted = odd_showers(kSmallShape);
  const std::string content = packed(wanted);
  int times = 0;
  const auto opened_with = [&](const std::string& now, const std::string& then) {
    make_folder(file().parent_path());
    write_file_atomically(file(), now);
    return open_packed_showers(file(), "s3://x/a", [&, then] {
      ++times;
      write_file_atomically(file(), then);
      return file();
    });
  };
  std::string in_an_event = content, in_the_index = content;
  in_an_event[in_an_event.size() / 4] ^= 1;
  in_the_index[in_the_index.size() - 200] ^= 1;
  for (const std::string& damaged : {in_an_event, in_the_index, content.substr(0, 100)}) {
    times = 0;
    ShowerBlock all;
    const auto showers = opened_with(damaged, content);
    for (int again = 0; again < 2; ++again) showers->read(0, 4, all);
    EXPECT_TRUE(same_bits(all.image, wanted.image));
    EXPECT_EQ(times, 1);
  }
  ShowerBlock all;
  message_of(ErrorCode::kEnvironment, [&] { opened_with(in_the_index, in_the_index)->read(0, 4, all); });
  message_of(ErrorCode::kEnvironment, [&] { opened_with(in_an_event, in_an_event)->read(0, 4, all); });
  const ShowerBlock others = odd_showers({4, 4, 4});
  const std::string said =
      message_of(ErrorCode::kData, [&] { opened_with(in_an_event, packed(others))->read(0, 4, all); });
  EXPECT_TRUE(contains(said, "has changed since it was opened")) << said;
}

TEST_F(PackedShowersTest, OnlyTheCacheHasThem) {
  const std::string content = packed(odd_showers(kSmallShape));
  write_file_atomically(path("a"), content.substr(0, 100));
  const std::string said =
      message_of(ErrorCode::kData, [&] { open_shower_file(path("a"), path("a"), {}, std::nullopt); });
  EXPECT_TRUE(contains(said, "neither HDF5 nor Parquet")) << said;
  EXPECT_TRUE(fs::exists(path("a")));
}

}  // namespace
}  // namespace linac::data::testing
