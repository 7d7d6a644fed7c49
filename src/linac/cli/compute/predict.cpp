#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/base/log.h"
#include "linac/base/base/version.h"
#include "linac/cli/compute/model_events.h"
#include "linac/cli/compute/verbs.h"
#include "linac/io/data/formats/event_arrays.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/storage.h"
#include "linac/model/keras/archive.h"

namespace linac::cli {
namespace {

// What the numbers are of: the model, and the events, which are rows in the order of these files.
std::map<std::string, std::string> provenance(const ModelEvents& model, const ModelEventsOptions& options) {
  nlohmann::json events = nlohmann::json::array();
  int64_t first = 0;
  for (const data::TableFile& file : model.files()) {
    events.push_back(
        {{"file", file.url}, {"first_row", first}, {"events", file.events}, {"fingerprint", file.fingerprint}});
    first += file.events;
  }
  std::map<std::string, std::string> known{{"source", fmt::format("linac predict --model {}", options.model)},
                                           {"linac", kVersion},
                                           {"events", events.dump()}};
  if (std::filesystem::is_regular_file(model.file())) {  // and not model.json+weights.h5
    known["model"] = model.state().empty() ? model.file().string() : options.model;
    if (!model.state().empty()) known["model_state"] = model.state();
    known["model_fingerprint"] = storage::fingerprint(model.file()).content;
  }
  return known;
}

std::string unused_name(std::string name, const std::vector<data::EventArrayShape>& arrays) {
  while (std::ranges::find(arrays, name, &data::EventArrayShape::name) != arrays.end()) name += '_';
  return name;
}

void run_predict(const ModelEventsOptions& options, const std::string& out) {
  storage::need_ending(out, {".h5", ".hdf5", ".parquet", ".root"}, "predict");
  const ModelEvents model(options, Truth::kNone);
  std::vector<data::EventArrayShape> outputs;
  std::vector<size_t> written;                    // of the model's outputs; one that it names twice is written once
  std::vector<std::vector<std::string>> classes;  // that each written output tells apart
  for (size_t i = 0; i < model.network().outputs().size(); ++i) {
    const graph::Node& output = model.network().outputs()[i];
    if (std::ranges::find(outputs, output.name, &data::EventArrayShape::name) != outputs.end()) continue;
    written.push_back(i);
    outputs.push_back({output.name, output.output});
    classes.push_back(model.classes(i));
  }
  std::vector<std::optional<size_t>> told(written.size());  // the array that says which steps are there
  for (size_t array = 0; array < written.size(); ++array) {
    if (!model.tells_steps(written[array])) continue;
    told[array] = outputs.size();
    outputs.push_back({unused_name(outputs[array].name + "_steps", outputs), {outputs[array].shape[0]}});
  }
  std::vector<std::string> inputs;
  for (const std::filesystem::path& file : keras::files_of(model.file())) inputs.push_back(file.string());
  for (const data::TableFile& file : model.files()) inputs.push_back(file.url);
  storage::need_another_file(out, inputs, "predict");
  const storage::Output output_file(out);
  data::EventArraysWriter writer(output_file.path(), outputs, model.events());
  for (const auto& [name, text] : provenance(model, options)) writer.set_attribute(name, text);
  for (size_t array = 0; array < classes.size(); ++array)
    if (!classes[array].empty()) writer.set_attribute(array, "classes", classes[array]);
  for (size_t array = 0; array < told.size(); ++array)
    if (told[array]) writer.set_steps(array, *told[array]);
  std::vector<int64_t> events;
  for (const data::TableFile& file : model.files()) events.push_back(file.events);
  writer.number_events(events);
  const auto not_finite =
      model.run([&](int64_t first, const std::vector<std::vector<float>>& values, const ModelEvents::Known& known) {
        for (size_t array = 0; array < written.size(); ++array) {
          writer.write(array, first, values[written[array]]);
          const std::vector<uint8_t>& steps = known.steps[written[array]];
          if (told[array]) writer.write(*told[array], first, std::vector<float>(steps.begin(), steps.end()));
        }
      });
  writer.close();
  output_file.publish();
  log::info(fmt::format("{}: {} events by {}", out, model.events(), options.model));
  need_finite(not_finite, model.events(), "predict", fmt::format("{} is written whole", out));
}

}  // namespace

void add_predict_verb(CLI::App& app) {
  struct Options {
    ModelEventsOptions model;
    std::vector<std::string> fields;
    std::string out;
  };
  auto options = std::make_shared<Options>();
  auto* verb = add_handed_verb(app, "predict");
  verb->add_option(
          "--model", options->model.model,
          "a .keras file, an .h5 file of Keras 2, model.json+weights.h5, or a run of linac train: RUN as it ended, "
          "RUN@best, RUN@last or RUN@epoch=N")
      ->required();
  verb->add_option("--data", options->model.data,
                   "files, globs or URLs (HDF5, Parquet, ROOT, TFRecord) with a column for each input of the model")
      ->required();
  verb->add_option("--out", options->out,
                   "HDF5 file to write (a path or s3://), with a data set for each output; event_numbers/file and /row "
                   "say where each event comes from, OUTPUT_steps which steps of a sequence are there; NAME.parquet, "
                   "with columns called so; or NAME.root, with the tree "
                   "'scores' of such branches, a friend of the events' tree")
      ->required();
  verb->add_option("--input", options->model.fields,
                   "INPUT=COLUMN, where the names differ, or INPUT=COLUMN,COLUMN,... to join columns (may be repeated)")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_option("--field", options->fields, "what --input was called")
      ->type_size(1)
      ->allow_extra_args(false)
      ->group("");
  verb->add_option("--batch", options->model.batch, "events computed at once")->check(CLI::Range(1, 1 << 20));
  verb->add_option("--threads", options->model.threads, "batches side by side; 0: as many as there are processors")
      ->check(CLI::Range(0, 1024));
  verb->footer(
      "Examples:\n"
      "  linac predict --model classifier.keras --data events.h5 --input hlf_input=HLF --out scores.h5\n"
      "  linac predict --model runs/topology --data 'test/*.parquet' --out scores.h5\n"
      "A model that linac trained reads its columns with their scaling; another one the columns its inputs are "
      "called.");
  verb->callback([options] {
    std::vector<std::string>& fields = options->model.fields;
    fields.insert(fields.end(), options->fields.begin(), options->fields.end());
    run_predict(options->model, options->out);
  });
}

}  // namespace linac::cli
