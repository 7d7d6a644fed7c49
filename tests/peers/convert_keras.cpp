// Writes models that linac read as .keras files again: convert_keras FROM TO [FROM TO...]. A model that is refused
// leaves TO.error with the reason.

#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/model/keras/archive.h"
#include "linac/model/keras/compile.h"

namespace {

void convert(const std::string& from, const std::string& to) {
  const linac::keras::KerasModel model = linac::keras::read_keras(from);
  const auto losses = linac::keras::compiled_losses(model.compile, model.graph);
  linac::keras::Compilation compilation;
  compilation.losses = losses;
  linac::keras::Training training;
  if (!losses.empty()) training.compile = compile_config(compilation, model.graph);
  write_keras(model.graph, model.weights, to, nullptr, training);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc % 2 == 0) {
    std::cerr << "convert_keras FROM TO [FROM TO...]\n";
    return 2;
  }
  for (int i = 1; i + 1 < argc; i += 2) {
    try {
      convert(argv[i], argv[i + 1]);
    } catch (const linac::Error& error) {
      linac::write_file_atomically(argv[i + 1] + std::string(".error"), error.what());
    }
  }
}
