#include "linac/cli/control/study_foreign.h"
#include "linac/base/base/python_json.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/signals.h"
#include "linac/cli/control/study_place.h"
#include "linac/control/study/foreign.h"
#include "linac/control/study/journal.h"
#include "linac/control/study/optuna/file.h"
#include "linac/control/study/panda/evaluation.h"
#include "linac/control/study/panda/steering.h"
#include "linac/control/study/panda/task_files.h"
#include "linac/control/study/tensorboard.h"

namespace linac::cli {
namespace {

using nlohmann::json;

struct ForeignOptions {
  std::string folder, file, out, name, as = "optuna", server;
};

struct SteerOptions {
  std::string in, out, space, segments;
  study::Steering wanted;
};

void run_import(const ForeignOptions& options) {
  if (!std::filesystem::is_regular_file(options.file))
    throw user_error(fmt::format("[study] {}: is no file", options.file));
  const study::GivenStudy given = study::read_foreign(options.file, options.name);
  const auto journal = study::Journal::make_given(options.folder, given);
  fmt::print("{}: {} of a space of {}\n", options.folder,
             plural(static_cast<int64_t>(journal.history().trials().size()), "trial"),
             plural(static_cast<int64_t>(journal.history().space().size()), "parameter"));
  for (const std::string& note : given.notes) fmt::print("  note: {}\n", note);
}

void run_export(const ForeignOptions& options) {
  const auto place = open_study(options.folder, {});
  const study::Ledger& ledger = place->ledger();
  if (options.as == "tensorboard") {
    study::write_tensorboard(ledger, options.out);
  } else {
    if (std::filesystem::exists(std::filesystem::symlink_status(options.out)))
      throw user_error(fmt::format("[study] {}: is there already, perhaps in use; choose another --to", options.out));
    const auto folder = std::filesystem::absolute(options.folder).lexically_normal();
    const auto own = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
    write_file_atomically(options.out, study::optuna_file_of(ledger, options.name.empty() ? own : options.name));
  }
  fmt::print("{}: {}\n", options.out, plural(static_cast<int64_t>(ledger.history().trials().size()), "trial"));
}

json json_of(const std::string& file) {
  try {
    return json::parse(plain_json(read_file(file)));
  } catch (const json::exception& error) {
    throw user_error(fmt::format("[study] {}: is no JSON ({})", file, error.what()));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("[study] {}: {}", file, error.what()));
  }
}

void run_steer(SteerOptions options) {
  if (!options.segments.empty())
    for (const json& segment : json_of(options.segments)) {
      if (!segment.is_object() || !segment.contains("name") || !segment["name"].is_string())
        throw user_error(fmt::format("[study] {}: is no list of segments with names", options.segments));
      options.wanted.segments.push_back(segment["name"]);
    }
  const json space = options.space.empty() ? json() : json_of(options.space);
  const json points = study::steer(options.wanted, json_of(options.in), space);
  write_file_atomically(options.out, points.dump() + "\n");
  fmt::print("{}: {}\n", options.out, plural(static_cast<int64_t>(points.size()), "point"));
}

void add_steer(CLI::App& study) {
  auto options = std::make_shared<SteerOptions>();
  auto* verb = study.add_subcommand(
      "steer", "The steering of PanDA's hyper-parameter tasks: reads the points so far, writes the next ones");
  verb->add_option("--in", options->in, "%IN: points with their losses")->required()->check(CLI::ExistingFile);
  verb->add_option("--out", options->out, "%OUT: the next points; none ends the search")->required();
  verb->add_option("--max-points", options->wanted.points_max, "%MAX_POINTS, of the whole search")
      ->required()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--num-points", options->wanted.points, "%NUM_POINTS, wanted now")
      ->required()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--space", options->space, "search space file, where the input has none")->check(CLI::ExistingFile);
  verb->add_option("--segments", options->segments, "segments file of a task with several models")
      ->check(CLI::ExistingFile);
  verb->add_option("--sampler", options->wanted.sampler.name,
                   "random, grid, sobol, tpe, cma-es, gp, nsga-ii or nsga-iii");
  verb->add_option("--seed", options->wanted.seed, "of the suggestions");
  verb->footer(
      "Example of a steering command of phpo:\n"
      "  linac study steer --in %IN --out %OUT --max-points %MAX_POINTS --num-points %NUM_POINTS");
  verb->callback([options] { run_steer(*options); });
}

struct PandaOptions {
  std::string file, folder, container, data_set;
};

void run_panda(const PandaOptions& options) {
  const study::Study study = study::read_study(options.file);
  const study::PandaTaskFiles files = study::panda_task_files(study, options.container, options.data_set);
  const std::filesystem::path folder = options.folder;
  std::error_code none;
  if (std::filesystem::exists(folder, none) && !std::filesystem::is_empty(folder, none))
    throw user_error(fmt::format(
        "[study] {}: is there and not empty; phpo sends what a folder has, so choose a new one", options.folder));
  make_folder(folder);
  write_file_atomically(folder / "study.yaml", study.to_yaml());
  write_file_atomically(folder / "space.json", files.space.dump(1) + "\n");
  write_file_atomically(folder / "conf.json", files.conf.dump(1) + "\n");
  fmt::print("cd {} && phpo --loadJson conf.json --outDS user.NICKNAME.NAME\n", options.folder);
}

void add_panda(CLI::App& study) {
  auto options = std::make_shared<PandaOptions>();
  auto* made = study.add_subcommand("panda", "Writes a study as a hyper-parameter task of PanDA, for phpo");
  made->add_option("file", options->file, "study file")->required()->check(CLI::ExistingFile);
  made->add_option("--out", options->folder, "a new folder: conf.json, space.json, study.yaml")->required();
  made->add_option("--container", options->container, "image with linac in it, e.g. docker://registry/linac:1.0")
      ->required();
  made->add_option("--data", options->data_set, "data set that PanDA brings as data.train, e.g. user.me.showers");
  made->footer("Example: linac study panda tune.yaml --out hpo --container docker://registry.example.org/linac:1.0");
  made->callback([options] { run_panda(*options); });

  auto file = std::make_shared<std::string>();
  auto* evaluated = study.add_subcommand(
      "evaluate", "The evaluation of PanDA's hyper-parameter tasks: input.json is trained, output.json has the loss");
  evaluated->add_option("file", *file, "study file")->required()->check(CLI::ExistingFile);
  evaluated->footer("Example: linac study evaluate study.yaml");
  evaluated->callback([file] {
    catch_stop_signals();
    if (const int status = study::evaluate(study::read_study(*file), std::filesystem::read_symlink("/proc/self/exe")))
      throw CLI::RuntimeError(status);
  });
}

}  // namespace

void add_foreign_studies(CLI::App& study) {
  auto options = std::make_shared<ForeignOptions>();
  auto* read = study.add_subcommand(
      "import", "Makes the folder of a study from a journal file of Optuna or an Experiment of Katib");
  read->add_option("file", options->file, "journal file of Optuna, or Experiment of Katib (YAML)")
      ->required()
      ->check(CLI::ExistingPath);
  read->add_option("--out", options->folder, "folder of the study")->required();
  read->add_option("--name", options->name, "which study of the file, if there are several");
  read->callback([options] { run_import(*options); });
  auto* written =
      study.add_subcommand("export", "Writes a study for others: a journal file of Optuna, or runs for TensorBoard");
  written->add_option("study", options->folder, "its folder, or its name at the service of --server")->required();
  written->add_option("--to", options->out, "the file, or the folder; one that is there is not touched")->required();
  written->add_option("--as", options->as, "optuna: a file for JournalStorage; tensorboard: a folder, a run a trial")
      ->check(CLI::IsMember({"optuna", "tensorboard"}));
  written->add_option("--name", options->name, "optuna: of the study in it (default: the folder's)");
  // The word itself is taken before the line is parsed (server_word.h); here it is for the help.
  written->add_option("--server", options->server,
                      "address of the service that has the study (default: a folder here)");
  written->footer(
      "Examples:\n"
      "  linac study export studies/a --to optuna.log\n"
      "  linac study export studies/a --as tensorboard --to board && tensorboard --logdir board");
  written->callback([options] { run_export(*options); });
  add_steer(study);
  add_panda(study);
}

}  // namespace linac::cli
