#include "linac/io/data/dataset.h"

#include <cmath>
#include <fstream>
#include <limits>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/formats/example.h"
#include "linac/io/data/test_showers.h"

namespace linac::data::testing {
namespace {

namespace fs = std::filesystem;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

using DatasetTest = DataTest;

std::shared_ptr<const Dataset> open(const std::vector<std::string>& urls, const Preprocessing& preprocessing = {}) {
  return Dataset::open(urls, {}, preprocessing);
}

// The definition of a sample, written out once more.
void expect_sample(const ShowerBlock& raw, int64_t event, const SampleBatch& batch, size_t slot) {
  const auto cells = static_cast<size_t>(raw.shape.cells());
  double sum = 0;
  for (size_t i = 0; i < cells; ++i) {
    double cell = 50.0 * raw.image[static_cast<size_t>(event) * cells + i];
    if (cell < 1e-4) cell = 0;
    sum += cell;
    EXPECT_NEAR(batch.image[slot * cells + i], std::pow(cell, 0.85), 1e-6);
  }
  EXPECT_NEAR(batch.ecal[slot], sum, 1e-5 * sum);
  EXPECT_FLOAT_EQ(batch.energy[slot], raw.energy[static_cast<size_t>(event)] / 100);
  EXPECT_EQ(batch.angle[slot], raw.angle[static_cast<size_t>(event)]);
}

TEST_F(DatasetTest, ReadsSamplesInTheOrderAskedFor) {
  const ShowerBlock raw = make_showers(7);
  write_hdf5(path("a.h5"), columns_of(raw));
  const auto set = open({path("a.h5")});
  ASSERT_EQ(set->size(), 7);
  EXPECT_EQ(set->shape(), kSmallShape);
  const std::vector<int64_t> wanted{5, 0, 6, 0};
  SampleBatch batch;
  set->read(wanted, batch);
  ASSERT_EQ(batch.events, 4);
  for (size_t slot = 0; slot < wanted.size(); ++slot) expect_sample(raw, wanted[slot], batch, slot);
}

TEST_F(DatasetTest, FurtherNumbersOfAnEventComeAlong) {
  const ShowerBlock raw = make_showers(3);
  auto columns = columns_of(raw);
  columns.push_back({"x0", {3}, {1, 2, 3}});
  columns.push_back({"y0", {3, 1}, {-1, -2, -3}});
  write_hdf5(path("a.h5"), columns);
  Fields fields;
  fields.numbers = {"y0", "x0"};
  SampleBatch batch;
  Dataset::open({path("a.h5")}, fields, {})->read(std::vector<int64_t>{2, 0}, batch);
  EXPECT_EQ(batch.numbers, (std::vector<float>{-3, 3, -1, 1}));
  open({path("a.h5")})->read(std::vector<int64_t>{1}, batch);
  EXPECT_TRUE(batch.numbers.empty());

  const auto refusal = [&](const std::string& file) -> std::string {
    try {
      Dataset::open({path(file)}, fields, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  columns[3].values[1] = kNaN;
  write_hdf5(path("nan.h5"), columns);
  EXPECT_TRUE(contains(refusal("nan.h5"), "event 1: one of its numbers is nan")) << refusal("nan.h5");
  columns.pop_back();
  write_hdf5(path("less.h5"), columns);
  EXPECT_TRUE(contains(refusal("less.h5"), "no data set 'y0'")) << refusal("less.h5");
  ShowerBlock samples = raw;
  convert_units({}, samples, Units::kSamples);
  write_tfrecord(path("a.tfrecord"), samples);
  EXPECT_TRUE(contains(refusal("a.tfrecord"), "come without y0, x0")) << refusal("a.tfrecord");
}

TEST_F(DatasetTest, EveryLayoutOfHdf5GivesTheSame) {
  const ShowerBlock raw = make_showers(10);
  auto columns = columns_of(raw);
  write_hdf5(path("1.h5"), columns);
  write_hdf5(path("2.h5"), columns, {{1, 5, 4, 3}, false});
  write_hdf5(path("3.h5"), columns, {{4, 2, 3, 2}, true});
  columns[0].shape.push_back(1);
  columns[1].shape.push_back(1);
  write_hdf5(path("4.h5"), columns, {{3, 5, 4, 3, 1}, false});
  const std::vector<int64_t> events{3, 9, 1};
  SampleBatch first, batch;
  open({path("1.h5")})->read(events, first);
  for (const char* name : {"2.h5", "3.h5", "4.h5"}) {
    open({path(name)})->read(events, batch);
    EXPECT_EQ(batch.image, first.image) << name;
    EXPECT_EQ(batch.energy, first.energy);
    EXPECT_EQ(batch.ecal, first.ecal);
  }
}

TEST_F(DatasetTest, FilesFollowEachOtherAndEmptyShowersAreDropped) {
  ShowerBlock raw = make_showers(6);
  for (const int64_t event : {1, 4}) std::fill_n(raw.image.begin() + event * raw.shape.cells(), raw.shape.cells(), 0.F);
  write_hdf5(path("b.h5"), columns_of(raw));
  write_hdf5(path("a.h5"), columns_of(make_showers(3)));
  const auto set = open({path("*.h5")});
  EXPECT_EQ(set->size(), 3 + 4);
  ASSERT_EQ(set->files().size(), 2U);
  const FileReport& report = set->files()[1];
  EXPECT_EQ(report.url, path("b.h5"));
  EXPECT_EQ(report.format, "hdf5");
  EXPECT_EQ(report.events, 6);
  EXPECT_EQ(report.kept, 4);
  EXPECT_FLOAT_EQ(static_cast<float>(report.energy_gev_min), 10);
  EXPECT_FLOAT_EQ(static_cast<float>(report.energy_gev_max), 15);
  EXPECT_EQ(report.fingerprint.size(), 32U);
  SampleBatch batch;
  set->read(std::vector<int64_t>{4}, batch);  // the second kept one of b.h5: its event 2
  expect_sample(raw, 2, batch, 0);
}

TEST_F(DatasetTest, TfrecordSamplesAreReadAsTheyAre) {
  const ShowerBlock raw = make_showers(5);
  ShowerBlock samples = raw;
  convert_units({}, samples, Units::kSamples);
  write_tfrecord(path("a.tfrecord"), samples);
  const auto set = open({path("a.tfrecord")});
  EXPECT_EQ(set->files()[0].format, "tfrecord");
  EXPECT_NEAR(set->files()[0].energy_gev_max, 14, 1e-5);
  SampleBatch batch;
  set->read(std::vector<int64_t>{4, 2}, batch);
  expect_sample(raw, 4, batch, 0);
  expect_sample(raw, 2, batch, 1);
}

TEST_F(DatasetTest, TheScanIsRememberedAndADamagedMemoryIsMadeAnew) {
  write_hdf5(path("a.h5"), columns_of(make_showers(5)));
  open({path("a.h5")});
  fs::path entry;
  for (const auto& file : fs::directory_iterator(folder_ / "cache" / "index")) {
    if (file.path().extension() == ".idx") entry = file.path();
  }
  const std::string good = read_file(entry);
  // A marked entry shows that it is used.
  const size_t text = good.find('\n') + 1;
  std::string marked = good.substr(text);
  marked.replace(marked.find("\"sum_max\":"), 10, "\"sum_max\":9");
  marked.replace(marked.find("\"fingerprint\":\"") + 15, 4, "mark");
  write_file_atomically(entry, storage::content_hash(marked) + "\n" + marked);
  EXPECT_EQ(open({path("a.h5")})->files()[0].fingerprint.substr(0, 4), "mark");
  for (const std::string& damaged :
       {good.substr(0, good.size() / 2), std::string(), std::string("{}"), good.substr(0, text) + marked}) {
    write_file_atomically(entry, damaged);
    EXPECT_EQ(open({path("a.h5")})->size(), 5);
    EXPECT_EQ(read_file(entry), good);
  }
}

TEST_F(DatasetTest, AFileThatChangesWhileInUseIsReported) {
  write_hdf5(path("a.h5"), columns_of(make_showers(5)));
  const auto set = open({path("a.h5")});
  write_hdf5(path("a.h5"), columns_of(make_showers(6)));
  SampleBatch batch;
  EXPECT_TRUE(contains(message_of(ErrorCode::kData, [&] { set->read(std::vector<int64_t>{0}, batch); }), "changed"));
  EXPECT_EQ(open({path("a.h5")})->size(), 6);
}

struct BadFile {
  const char* what;
  std::function<void(std::vector<RawColumn>&)> spoil;
  std::vector<std::string> message;
};

TEST_F(DatasetTest, BadHdf5IsNamedBeforeTraining) {
  const size_t cells = static_cast<size_t>(kSmallShape.cells());
  const std::vector<BadFile> cases{
      {"no image", [](auto& c) { c[0].name = "image"; }, {"'ECAL'", "image [6, 5, 4, 3]", "data.fields.image"}},
      {"no energy", [](auto& c) { c.erase(c.begin() + 1); }, {"'energy'", "theta [6]", "data.fields.energy"}},
      {"rank",
       [](auto& c) {
         c[0].shape = {6, 60};
       },
       {"[6, 60]", "[events, x, y, z]"}},
      {"channels",
       [](auto& c) {
         c[0].shape = {6, 5, 4, 1, 3};
       },
       {"[6, 5, 4, 1, 3]"}},
      {"lengths",
       [](auto& c) {
         c[1].shape = {5};
         c[1].values.pop_back();
       },
       {"'energy' holds 5", "6"}},
      {"energy's rank",
       [](auto& c) {
         c[1].shape = {3, 2};
       },
       {"'energy'", "[3, 2]"}},
      {"NaN cell", [&](auto& c) { c[0].values[2 * cells + 13] = kNaN; }, {"event 2", "cell (1, 0, 1)", "nan"}},
      {"infinite cell", [&](auto& c) { c[0].values[5 * cells] = kInf; }, {"event 5", "inf"}},
      {"negative cell", [&](auto& c) { c[0].values[3 * cells + 1] = -0.5F; }, {"event 3", "-0.5"}},
      {"NaN energy", [](auto& c) { c[1].values[4] = kNaN; }, {"event 4", "energy is nan"}},
      {"negative energy", [](auto& c) { c[1].values[0] = -10; }, {"event 0", "energy is -10"}},
      {"no energy at all", [](auto& c) { c[1].values[1] = 0; }, {"event 1", "energy is 0"}},
      {"NaN angle", [](auto& c) { c[2].values[3] = kNaN; }, {"event 3", "angle is nan"}},
      {"empty images", [](auto& c) { c[0].values.assign(c[0].values.size(), 0); }, {"all 6 events", "min_sum = 1"}},
      {"no events",
       [](auto& c) {
         for (auto& column : c) {
           column.shape[0] = 0;
           column.values.clear();
         }
       },
       {"no event"}},
  };
  for (const BadFile& bad : cases) {
    auto columns = columns_of(make_showers(6));
    bad.spoil(columns);
    write_hdf5(path("bad.h5"), columns);
    const std::string message = message_of(ErrorCode::kData, [&] { open({path("bad.h5")}); });
    EXPECT_TRUE(contains(message, path("bad.h5"))) << bad.what << ": " << message;
    for (const std::string& part : bad.message) EXPECT_TRUE(contains(message, part)) << bad.what << ": " << message;
  }
}

TEST_F(DatasetTest, CutAndForeignFilesAreNamed) {
  write_hdf5(path("a.h5"), columns_of(make_showers(50)));
  fs::resize_file(path("a.h5"), fs::file_size(path("a.h5")) / 2);
  EXPECT_TRUE(contains(message_of(ErrorCode::kData, [&] { open({path("a.h5")}); }), "truncated"));

  const auto error_for = [&](const std::string& content) {
    std::ofstream(path("b"), std::ios::binary) << content;
    return message_of(ErrorCode::kData, [&] { open({path("b")}); });
  };
  EXPECT_TRUE(contains(error_for(""), "empty"));
  EXPECT_TRUE(contains(error_for("\x1f\x8b\x08xyzxyzxyz"), "compression is"));
  EXPECT_TRUE(contains(error_for("root....."), "ROOT"));
  EXPECT_TRUE(contains(error_for("energy,theta\n1,2\n3,4\n"), "neither"));
  EXPECT_TRUE(contains(error_for("short"), "ends inside"));
}

TEST_F(DatasetTest, BadTfrecordIsNamedBeforeTraining) {
  ShowerBlock samples = make_showers(4);
  convert_units({}, samples, Units::kSamples);
  write_tfrecord(path("good"), samples);
  const std::string good = read_file(path("good"));
  const auto error_for = [&](const std::string& content, const Preprocessing& preprocessing = {}) {
    std::ofstream(path("bad.tfrecord"), std::ios::binary) << content;
    const std::string message = message_of(ErrorCode::kData, [&] { open({path("bad.tfrecord")}, preprocessing); });
    EXPECT_TRUE(contains(message, "bad.tfrecord")) << message;
    return message;
  };
  EXPECT_TRUE(contains(error_for(good.substr(0, good.size() - 9)), "record 3"));
  std::string flipped = good;
  flipped[good.size() / 2 + 40] ^= 4;
  EXPECT_TRUE(contains(error_for(flipped), "CRC-32C"));
  const std::string other_power = error_for(good, {.power = 0.5});
  EXPECT_TRUE(contains(other_power, "record 0") && contains(other_power, "power")) << other_power;
  EXPECT_TRUE(contains(error_for(good, {.min_sum = 1e6}), "min_sum"));

  const auto record = [](const Example& example) { return tfrecord_frame(encode_example(example)); };
  Example example;
  example["X"].floats = {1, 2, 3};
  example["energy"].integers = {7};
  EXPECT_TRUE(contains(error_for(record(example)), "'X' has 3 cells"));
  example["shape"].integers = {1, 1, 3};
  const std::string missing = error_for(record(example));
  EXPECT_TRUE(contains(missing, "'Y'") && contains(missing, "energy (1 integers)")) << missing;
  example["shape"].integers = {int64_t{1} << 62, 4, 3};
  EXPECT_TRUE(contains(error_for(record(example)), "'shape'"));
  EXPECT_TRUE(contains(error_for(good + record(example)), "record 4"));
  EXPECT_TRUE(contains(error_for(tfrecord_frame("no example")), "record 0"));
}

TEST_F(DatasetTest, FilesOfTwoShapesDoNotMix) {
  write_hdf5(path("a.h5"), columns_of(make_showers(2)));
  write_hdf5(path("b.h5"), columns_of(make_showers(2, {4, 4, 4})));
  const std::string message = message_of(ErrorCode::kData, [&] { open({path("a.h5"), path("b.h5")}); });
  EXPECT_TRUE(contains(message, "4x4x4") && contains(message, "5x4x3")) << message;
}

TEST_F(DatasetTest, SettingsAreChecked) {
  write_hdf5(path("a.h5"), columns_of(make_showers(2)));
  for (const Preprocessing& bad : {Preprocessing{.scale = 0}, Preprocessing{.threshold = -1}, Preprocessing{.power = 0},
                                   Preprocessing{.energy_unit_gev = kNaN}}) {
    message_of(ErrorCode::kUser, [&] { open({path("a.h5")}, bad); });
  }
  message_of(ErrorCode::kUser, [&] { open({}); });
}

TEST(RealShowers, AreRead) {
  const std::string pattern = "data/showers-*.h5";
  if (!fs::exists("data")) GTEST_SKIP() << "no folder data";
  std::vector<std::string> files;
  try {
    files = storage::expand(pattern);
  } catch (const Error&) {
    GTEST_SKIP() << "no " << pattern;
  }
  const auto set = open({files.front()});
  EXPECT_EQ(set->shape(), (EventShape{51, 51, 25}));
  EXPECT_GT(set->size(), 0);
  SampleBatch batch;
  set->read(std::vector<int64_t>{set->size() - 1, 0}, batch);
  for (const float ecal : batch.ecal) EXPECT_GT(ecal, 1);
  for (const float energy : batch.energy) EXPECT_TRUE(energy >= 0.02F && energy <= 5) << energy;
}

}  // namespace
}  // namespace linac::data::testing
