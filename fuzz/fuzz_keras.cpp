// Any text is either refused with linac::Error, or a graph that survives being written as Keras's config.json and read
// again.

#include <cstddef>
#include <cstdint>
#include <string>

#include "linac/base/base/error.h"
#include "linac/model/keras/config.h"

namespace {

std::vector<linac::graph::Shape> output_shapes(const linac::graph::Graph& graph) {
  std::vector<linac::graph::Shape> shapes;
  for (const int output : graph.outputs) shapes.push_back(graph.nodes[static_cast<size_t>(output)].output);
  return shapes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text;
  std::vector<linac::graph::Shape> shapes;
  try {
    const auto read = linac::keras::read_keras_config({reinterpret_cast<const char*>(data), size});
    shapes = output_shapes(read.graph);
    text = linac::keras::write_keras_config(read.graph).config.dump();
  } catch (const linac::Error& error) {
    LINAC_CHECK(error.code() == linac::ErrorCode::kUser);
    return 0;
  }
  LINAC_CHECK(output_shapes(linac::keras::read_keras_config(text).graph) == shapes);
  return 0;
}
