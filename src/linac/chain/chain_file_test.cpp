#include "linac/chain/chain_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "linac/base/error.h"
#include "linac/weights/tensor_file.h"

namespace linac::chain {
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
      ShowerChain(load_chain(path_).parts, path_.string());
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  // The model's file with other notes or tensors.
  template <class Change>
  std::string changed(const Change& change) {
    weights::TensorFile file = weights::decode_tensors(bytes_of(kModel), kModel);
    change(file);
    std::vector<weights::TensorView> views;
    for (const auto& [name, values] : file.tensors)
      views.push_back({name, {static_cast<int64_t>(values.size())}, values});
    return weights::encode_tensors(views, file.meta);
  }

  std::filesystem::path path_;
};

TEST_F(ChainFileTest, DamagedAndForeignFilesAreRefused) {
  EXPECT_EQ(refusal(changed([](weights::TensorFile&) {})), "");
  std::string altered = bytes_of(kModel);
  altered[altered.size() / 2] ^= 1;
  EXPECT_NE(refusal(altered).find("its checksum does not match"), std::string::npos);
  EXPECT_NE(refusal(changed([](weights::TensorFile& file) {
              file.tensors.erase("cell.hit.bias");
            })).find("no tensor 'cell.hit.bias'"),
            std::string::npos);
  EXPECT_NE(refusal(changed([](weights::TensorFile& file) {
              file.meta["kind"] = "other";
            })).find("not a model of kind cell_chain"),
            std::string::npos);
  EXPECT_NE(refusal(changed([](weights::TensorFile& file) {
              file.meta.erase("memory");
            })).find("its notes are not those of a cell_chain"),
            std::string::npos);
  EXPECT_NE(refusal(changed([](weights::TensorFile& file) {
              file.meta["sensor_depth_cells"] = {1, 2, 3};
            })).find("is not one number a layer"),
            std::string::npos);
  EXPECT_NE(
      refusal(changed([](weights::TensorFile& file) { file.tensors["layer.in.weight"].pop_back(); })).find("no matrix"),
      std::string::npos);
}

}  // namespace
}  // namespace linac::chain
