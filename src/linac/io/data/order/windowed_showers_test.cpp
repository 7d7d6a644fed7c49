#include "linac/io/data/order/windowed_showers.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "linac/base/base/atomic_file.h"
#include "linac/io/data/order/batch_stream.h"
#include "linac/io/data/test_showers.h"
#include "linac/io/storage/cache.h"

namespace linac::data::testing {
namespace {

using Stream = BatchStream<WindowedShowers>;

// All events of make_showers() pass, with their units as they are.
constexpr Preprocessing kAll{.scale = 50, .threshold = 0, .min_sum = 0, .power = 1};

void gzip(const std::string& path) {
  const std::string content = read_file(path);
  gzFile file = ::gzopen(path.c_str(), "wb");
  ASSERT_EQ(::gzwrite(file, content.data(), static_cast<unsigned>(content.size())), static_cast<int>(content.size()));
  ::gzclose(file);
}

class WindowedShowersTest : public DataTest {
 protected:
  void SetUp() override {
    DataTest::SetUp();
    for (int file = 0; file < 6; ++file) {
      const bool raw = file == 2;
      ShowerBlock block = make_showers(5 + file);
      for (float& energy : block.energy) energy += static_cast<float>(100 * file);  // tells all showers apart
      urls_.push_back(path(fmt::format("{}.{}", file, raw ? "h5" : "tfrecord")));
      if (raw) {
        write_hdf5(urls_.back(), columns_of(block));
        continue;
      }
      convert_units(kAll, block, Units::kSamples);
      write_tfrecord(urls_.back(), block);
      if (file % 2 == 1) gzip(urls_.back());
    }
  }
  std::shared_ptr<WindowedShowers> open(int window = 2) const { return windowed_showers(urls_, {}, kAll, window); }

  std::vector<std::string> urls_;
};

TEST_F(WindowedShowersTest, APassHasEachShowerOnce) {
  const auto whole = Dataset::open(urls_, {}, kAll);
  const auto windowed = open();
  EXPECT_EQ(windowed->size(), -1);
  Stream stream(windowed, {.seed = 3, .batch = 1, .owned = {0}, .steps_per_epoch = 1000, .threads = 2}, {});
  std::vector<float> energies(static_cast<size_t>(whole->size()));
  for (float& energy : energies) energy = stream.next().replicas[0].energy.at(0);
  std::vector<int64_t> all(energies.size());
  std::iota(all.begin(), all.end(), 0);
  SampleBatch expected;
  whole->read(all, expected);
  EXPECT_FALSE(std::ranges::is_sorted(energies));
  std::ranges::sort(energies);
  std::ranges::sort(expected.energy);
  EXPECT_EQ(energies, expected.energy);
}

TEST_F(WindowedShowersTest, WorkersAndRestartsChangeNothing) {
  BatchStreamOptions options{.seed = 3, .batch = 2, .replicas = 2, .owned = {0, 1}, .steps_per_epoch = 9};
  Stream whole(open(), options, {});
  std::vector<Stream::Step> steps;
  for (int step = 0; step < 22; ++step) steps.push_back(whole.next());
  for (const uint32_t step : {1U, 7U, 14U}) {
    for (const bool known : {false, true}) {
      options.owned = {1};
      options.window = known ? steps[step - 1].window : WindowPlace{};
      Stream later(open(), options, {step / 9, step % 9});
      for (uint32_t at = step; at < 22; ++at) {
        const Stream::Step got = later.next();
        EXPECT_EQ(got.files, steps[at].files);
        ASSERT_EQ(got.replicas[0].image, steps[at].replicas[1].image) << step << " " << at;
        ASSERT_EQ(got.replicas[0].energy, steps[at].replicas[1].energy);
      }
    }
  }
}

TEST_F(WindowedShowersTest, OneOfAnotherShapeIsRefusedWhenItComes) {
  ShowerBlock block = make_showers(5, {4, 4, 4});
  write_hdf5(urls_[2], columns_of(block));
  Stream stream(open(), {.seed = 3, .batch = 1, .owned = {0}, .steps_per_epoch = 100}, {});
  const std::string message = message_of(ErrorCode::kData, [&] {
    for (int step = 0; step < 60; ++step) stream.next();
  });
  EXPECT_TRUE(contains(message, urls_[2]) && contains(message, "4x4x4")) << message;
}

TEST_F(WindowedShowersTest, WhatIsUnpackedMayGoAfterwards) {
  Stream stream(open(1), {.seed = 3, .batch = 1, .owned = {0}, .steps_per_epoch = 1000, .depth = 1}, {});
  for (int step = 0; step < 40; ++step) stream.next();
  const auto unpacked = [&] {
    int64_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(storage::cache_folder() / "tables"))
      files += entry.path().extension() == ".tfrecord" ? 1 : 0;
    return files;
  };
  EXPECT_EQ(unpacked(), 3);
  storage::make_room(storage::cache_folder(), 0);
  EXPECT_LT(unpacked(), 3) << "those that no window uses";
  for (int step = 0; step < 80; ++step) stream.next();  // they come again
}

TEST_F(WindowedShowersTest, NoKeptShowerIsAnError) {
  Preprocessing none = kAll;
  none.min_sum = 1e9;
  expect_in(message_of(ErrorCode::kData, [&] { windowed_showers(urls_, {}, none, 2); }), {"6 files", "min_sum"});
}

}  // namespace
}  // namespace linac::data::testing
