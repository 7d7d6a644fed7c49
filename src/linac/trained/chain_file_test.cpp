#include "linac/trained/chain_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "linac/base/error.h"
#include "linac/chain/training_cells.h"
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

// What the networks say of the cells of their own showers, on the way that training takes, is how often they are hit:
// training and drawing have the same features.
TEST_F(ChainFileTest, TrainingSeesWhatWasDrawn) {
  const ChainFile file = load_chain(kModel);
  const chain::CellNetwork& network = file.parts.network;
  const chain::ShowerChain chain(file.parts, kModel);
  chain::ShowerChain::Workspace workspace(chain);
  chain::TrainingCells cells(file.parts, file.parts.layer_energy.scale(), network.edges);
  std::vector<float> image(static_cast<size_t>(chain.shape().cells()));
  chain::TrainingRows rows;
  for (uint64_t event = 0; event < 40; ++event) {
    const auto energy = static_cast<float>(12 + 2 * event), theta = 1.1F + 0.024F * static_cast<float>(event);
    const chain::Axis entry = chain.make(static_cast<double>(energy), static_cast<double>(theta),
                                         chain::chain_key(2, event), image, workspace);
    cells.add({energy, theta, entry, image}, {.seed = event, .stream = Stream::kCells}, event % 2 == 1, rows);
  }
  const auto count = static_cast<int64_t>(rows.cells());
  std::vector<float> shared(static_cast<size_t>(network.shared.stride())), first(shared.size()),
      second(static_cast<size_t>(network.hidden.stride())), logit(static_cast<size_t>(network.hit.stride()));
  double said = 0, hits = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float* row = &rows.features[static_cast<size_t>(i * cells.features())];
    network.shared.apply(row + chain::kCellFeatures, cells.features(), 1, chain::Activation::kNone, shared.data());
    network.cell.apply(row, cells.features(), 1, chain::Activation::kRelu, first.data(), shared.data());
    network.hidden.apply(first.data(), network.cell.stride(), 1, chain::Activation::kRelu, second.data());
    network.hit.apply(second.data(), network.hidden.stride(), 1, chain::Activation::kNone, logit.data());
    const auto at = static_cast<size_t>(i);
    said += static_cast<double>(rows.weights[at]) / (1 + std::exp(-static_cast<double>(logit[0])));
    hits += rows.classes[at] == chain::kNoHit ? 0 : 1;
  }
  EXPECT_GT(hits, 20000);
  EXPECT_NEAR(said / hits, 1, 0.03);
}

// Written again it is the same model.
TEST_F(ChainFileTest, WritesWhatItReads) {
  save_chain(load_chain(kModel), path_);
  const TensorFile before = decode_tensors(bytes_of(kModel), kModel), after = decode_tensors(bytes_of(path_), "after");
  EXPECT_EQ(before.tensors, after.tensors);
  const std::vector<float> energy{50}, theta{1.5F};
  EXPECT_EQ(ShowerGenerator{path_}.make(energy, theta, 1, 0), ShowerGenerator{kModel}.make(energy, theta, 1, 0));
  EXPECT_TRUE(ShowerGenerator{path_}.range());
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
