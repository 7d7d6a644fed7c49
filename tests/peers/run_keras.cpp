// Runs Keras models as linac reads them, for keras_zoo_test.py:
//   run_keras aten|linac FOLDER... -> each folder's values.h5, written.keras
// A folder holds model.keras and given.h5: "training" (0 or 1), "input/0" ..., "cotangent/0" .... values.h5 gets
// "output/0" ..., and the gradient of the sum of outputs times cotangents: "gradient/LAYER/NUMBER OF THE WEIGHT". In
// training also what the batch gave for weights that move, "statistic/LAYER/NUMBER", and what was drawn, "draw/0" ....
// A model that is refused leaves its message in error.txt.

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <filesystem>
#include <fstream>

#include "float_file.h"
#include "linac/model/graph/open_sizes.h"
#include "linac/model/keras/archive.h"
#include "linac/model/models/torch_threads.h"
#include "linac/model/nn/executable.h"

namespace {

namespace graph = linac::graph;
namespace keras = linac::keras;
namespace nn = linac::nn;

at::Tensor tensor_of(const FloatArray& array) {
  return at::from_blob(const_cast<float*>(array.values.data()), array.shape, at::kFloat).clone();
}

std::span<const float> values_of(const at::Tensor& contiguous) {
  return {contiguous.const_data_ptr<float>(), static_cast<size_t>(contiguous.numel())};
}

void write(FloatFile& file, const std::string& name, const at::Tensor& tensor) {
  const at::Tensor dense = tensor.to(at::kFloat).contiguous();
  file.write(name, dense.sizes().vec(), values_of(dense));
}

void run(const std::filesystem::path& folder, nn::Kernels kernels) {
  keras::KerasModel model = keras::read_keras(folder / "model.keras");
  const std::string given = folder / "given.h5";
  std::vector<at::Tensor> inputs, cotangents;
  std::vector<graph::Shape> shapes;
  for (size_t i = 0; i < model.graph.inputs.size(); ++i) {
    inputs.push_back(tensor_of(read_floats(given, fmt::format("input/{}", i))));
    shapes.emplace_back(inputs.back().sizes().begin() + 1, inputs.back().sizes().end());
  }
  model.graph = graph::with_input_shapes(model.graph, shapes);
  const graph::Parameters parameters = graph::from_weight_values(model.graph, model.weights);
  for (size_t i = 0; i < model.graph.outputs.size(); ++i)
    cotangents.push_back(tensor_of(read_floats(given, fmt::format("cotangent/{}", i))));
  const bool training = read_floats(given, "training").values.at(0) != 0;

  const nn::Executable executable(model.graph, kernels);
  const nn::Weights weights = nn::make_weights(executable.graph(), parameters, nn::Gradients::kWanted);
  nn::RunOptions options;
  options.mode = training ? nn::Mode::kTraining : nn::Mode::kInference;
  options.dropout_key = {.seed = 1, .stream = linac::Stream::kDropout};
  std::vector<float> statistics;
  std::vector<at::Tensor> draws;
  if (training) options.batch_statistics = &statistics, options.dropout_masks = &draws;
  const auto outputs = executable.run(weights, inputs, options);
  FloatFile file(folder / "values.h5");
  for (size_t i = 0; i < draws.size(); ++i) write(file, fmt::format("draw/{}", i), draws[i]);
  size_t slot = 0;
  for (const graph::Node& node : model.graph.nodes) {
    for (size_t i = 0; i < node.weights.size(); ++i) {
      if (node.weights[i].trainable) continue;
      const graph::Slot& where = parameters.statistics_layout.slots.at(slot++);
      if (!training) continue;
      file.write(fmt::format("statistic/{}/{}", node.name, i), where.shape,
                 std::span<const float>(statistics)
                     .subspan(static_cast<size_t>(where.offset), static_cast<size_t>(where.size)));
    }
  }
  at::Tensor loss = at::zeros({}, at::kFloat);
  for (size_t i = 0; i < outputs.size(); ++i) {
    write(file, fmt::format("output/{}", i), outputs[i].detach());
    if (outputs[i].is_floating_point()) loss = loss + at::sum(outputs[i] * cotangents[i]);
  }
  if (!weights.trainable.empty()) {
    const auto gradients = torch::autograd::grad({loss}, weights.trainable, {}, {}, false, /*allow_unused=*/true);
    size_t next = 0;
    for (const graph::Node& node : model.graph.nodes) {
      for (size_t i = 0; i < node.weights.size(); ++i) {
        if (!node.weights[i].trainable) continue;
        const at::Tensor& gradient = gradients[next];
        write(file, fmt::format("gradient/{}/{}", node.name, i),
              gradient.defined() ? gradient : at::zeros_like(weights.trainable[next]));
        ++next;
      }
    }
  }
  keras::write_keras(model.graph, model.weights, folder / "written.keras", nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  linac::models::use_threads(1);
  LINAC_CHECK(argc > 1);
  const nn::Kernels kernels = std::string(argv[1]) == "aten" ? nn::Kernels::kAten : nn::Kernels::kLinac;
  for (int i = 2; i < argc; ++i) {
    const std::filesystem::path folder = argv[i];
    std::filesystem::remove(folder / "error.txt");
    try {
      run(folder, kernels);
    } catch (const std::exception& error) {
      std::ofstream(folder / "error.txt") << error.what() << '\n';
    }
  }
  return 0;
}
