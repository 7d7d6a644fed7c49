#include "linac/model/chain/chain_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "linac/base/base/error.h"
#include "linac/base/weights/tensor_file.h"
#include "linac/model/chain/training_cells.h"

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

// What the networks say of the cells of their own showers, on the way that training takes, is how often they are hit:
// training and drawing have the same features.
TEST_F(ChainFileTest, TrainingSeesWhatWasDrawn) {
  const ChainFile file = load_chain(kModel);
  const CellNetwork& network = file.parts.network;
  const ShowerChain chain(file.parts, kModel);
  ShowerChain::Workspace workspace(chain);
  TrainingCells cells(file.parts, file.parts.layer_energy.scale(), network.edges);
  std::vector<float> image(static_cast<size_t>(chain.shape().cells()));
  TrainingRows rows;
  for (uint64_t event = 0; event < 40; ++event) {
    const auto energy = static_cast<float>(12 + 2 * event), theta = 1.1F + 0.024F * static_cast<float>(event);
    const Axis entry =
        chain.make(static_cast<double>(energy), static_cast<double>(theta), chain_key(2, event), image, workspace);
    cells.add({energy, theta, entry, image}, {.seed = event, .stream = Stream::kCells}, event % 2 == 1, rows);
  }
  const auto count = static_cast<int64_t>(rows.cells());
  std::vector<float> shared(static_cast<size_t>(network.shared.stride())), first(shared.size()),
      second(static_cast<size_t>(network.hidden.stride())), logit(static_cast<size_t>(network.hit.stride()));
  double said = 0, hits = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float* row = &rows.features[static_cast<size_t>(i * cells.features())];
    network.shared.apply(row + kCellFeatures, cells.features(), 1, Activation::kNone, shared.data());
    network.cell.apply(row, cells.features(), 1, Activation::kRelu, first.data(), shared.data());
    network.hidden.apply(first.data(), network.cell.stride(), 1, Activation::kRelu, second.data());
    network.hit.apply(second.data(), network.hidden.stride(), 1, Activation::kNone, logit.data());
    const auto at = static_cast<size_t>(i);
    said += static_cast<double>(rows.weights[at]) / (1 + std::exp(-static_cast<double>(logit[0])));
    hits += rows.classes[at] == kNoHit ? 0 : 1;
  }
  EXPECT_GT(hits, 20000);
  EXPECT_NEAR(said / hits, 1, 0.03);
}

// Of other showers than those by which the file's bounds were measured the largest chances of hits are seldom above,
// and not far.
TEST_F(ChainFileTest, BoundsOfTheHaloHold) {
  const ChainFile file = load_chain(kModel);
  const HaloBounds& bounds = file.parts.halo;
  const HaloBounds others = measured_bounds(file.parts, 7);
  constexpr float kMore = 1.5F;  // than those showers had
  int compared = 0, above = 0;
  for (size_t i = 0; i < HaloBounds::kSize; ++i) {
    if (bounds[i].chance == 1 || others[i].chance == 1) continue;
    ++compared;
    const float largest = others[i].chance / kMore;
    above += largest > bounds[i].chance ? 1 : 0;
    EXPECT_LT(largest, 1.75F * bounds[i].chance) << i;
  }
  EXPECT_GT(compared, 80);
  EXPECT_LT(above, compared / 4);
}

// Written again it is the same model.
TEST_F(ChainFileTest, WritesWhatItReads) {
  save_chain(load_chain(kModel), path_);
  const weights::TensorFile before = weights::decode_tensors(bytes_of(kModel), kModel),
                            after = weights::decode_tensors(bytes_of(path_), "after");
  EXPECT_EQ(before.tensors, after.tensors);
  EXPECT_TRUE(load_chain(path_).range);
}

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
            })).find("tensor 'layer.mean' has not 3 numbers"),
            std::string::npos);
  EXPECT_NE(refusal(changed([](weights::TensorFile& file) {
              file.tensors["halo.bounds"].front() = 1e-30F;
            })).find("bounds of the halo that are no chances"),
            std::string::npos);
  EXPECT_NE(refusal(changed([](weights::TensorFile& file) {
              file.tensors["halo.bounds"].back() = 1e-3F;
            })).find("bounds of the halo that fall"),
            std::string::npos);
  EXPECT_NE(refusal(changed([](weights::TensorFile& file) {
              file.tensors["layer.hidden.bias"].resize(32);
            })).find("do not fit together"),
            std::string::npos);
  EXPECT_NE(
      refusal(changed([](weights::TensorFile& file) { file.tensors["layer.in.weight"].pop_back(); })).find("no matrix"),
      std::string::npos);
}

}  // namespace
}  // namespace linac::chain
