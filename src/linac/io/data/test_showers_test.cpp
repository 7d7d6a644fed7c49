#include <stdlib.h>

#include <fstream>

#include "linac/io/data/formats/tfrecord_showers.h"
#include "linac/io/data/test_showers.h"

namespace linac::data::testing {

namespace fs = std::filesystem;

void DataTest::SetUp() {
  ::setenv("LINAC_CACHE", (folder_ / "cache").c_str(), 1);
}

void DataTest::TearDown() {
  ::unsetenv("LINAC_CACHE");
}

ShowerBlock make_showers(int64_t events, const EventShape& shape) {
  ShowerBlock block;
  block.resize(events, shape, Units::kRaw);
  uint32_t state = 12345;
  for (float& cell : block.image) {
    state = state * 1664525 + 1013904223;
    cell = state >> 31 != 0 ? static_cast<float>(state >> 8) * 0x1p-24F * 0.01F : 0;
  }
  for (size_t i = 0; i < block.energy.size(); ++i) {
    block.energy[i] = 10 + static_cast<float>(i);
    block.angle[i] = 1.2F + 0.01F * static_cast<float>(i);
  }
  return block;
}

void write_hdf5(const std::string& path, const std::vector<RawColumn>& columns, const RawLayout& layout) {
  const hdf5::Lock lock;
  const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  ASSERT_TRUE(file);
  for (size_t i = 0; i < columns.size(); ++i) {
    const RawColumn& column = columns[i];
    const auto rank = static_cast<int>(column.shape.size());
    const hdf5::Handle space(H5Screate_simple(rank, column.shape.data(), nullptr), H5Sclose);
    const hdf5::Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    if (i == 0 && !layout.chunk.empty()) {
      H5Pset_chunk(properties.get(), rank, layout.chunk.data());
      H5Pset_deflate(properties.get(), 1);
    }
    const hdf5::Handle dataset(
        H5Dcreate2(file.get(), column.name.c_str(), layout.as_double ? H5T_IEEE_F64BE : H5T_IEEE_F32LE, space.get(),
                   H5P_DEFAULT, properties.get(), H5P_DEFAULT),
        H5Dclose);
    ASSERT_TRUE(dataset);
    if (column.values.empty()) continue;
    ASSERT_GE(H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, column.values.data()), 0);
  }
}

std::vector<RawColumn> columns_of(const ShowerBlock& block) {
  const auto n = static_cast<hsize_t>(block.events());
  const auto axis = [](int64_t size) { return static_cast<hsize_t>(size); };
  return {{"ECAL", {n, axis(block.shape.x), axis(block.shape.y), axis(block.shape.z)}, block.image},
          {"energy", {n}, block.energy},
          {"theta", {n}, block.angle}};
}

void write_tfrecord(const std::string& path, const ShowerBlock& samples) {
  std::ofstream stream(path, std::ios::binary);
  for (int64_t event = 0; event < samples.events(); ++event) stream << encode_tfrecord_shower(samples, event);
}

}  // namespace linac::data::testing
