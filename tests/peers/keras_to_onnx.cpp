// Writes Keras models as ONNX, for test_onnx_zoo.py:
//   keras_to_onnx FOLDER... -> each folder's model.onnx from its model.keras
// A model that is refused leaves its message in error.txt.

#include <filesystem>
#include <fstream>

#include "linac/keras/archive.h"
#include "linac/onnx/write_onnx.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path folder = argv[i];
    std::filesystem::remove(folder / "error.txt");
    try {
      const linac::keras::KerasModel model = linac::keras::read_keras(folder / "model.keras");
      linac::onnx::write_onnx(model.graph, model.weights, folder / "model.onnx", {{"source", "model.keras"}});
    } catch (const std::exception& error) {
      std::ofstream(folder / "error.txt") << error.what() << '\n';
    }
  }
  return 0;
}
