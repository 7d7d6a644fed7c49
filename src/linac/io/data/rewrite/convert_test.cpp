#include "linac/io/data/rewrite/convert.h"

#include <cmath>

#include "linac/io/data/formats/shower_writer.h"
#include "linac/io/data/test_showers.h"

namespace linac::data::testing {
namespace {

namespace fs = std::filesystem;

class ConvertTest : public DataTest {
 protected:
  ShowerBlock stored(const std::string& file, int64_t event) const {
    ShowerBlock block;
    Dataset::open({file}, {}, {.min_sum = -1})->read_stored(event, block);
    return block;
  }
};

TEST_F(ConvertTest, ThereAndBack) {
  const ShowerBlock raw = make_showers(9);
  write_hdf5(path("raw.h5"), columns_of(raw));
  int64_t last = 0;
  ConvertOptions options;
  options.progress = [&](int64_t done, int64_t total) {
    EXPECT_EQ(done, last + 1);
    EXPECT_EQ(total, 9);
    last = done;
  };
  const ConvertReport report = convert({path("raw.h5")}, path("samples.tfrecord"), options);
  EXPECT_EQ(report.events_written, 9);
  EXPECT_EQ(last, 9);
  convert({path("samples.tfrecord")}, path("back.h5"), {});
  for (int64_t event = 0; event < 9; ++event) {
    const ShowerBlock back = stored(path("back.h5"), event);
    EXPECT_EQ(back.units, Units::kRaw);
    EXPECT_NEAR(back.energy[0], raw.energy[static_cast<size_t>(event)], 1e-5);
    EXPECT_EQ(back.angle[0], raw.angle[static_cast<size_t>(event)]);
    for (int64_t i = 0; i < raw.shape.cells(); ++i) {
      const float cell = raw.image[static_cast<size_t>(event * raw.shape.cells() + i)];
      EXPECT_NEAR(back.image[static_cast<size_t>(i)], cell * 50 < 1e-4F ? 0 : cell, 1e-5 * cell);
    }
  }
}

TEST_F(ConvertTest, TrainingSeesTheSameSamplesFromBothFormats) {
  write_hdf5(path("raw.h5"), columns_of(make_showers(5)));
  convert({path("raw.h5")}, path("samples.tfrecord"), {});
  const std::vector<int64_t> events{4, 1};
  SampleBatch a, b;
  Dataset::open({path("raw.h5")}, {}, {})->read(events, a);
  Dataset::open({path("samples.tfrecord")}, {}, {})->read(events, b);
  EXPECT_EQ(a.image, b.image);
  EXPECT_EQ(a.energy, b.energy);
  EXPECT_EQ(a.angle, b.angle);
  EXPECT_EQ(a.ecal, b.ecal);
}

TEST_F(ConvertTest, ShardsHoldEverythingInOrder) {
  write_hdf5(path("a.h5"), columns_of(make_showers(5)));
  write_hdf5(path("b.h5"), columns_of(make_showers(6)));
  ConvertOptions options;
  options.shards = 3;
  for (const char* name : {"all.tfrecord", "all.h5"}) {
    const ConvertReport report = convert({path("a.h5"), path("b.h5")}, path(std::string("out/") + name), options);
    ASSERT_EQ(report.files.size(), 3U);
    EXPECT_EQ(report.files[1].filename().string(), "all-00001-of-00003" + fs::path(name).extension().string());
    const auto set = Dataset::open({report.files[0], report.files[1], report.files[2]}, {}, {});
    ASSERT_EQ(set->size(), 11);
    EXPECT_EQ(set->files()[0].events, 3);
    SampleBatch batch;
    set->read(std::vector<int64_t>{4, 5}, batch);
    EXPECT_FLOAT_EQ(batch.energy[0], 0.14F);
    EXPECT_FLOAT_EQ(batch.energy[1], 0.10F);
  }
}

TEST_F(ConvertTest, OnlySamplesAreSelected) {
  ShowerBlock raw = make_showers(4);
  std::fill_n(raw.image.begin(), raw.shape.cells(), 0.F);
  write_hdf5(path("raw.h5"), columns_of(raw));
  EXPECT_EQ(convert({path("raw.h5")}, path("merged.h5"), {}).events_written, 4);
  const ConvertReport report = convert({path("raw.h5")}, path("samples.tfrecord"), {});
  EXPECT_EQ(report.events_read, 4);
  EXPECT_EQ(report.events_written, 3);
  EXPECT_EQ(convert({path("samples.tfrecord")}, path("again.tfrecords"), {}).events_written, 3);
}

TEST_F(ConvertTest, NothingIsOverwrittenOrLeftHalfDone) {
  write_hdf5(path("raw.h5"), columns_of(make_showers(4)));
  const auto refused = [&](const std::string& output, const ConvertOptions& options = {}) {
    return message_of(ErrorCode::kUser, [&] { convert({path("raw.h5")}, path(output), options); });
  };
  EXPECT_TRUE(contains(refused("raw.h5"), "input"));
  EXPECT_TRUE(contains(refused("out.txt"), "ending"));
  ConvertOptions many;
  many.shards = 5;
  EXPECT_TRUE(contains(refused("out.h5", many), "shards"));
  many.shards = 0;
  refused("out.h5", many);
  convert({path("raw.h5")}, path("out.h5"), {});
  EXPECT_TRUE(contains(refused("out.h5"), "--overwrite"));
  ConvertOptions over;
  over.overwrite = true;
  convert({path("raw.h5")}, path("out.h5"), over);

  for (const char* name : {"stopped.h5", "stopped.tfrecord"}) {
    ConvertOptions stopping;
    stopping.progress = [](int64_t done, int64_t) {
      if (done == 2) throw user_error("stop");
    };
    refused(name, stopping);
  }
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_FALSE(contains(entry.path().filename().string(), "stopped")) << entry.path();
  }
}

TEST_F(ConvertTest, TheWriterAddsColumnsAndAttributes) {
  const ShowerBlock raw = make_showers(4);
  ShowerFileWriter writer(path("out.h5"), raw.shape, {"mtheta"});
  const auto half = static_cast<size_t>(2 * raw.shape.cells());
  const std::span<const float> image(raw.image), energy(raw.energy), angle(raw.angle);
  const std::vector<std::vector<float>> first{{1, 2}}, second{{3, 4}};
  writer.append(image.first(half), energy.first(2), angle.first(2), first);
  writer.append(image.subspan(half), energy.subspan(2), angle.subspan(2), second);
  writer.set_attribute("generator", "linac test \xC3\xA9");
  EXPECT_EQ(writer.events(), 4);
  EXPECT_FALSE(fs::exists(path("out.h5")));
  writer.close();

  const ShowerBlock last = stored(path("out.h5"), 3);
  EXPECT_EQ(std::vector<float>(raw.image.end() - raw.shape.cells(), raw.image.end()), last.image);
  const hdf5::Lock lock;
  const hdf5::Handle file(H5Fopen(path("out.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  ASSERT_TRUE(file);
  const auto column = [&](const char* name) {
    const hdf5::Handle dataset(H5Dopen2(file.get(), name, H5P_DEFAULT), H5Dclose);
    std::vector<float> values(4);
    EXPECT_EQ(hdf5::shape_of(dataset.get()), std::vector<hsize_t>{4});
    EXPECT_GE(H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    return values;
  };
  EXPECT_EQ(column("mtheta"), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(column("theta"), raw.angle);
  EXPECT_NEAR(column("eta")[1], -std::log(std::tan(raw.angle[1] / 2)), 1e-6);
  double sum = 0;
  for (const float cell : last.image) sum += cell;
  EXPECT_NEAR(column("ecal_sum")[3], sum, 1e-6);
  EXPECT_GT(H5Aexists(file.get(), "generator"), 0);
}

TEST_F(ConvertTest, TheWriterSaysWhereItCannotWrite) {
  const std::string message =
      message_of(ErrorCode::kEnvironment, [&] { ShowerFileWriter writer(path("none/out.h5"), kSmallShape); });
  EXPECT_TRUE(contains(message, "none/out.h5")) << message;
}

}  // namespace
}  // namespace linac::data::testing
