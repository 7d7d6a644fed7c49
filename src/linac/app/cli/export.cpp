#include <fmt/format.h>

#include <memory>
#include <string>

#include "linac/app/cli/verbs.h"
#include "linac/base/log.h"
#include "linac/train/model_file.h"

namespace linac::app {
namespace {

struct ExportOptions {
  std::string run, format = "keras", out, part = "generator";
};

void run_export(const ExportOptions& options) {
  const train::RunModel run = train::load_run(options.run);
  if (options.part == "generator") {
    train::export_generator(run.job, run.generator, options.out);
  } else {
    train::export_discriminator(run.job, run.discriminator, options.out);
  }
  log::info(fmt::format("{}: {} of {}", options.out, options.part, run.checkpoint.string()));
}

}  // namespace

void add_export_verb(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  auto* verb = app.add_subcommand("export", "Writes a trained network for other programs");
  verb->add_option("run", options->run, "folder of a run (its best checkpoint, else the newest) or a checkpoint")
      ->required();
  verb->add_option("--format", options->format, "keras: an archive that keras.models.load_model reads")
      ->check(CLI::IsMember({"keras"}));
  verb->add_option("--out", options->out, "file to write, e.g. generator.keras")->required();
  verb->add_option("--part", options->part, "generator, or discriminator (its two learned heads)")
      ->check(CLI::IsMember({"generator", "discriminator"}));
  verb->footer("Example: linac export runs/3dgan-geant4 --format keras --out generator.keras");
  verb->callback([options] { run_export(*options); });
}

}  // namespace linac::app
