#pragma once
// For the tests of this module only: a folder of their own with its own cache, and small made-up showers.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/data/dataset.h"
#include "linac/io/hdf5/handle.h"

namespace linac::data::testing {

class DataTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  const TemporaryFolder test_folder_;
  const std::filesystem::path folder_ = test_folder_.path();
};

constexpr EventShape kSmallShape{5, 4, 3};

/// `events` raw showers: event i has energy 10 + i GeV, theta 1.2 + 0.01 i, and about half of its cells at 0.
ShowerBlock make_showers(int64_t events, const EventShape& shape = kSmallShape);

/// Data sets to write by hand: name, shape, values.
struct RawColumn {
  std::string name;
  std::vector<hsize_t> shape;
  std::vector<float> values;
};
struct RawLayout {
  std::vector<hsize_t> chunk;  // of the first column; empty: contiguous
  bool as_double = false;
};
void write_hdf5(const std::string& path, const std::vector<RawColumn>& columns, const RawLayout& layout = {});
/// The three columns of `block` under the usual names.
std::vector<RawColumn> columns_of(const ShowerBlock& block);
/// Samples as records of the converted layout.
void write_tfrecord(const std::string& path, const ShowerBlock& samples);

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace linac::data::testing
