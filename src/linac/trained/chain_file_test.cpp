#include "linac/trained/chain_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "linac/base/error.h"
#include "linac/trained/shower_generator.h"
#include "linac/trained/tensor_file.h"

namespace linac::trained {
namespace {

const char* const kModel = "models/cell_chain-clic.chain";

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ChainFileTest : public ::testing::Test {
 protected:
  ChainFileTest()
      : path_(std::filesystem::temp_directory_path() / ("chain_file_test_" + std::to_string(getpid()) + ".chain")) {}
  ~ChainFileTest() override { std::filesystem::remove(path_); }

  std::string refusal(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    try {
      ShowerGenerator{path_};
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  // The model's file with other notes or tensors.
  template <class Change>
  std::string changed(const Change& change) {
    TensorFile file = decode_tensors(bytes_of(kModel), kModel);
    change(file);
    std::vector<TensorView> views;
    for (const auto& [name, values] : file.tensors)
      views.push_back({name, {static_cast<int64_t>(values.size())}, values});
    return encode_tensors(views, file.meta);
  }

  std::filesystem::path path_;
};

TEST_F(ChainFileTest, AShowerIsTheSameAloneAndAmongOthers) {
  const ShowerGenerator generator{kModel};
  EXPECT_EQ(generator.shape(), (EventShape{51, 51, 25}));
  ASSERT_TRUE(generator.range());
  EXPECT_EQ(to_string(*generator.range()), "10-100 GeV, 1.047-2.094 rad");
  const std::vector<float> energy{20, 50, 90}, theta{1.2F, 1.57F, 2};
  const std::vector<float> all = generator.make(energy, theta, 7, 4);
  const std::vector<float> first = generator.make(std::span(energy).first(1), std::span(theta).first(1), 7, 4);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin()));
  EXPECT_NE(generator.make(std::span(energy).first(1), std::span(theta).first(1), 8, 4), first);
}

TEST_F(ChainFileTest, TheBarycentreLiesInTheMiddleCell) {
  const ShowerGenerator generator{kModel};
  const std::vector<float> energy{10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
  for (const float angle : {1.05F, 1.57F, 2.09F}) {
    const std::vector<float> theta(energy.size(), angle), images = generator.make(energy, theta, 1, 0);
    for (size_t event = 0; event < energy.size(); ++event) {
      double sum = 0, x = 0, y = 0;
      const float* cell = &images[event * static_cast<size_t>(generator.shape().cells())];
      for (int64_t i = 0; i < generator.shape().x; ++i) {
        for (int64_t j = 0; j < generator.shape().y; ++j) {
          for (int64_t z = 0; z < generator.shape().z; ++z, ++cell) {
            sum += *cell;
            x += *cell * (static_cast<double>(i) + 0.5);
            y += *cell * (static_cast<double>(j) + 0.5);
          }
        }
      }
      // What falls outside of the image moves it by less than a tenth.
      EXPECT_NEAR(sum / static_cast<double>(energy[event]), 0.021, 0.007) << event << " " << angle;
      EXPECT_NEAR(x / sum, 25.5, 0.6) << event << " " << angle;
      EXPECT_NEAR(y / sum, 25.5, 0.6) << event << " " << angle;
    }
  }
}

TEST_F(ChainFileTest, DamagedAndForeignFilesAreRefused) {
  EXPECT_EQ(refusal(changed([](TensorFile&) {})), "");
  std::string altered = bytes_of(kModel);
  altered[altered.size() / 2] ^= 1;
  EXPECT_NE(refusal(altered).find("its checksum does not match"), std::string::npos);
  EXPECT_NE(
      refusal(changed([](TensorFile& file) { file.tensors.erase("cell.hit.bias"); })).find("no tensor 'cell.hit.bias'"),
      std::string::npos);
  EXPECT_NE(
      refusal(changed([](TensorFile& file) { file.meta["kind"] = "other"; })).find("not a model of kind cell_chain"),
      std::string::npos);
  EXPECT_NE(refusal(changed([](TensorFile& file) {
              file.meta.erase("memory");
            })).find("its notes are not those of a cell_chain"),
            std::string::npos);
  EXPECT_NE(refusal(changed([](TensorFile& file) {
              file.meta["sensor_depth_cells"] = {1, 2, 3};
            })).find("is not one number a layer"),
            std::string::npos);
  EXPECT_NE(refusal(changed([](TensorFile& file) { file.tensors["layer.in.weight"].pop_back(); })).find("no matrix"),
            std::string::npos);
}

}  // namespace
}  // namespace linac::trained
