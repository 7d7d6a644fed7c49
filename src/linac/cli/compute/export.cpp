#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linac/base/base/log.h"
#include "linac/cli/compute/named_model.h"
#include "linac/cli/compute/verbs.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/storage.h"
#include "linac/train/trained/chosen_model.h"
#include "linac/train/trained/model_file.h"
#include "linac/train/trained/run_models.h"

namespace linac::cli {
namespace {

struct ExportOptions {
  std::string run, model, format, out, part = "generator";
};

trained::FileFormat format_of(const ExportOptions& options) {
  if (options.format.empty()) return trained::format_of(options.out);
  const bool onnx = options.format == "onnx";
  storage::need_ending(options.out, {onnx ? ".onnx" : ".keras"}, "export");
  return onnx ? trained::FileFormat::kOnnx : trained::FileFormat::kKeras;
}

void run_export(const ExportOptions& options) {
  const trained::FileFormat format = format_of(options);
  const storage::Output out(options.out);
  // Of a graph's run the model that it has left; of a generator's its best checkpoint.
  const std::string named = options.run.empty() ? "" : named_model(options.run);
  const std::filesystem::path chosen = named.empty() ? "" : trained::told_model(named);
  const auto left = trained::model_of_run(chosen);
  const std::filesystem::path ending = chosen.extension();
  const bool is_graph =
      ending == ".keras" || ending == ".pt2" || ending == ".pt" || ending == ".chain" ||
      (left && (left->extension() == ".chain" || (left->stem() == "model" && left->extension() != ".safetensors")));
  if (const std::string& model = is_graph ? named : options.model; !model.empty()) {
    trained::export_keras_model(named_model(model), out.path(), format);
    out.publish();
    log::info(fmt::format("{}: {}", options.out, is_graph ? options.run : model));
    return;
  }
  const trained::RunModel run = trained::load_run(named);
  storage::need_another_file(options.out, std::vector{run.checkpoint.string()}, "export");
  if (options.part == "generator") {
    trained::export_generator(run.job, run.range, run.architecture, run.generator, out.path(), format);
  } else {
    trained::export_discriminator(run.job, run.range, run.architecture, run.discriminator, out.path(), format);
  }
  out.publish();
  log::info(fmt::format("{}: {} of {}", options.out, options.part, run.checkpoint.string()));
}

}  // namespace

void add_export_verb(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  auto* verb = add_handed_verb(app, "export");
  auto* source = verb->add_option_group("source");
  source->add_option(
      "run", options->run,
      "folder of a run (of a 3DGAN its best checkpoint, else the newest), one of its states (RUN@best, RUN@last, "
      "RUN@epoch=N), a checkpoint, a .keras file, a .pt2 or a .pt");
  source->add_option(
      "--model", options->model,
      "a .keras, .pt2 or .pt file of any model, a run that left one, or catalog://NAME@ALIAS: as it is there");
  source->require_option(1);
  verb->add_option("--out", options->out, "file to write, e.g. generator.keras or generator.onnx")->required();
  verb->add_option("--format", options->format,
                   "keras: an archive that keras.models.load_model reads; onnx: for onnxruntime; if not given, by the "
                   "ending of --out")
      ->check(CLI::IsMember({"keras", "onnx"}));
  verb->add_option("--part", options->part, "of a run: generator, or discriminator (its two learned heads)")
      ->check(CLI::IsMember({"generator", "discriminator"}));
  verb->footer(
      "Examples:\n"
      "  linac export runs/3dgan-geant4 --out generator.keras\n"
      "  linac export runs/3dgan-geant4 --out generator.onnx\n"
      "  linac export --model classifier.keras --out classifier.onnx");
  verb->callback([options] { run_export(*options); });
}

}  // namespace linac::cli
