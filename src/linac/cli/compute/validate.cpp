#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/cli/compute/verbs.h"
#include "linac/cli/data/report_folder.h"
#include "linac/io/storage/output.h"
#include "linac/physics/physics/gate.h"
#include "linac/physics/report/showers/report.h"
#include "linac/train/validate/generated_showers.h"
#include "linac/train/validate/validation.h"

namespace linac::cli {
namespace {

constexpr size_t kVerdictsShown = 12;

struct ValidateOptions {
  std::vector<std::string> reference, training;
  std::vector<std::string> beside;  // NAME=SAMPLE
  std::string sample, out, gate;
  std::string reference_name = "Monte Carlo", sample_name = "sample";
  data::Fields fields;
  validate::ValidationOptions validation;
  bool json = false, no_classifiers = false;
};

bool is_shower_file(const std::string& name) {
  for (const char* ending : {".h5", ".hdf5", ".tfrecord", ".tfrecords"})
    if (name.ends_with(ending)) return true;
  return false;
}

std::unique_ptr<const validate::ShowerSource> open_sample(const std::string& sample, const ValidateOptions& options,
                                                          const validate::ShowerSource& reference) {
  if (is_shower_file(sample)) return validate::open_showers({sample}, options.fields);
  return validate::generate_like(sample, reference, options.validation.seed, options.validation.threads);
}

struct Beside {
  std::string name;
  std::unique_ptr<const validate::ShowerSource> showers;
};

Beside open_beside(const std::string& text, const ValidateOptions& options, const validate::ShowerSource& reference) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    throw user_error(fmt::format("[validate] --beside {} is not NAME=SAMPLE, as 3DGAN=models/3dgan-clic.keras", text));
  return {text.substr(0, equals), open_sample(text.substr(equals + 1), options, reference)};
}

report::ShowerReport make_report(const ValidateOptions& options, const validate::ShowerSource& reference,
                                 const validate::ShowerSource& sample, const validate::Validation& found,
                                 const physics::Gate& gate) {
  report::ShowerReport report;
  report.title = fmt::format("{} against {}", sample.name(), reference.name());
  report.reference_name = options.reference_name;
  report.sample_name = options.sample_name;
  report.reference = found.reference.get();
  report.sample = found.sample.get();
  report.hit_threshold_gev = options.validation.hit_threshold_gev;
  report.figures = found.figures;
  report.remarks = found.remarks;
  if (!options.gate.empty()) {
    report.gated = true;
    report.gate_name = options.gate;
    report.gate_showers = gate.showers;
    report.verdicts = physics::judge(gate, found.figures);
  }
  report.facts.push_back(made_fact());
  for (const auto& [what, text] : reference.facts()) report.facts.emplace_back("reference: " + what, text);
  for (const auto& [what, text] : sample.facts()) report.facts.emplace_back("sample: " + what, text);
  report.facts.emplace_back("cells count as hit above", fmt::format("{:g} GeV", options.validation.hit_threshold_gev));
  report.facts.emplace_back("seed", fmt::format("{}", options.validation.seed));
  return report;
}

std::string describe(const physics::Verdict& verdict, const physics::Sample& reference) {
  const std::string bin = physics::bin_title(reference, verdict.figure.bin);
  return fmt::format("  {:<28} {:>10.4g} +- {:<10.3g} limit {:<10.4g} floor {:<10.4g} {}", verdict.figure.name,
                     verdict.figure.value, verdict.figure.uncertainty, verdict.allowed, verdict.figure.floor, bin);
}

void print_figures(const validate::Validation& found) {
  fmt::print("  {:<18} {:>10}    {:<10} {:>10}\n", "figure", "sample", "", "floor");
  for (const physics::Figure& figure : found.figures) {
    const std::string family = figure.name.substr(0, figure.name.find('.'));
    const bool one_of_many = family == "ks" || family == "wasserstein" || family == "separation" || family == "chi2";
    if (one_of_many || figure.bin != physics::Bin{}) continue;
    fmt::print("  {:<18} {:>10.4g} +- {:<10.3g} {:>10.4g}\n", figure.name, figure.value, figure.uncertainty,
               figure.floor);
  }
}

// The gate's word is the process's: what failed or cannot be judged, worst first, in an error of its own.
void pronounce(const report::ShowerReport& report, bool quietly) {
  if (!report.gated) return;
  const physics::Judgement judgement = report.judgement();
  if (judgement == physics::Judgement::kPassed) {
    if (!quietly)
      fmt::print("gate {} passed: {}\n", report.gate_name,
                 plural(static_cast<int64_t>(report.verdicts.size()), "figure"));
    return;
  }
  const bool failed = judgement == physics::Judgement::kFailed, few = report.has_too_few_showers();
  const size_t beyond = report.count(physics::Judgement::kFailed);
  const size_t unsure = report.count(physics::Judgement::kUndecided), all = report.verdicts.size();
  const size_t shown = failed ? beyond : few ? beyond + unsure : unsure;
  const auto figures = [&](size_t count) {
    return fmt::format("{} of {}", count, plural(static_cast<int64_t>(all), "figure"));
  };
  std::string text;
  if (few) {
    text = fmt::format(
        "[gate] not enough to judge by {}: there are {} and {} showers and it wants {} on either side; "
        "give more. With these {} would be beyond, and {} too uncertain",
        report.gate_name, report.reference->events(), report.sample->events(), report.gate_showers, figures(beyond),
        unsure);
  } else {
    text = fmt::format("[gate] {} {} {} {}", figures(shown), shown == 1 ? "is" : "are",
                       failed ? "beyond" : "too uncertain to compare with", report.gate_name);
  }
  for (size_t i = 0; i < std::min(shown, kVerdictsShown); ++i)
    text += fmt::format("\n{}", describe(report.verdicts[i], *report.reference));
  if (shown > kVerdictsShown) text += fmt::format("\n  ... and {} more (report.html)", shown - kVerdictsShown);
  throw Error(failed ? ErrorCode::kGate : ErrorCode::kUndecided, text);
}

void run_validate(ValidateOptions options) {
  options.validation.classifiers = !options.no_classifiers;
  physics::Gate gate;
  if (!options.gate.empty()) {  // wrong limits are better known before the work
    gate = physics::read_gate(options.gate);
    physics::need_known_figures(gate, validate::figure_names(options.validation, !options.training.empty()));
  }
  options.validation.threads = usable_cores();
  const auto reference = validate::open_showers(options.reference, options.fields);
  const auto sample = open_sample(options.sample, options, *reference);
  std::vector<Beside> beside;
  for (const std::string& text : options.beside) beside.push_back(open_beside(text, options, *reference));
  std::unique_ptr<const validate::ShowerSource> training;
  if (!options.training.empty()) training = validate::open_showers(options.training, options.fields);
  const validate::Validation found = validate::validate(*reference, *sample, training.get(), options.validation);
  report::ShowerReport report = make_report(options, *reference, *sample, found, gate);
  std::vector<std::unique_ptr<const physics::Sample>> others;
  for (size_t i = 0; i < beside.size(); ++i) {
    others.push_back(validate::read_beside(*beside[i].showers, *reference, options.validation));
    report.beside.push_back({beside[i].name, others.back().get()});
  }
  const std::filesystem::path folder = options.out;
  storage::need_local_folder(folder, "validate");
  write_report(folder, report);
  if (options.json) {
    fmt::print("{}\n", report_text(report));
  } else {
    print_figures(found);
    for (const std::string& remark : report.remarks) fmt::print("  note: {}\n", remark);
    fmt::print("\n  {} and {} showers: {:.0f} s reading, {:.0f} s figures, {:.0f} s classifiers\n  report  {}\n",
               reference->events(), sample->events(), found.seconds_reading, found.seconds_figures,
               found.seconds_classifiers, (folder / "report.html").string());
  }
  pronounce(report, options.json);
}

}  // namespace

void add_validate_verb(CLI::App& app) {
  auto options = std::make_shared<ValidateOptions>();
  auto* verb = add_handed_verb(app, "validate");
  verb->add_option("--reference", options->reference, "Monte Carlo showers: files, globs or URLs")->required();
  verb->add_option("--sample", options->sample,
                   "showers to judge (.h5, .tfrecord), or a run's folder, checkpoint, .keras or .chain file, which "
                   "then generates them at the reference's energies and angles")
      ->required();
  verb->add_option("--train", options->training, "what the model was trained on, to look for memorised showers");
  verb->add_option("--beside", options->beside,
                   "NAME=SAMPLE: showers that the pictures show beside the two, of what --sample takes; not judged");
  verb->add_option("--reference-name", options->reference_name, "what report and pictures call the reference");
  verb->add_option("--sample-name", options->sample_name, "what they call the sample");
  verb->add_option("--out", options->out, "folder for report.html, report.json and the pictures")->required();
  verb->add_option("--gate", options->gate,
                   "limits that must hold, a YAML file; a failed gate exits with status 7, one that cannot judge for "
                   "want of showers with 10");
  verb->add_option("--threshold", options->validation.hit_threshold_gev, "cells with more count as hit, GeV");
  verb->add_option("--energy-bins", options->validation.energy_bins, "bins of the primary energy")
      ->check(CLI::Range(1, 100));
  verb->add_option("--angle-bins", options->validation.angle_bins, "bins of the angle")->check(CLI::Range(1, 100));
  verb->add_option("--bootstraps", options->validation.bootstraps, "replicas behind the uncertainties")
      ->check(CLI::Range(2, 1000));
  verb->add_option("--seed", options->validation.seed, "of bootstrap, halves, classifiers and generation");
  verb->add_option("--image", options->fields.image, "HDF5 data set of the cells");
  verb->add_option("--energy", options->fields.energy, "HDF5 data set of the primary energies");
  verb->add_option("--angle", options->fields.angle, "HDF5 data set of the angles");
  verb->add_flag("--no-classifiers", options->no_classifiers, "leave out the AUCs, which take most of the time");
  verb->add_flag("--json", options->json, "print report.json");
  verb->footer(
      "Examples:\n"
      "  linac validate --reference data/showers-test.h5 --sample generated.h5 --out report\n"
      "  linac validate --reference data/showers-test.h5 --sample models/cell_chain-clic.chain --sample-name "
      "cell_chain \\\n"
      "      --beside 3DGAN=models/3dgan-clic.keras --out report\n"
      "  linac validate --reference data/showers-test.h5 --sample runs/demo --train data/showers-train.h5 \\\n"
      "      --gate examples/gates/fast-simulation.yaml --out report");
  verb->callback([options] { run_validate(*options); });
}

}  // namespace linac::cli
