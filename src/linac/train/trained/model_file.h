#pragma once
// The trained networks as files that leave linac, and back: a run's checkpoint or a .keras archive. Thread-safe
// functions.

#include <filesystem>
#include <optional>

#include "linac/base/job/job.h"
#include "linac/base/weights/tensor_file.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/models/threedgan/networks.h"
#include "linac/model/primaries/trained_range.h"

namespace linac::trained {

/// What `linac generate` needs: the network's weights and what undoes the preprocessing.
struct GeneratorModel {
  graph::Graph graph;
  std::optional<models::ForeignModel> foreign;  // in place of the graph
  graph::Parameters parameters;
  job::Job job;           // of the run, as far as known: model.latent, model.power, data.scale
  bool knows_job = true;  // else the file is not linac's, and the last two are guessed
  std::string source;
  std::optional<primaries::TrainedRange> range{};  // where it is known
};

/// A run's folder (its best checkpoint, else the newest), a checkpoint file, or a .keras file; files also by URL. User
/// error if it is none of them.
GeneratorModel load_generator(const std::filesystem::path& run_or_file);

/// What other programs read.
enum class FileFormat { kKeras, kOnnx };

/// By the name's ending, .keras or .onnx; user error for another.
FileFormat format_of(const std::filesystem::path& path);

/// Writes the generator. The job's preprocessing travels along: in linac.json of a Keras 3 archive, in metadata_props
/// of an ONNX model ("power", "scale", "latent", "energy_unit_gev", "job", and "trained_on" if it is known).
void export_generator(const job::Job& job, const std::optional<primaries::TrainedRange>& range,
                      const models::threedgan::Architecture& architecture, const graph::Parameters& parameters,
                      const std::filesystem::path& path, FileFormat format = FileFormat::kKeras);
/// What a run leaves in the folder of its models: generator.keras, or generator.pt or .pt2 of one of PyTorch.
void save_generator(const job::Job& job, const std::optional<primaries::TrainedRange>& range,
                    const models::threedgan::Architecture& architecture, const graph::Parameters& parameters,
                    const std::filesystem::path& folder);
/// The discriminator's learned heads, "generation" and "auxiliary".
void export_discriminator(const job::Job& job, const std::optional<primaries::TrainedRange>& range,
                          const models::threedgan::Architecture& architecture, const graph::Parameters& parameters,
                          const std::filesystem::path& path, FileFormat format = FileFormat::kKeras);
/// Any model of a .keras file, of a .pt2 or a TorchScript file that linac trained (ONNX alone), or of a run that left
/// one, with what its linac.json says. User error if the run left another, or none.
void export_keras_model(const std::filesystem::path& model, const std::filesystem::path& path, FileFormat format);

/// A checkpoint with the job that it is of.
struct Checkpoint {
  std::filesystem::path path;
  weights::TensorFile file;
  job::Job job;
  std::optional<primaries::TrainedRange> range;  // not of checkpoints of older versions
  std::filesystem::path named;                   // the file, or its run's folder
};
/// Of checkpoint_of() (chosen_model.h).
Checkpoint load_checkpoint(const std::filesystem::path& run_or_checkpoint);
/// The weights of its network of that name.
void fill(const weights::TensorFile& file, const std::string& network, graph::Parameters& parameters);

/// Both networks and the job of a run's folder or a checkpoint file.
struct RunModel {
  job::Job job;
  models::threedgan::Architecture architecture;
  graph::Parameters generator, discriminator;
  std::filesystem::path checkpoint;
  std::optional<primaries::TrainedRange> range;  // not of checkpoints of older versions
};
RunModel load_run(const std::filesystem::path& run_or_checkpoint);
/// User error if it is one of another kind of model.
RunModel run_model(Checkpoint checkpoint);
GeneratorModel generator_of(Checkpoint checkpoint);

}  // namespace linac::trained
