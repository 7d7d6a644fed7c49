// Writes Keras models as ONNX, for onnx_zoo_test.py:
//   keras_to_onnx FOLDER... -> each folder's model.onnx from its model.keras
// shapes.txt, where it is there, has a line for each input: its sizes, for a model that leaves some open.
// A model that is refused leaves its message in error.txt.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "linac/model/graph/open_sizes.h"
#include "linac/model/keras/archive.h"
#include "linac/model/onnx/write_onnx.h"

namespace {

std::vector<linac::graph::Shape> read_shapes(std::istream& text) {
  std::vector<linac::graph::Shape> shapes;
  for (std::string line; std::getline(text, line);) {
    std::istringstream sizes(line);
    shapes.emplace_back(std::istream_iterator<int64_t>(sizes), std::istream_iterator<int64_t>());
  }
  return shapes;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path folder = argv[i];
    std::filesystem::remove(folder / "error.txt");
    try {
      linac::keras::KerasModel model = linac::keras::read_keras(folder / "model.keras");
      if (std::ifstream shapes(folder / "shapes.txt"); shapes)
        model.graph = linac::graph::with_input_shapes(model.graph, read_shapes(shapes));
      linac::onnx::write_onnx(model.graph, model.weights, folder / "model.onnx", {{"source", "model.keras"}});
    } catch (const std::exception& error) {
      std::ofstream(folder / "error.txt") << error.what() << '\n';
    }
  }
  return 0;
}
