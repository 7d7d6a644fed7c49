#pragma once
// The settings of each kind of model: one struct a kind, with its own name, fields and check. model.h has the table of
// them. Plain values.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace linac::job {

struct Job;

/// What a kind says of itself where it is not like most.
struct ModelKind {
  /// The file may hold an optimiser, which is used where the job names none.
  static constexpr bool kOptimizerInFile = false;
  /// The settings that name files.
  std::vector<std::string*> files() { return {}; }
};

/// Of kinds that train the model of a file. `from` is an address in a catalog, whose file becomes `file` (the verb
/// brings it, cli/compute/job_file.h).
struct ModelFile : ModelKind {
  std::string file, from;

  std::vector<std::string*> files() { return {&file}; }

 protected:
  template <class V>
  void file_fields(V& v) {
    v("file", file, "the file of the model, a path or a URL; the training starts from its weights");
    v("from", from,
      "in place of file, a model of the service's catalog, catalog://NAME@ALIAS (docs/operate/service.md)");
  }
};

/// Of kinds that are made by linac and may go on from one that linac has trained: `from` names a run, a checkpoint or a
/// file too, and `file` is the one file that this is (train/trained/start.h).
struct TrainedStart : ModelFile {
  std::vector<std::string*> files() {
    std::vector<std::string*> named{&file};
    if (from.find("://") == std::string::npos) named.push_back(&from);
    return named;
  }

 protected:
  template <class V>
  void start_fields(V& v, const char* what) {
    v("from", from, what);
    v("file", file, "the file that this is");
  }
};

/// How much each part of the 3DGAN's losses counts ("Accelerating GAN training ...", EPJ Web Conf. 251 (2021) 02073);
/// `profiles`, `spectrum` and `observables` are linac's own (model/models/threedgan/likeness.h).
struct GanLossWeights {
  double generation = 3.0, auxiliary = 0.1, angle = 25.0, ecal = 0.1;
  double profiles = 0, spectrum = 0, observables = 0;

  template <class V>
  void fields(V& v) {
    v("generation", generation, "real or generated: binary cross-entropy");
    v("auxiliary", auxiliary, "energy that the discriminator reads: mean absolute percentage error");
    v("angle", angle, "angle that is measured in the image: mean absolute error");
    v("ecal", ecal, "sum of the cells: mean absolute percentage error");
    v("profiles", profiles, "of the generator alone: how far mean profiles are from those of the batch");
    v("spectrum", spectrum, "of the generator alone: how far the numbers of cells above thresholds are");
    v("observables", observables, "of the generator alone: how far distributions of response, centres and widths are");
  }
};

struct ThreeDGanSettings : TrainedStart {
  static constexpr const char* kKind = "3dgan";
  std::string generator, discriminator;
  int64_t latent = 256;
  double power = 0.85;
  GanLossWeights loss_weights;
  int64_t generator_channels = 8;
  std::vector<int64_t> generator_filters{8, 6, 6, 6, 6, 6};
  std::vector<int64_t> discriminator_filters{16, 8, 8, 8};
  double dropout = 0.2;
  double leaky_slope = 0.3;
  bool freeze_norms = false;

  template <class V>
  void fields(V& v) {
    start_fields(v,
                 "what the training goes on from: a run's folder, a checkpoint, a generator's .keras file, or a model "
                 "of the service's catalog, catalog://NAME@ALIAS (docs/guide/training.md)");
    v("generator", generator, "a network of your own instead, Keras, TorchScript or .pt2 (docs/guide/training.md)");
    v("discriminator", discriminator, "and its opponent; both or none");
    v("latent", latent, "length of the generator's input: energy, angle and latent - 2 random numbers");
    v("power", power, "cells are raised to this power before training, which narrows their range");
    v("loss_weights", loss_weights, "how much each part of the losses counts");
    v("generator_channels", generator_channels, "own generator: channels of the small image of its first layer");
    v("generator_filters", generator_filters, "own generator: filters of its convolutions, all but the last");
    v("discriminator_filters", discriminator_filters, "own discriminator: filters of its convolutions");
    v("dropout", dropout, "own discriminator: share of the values dropped behind each convolution");
    v("leaky_slope", leaky_slope, "own discriminator: slope of its leaky ReLUs below 0");
    v("freeze_norms", freeze_norms,
      "own generator: its batch normalizations stay as they are, so that it is trained as it is used "
      "(docs/guide/training.md)");
  }
  void check(const Job& job, const std::string& where) const;
  std::vector<std::string*> files() {
    std::vector<std::string*> named = TrainedStart::files();
    named.insert(named.end(), {&generator, &discriminator});
    return named;
  }
};

struct CellChainSettings : TrainedStart {
  static constexpr const char* kKind = "cell_chain";
  std::string geometry;
  std::vector<std::string> entry{"x0", "y0", "shift_x", "shift_y"};
  int64_t hidden = 32, layer_hidden = 64;
  int64_t classes = 88;
  int64_t components = 8;
  double core_cells = 1.6, ring_cells = 3.2, halo_cells = 6;
  double memory = 0.7;

  template <class V>
  void fields(V& v) {
    start_fields(v,
                 "what the training goes on from: a run's folder, a checkpoint, a .chain file, or a model of the "
                 "service's catalog, catalog://NAME@ALIAS (docs/guide/physics/reuse.md)");
    v("geometry", geometry, "the calorimeter as linac simulate takes it, a YAML file; without: that of data/");
    v("entry", entry,
      "HDF5 data sets, of one number an event each: where the primary enters the front face, along x and y, in mm from "
      "the centre of a cell, and by how many cells that cell lies before the image's middle one");
    v("hidden", hidden, "units of the hidden layers of the cells' network");
    v("layer_hidden", layer_hidden, "units of the hidden layers of the layers' network");
    v("classes", classes, "classes of a cell's energy");
    v("components", components, "normal distributions of a layer's energy");
    v("core_cells", core_cells, "distance from the axis, in cells, where the core ends");
    v("ring_cells", ring_cells, "the same of the ring");
    v("halo_cells", halo_cells, "where only a part of the quiet cells is looked at, from here on");
    v("memory", memory, "part of a layer's image that is left of it one layer later");
  }
  void check(const Job& job, const std::string& where) const;
  std::vector<std::string*> files() {
    std::vector<std::string*> named = TrainedStart::files();
    named.push_back(&geometry);
    return named;
  }
};

struct TransformerBlock {
  int64_t width = 32, heads = 4, inner = 64;

  template <class V>
  void fields(V& v) {
    v("width", width, "numbers a particle");
    v("heads", heads, "heads of the attention; they share the width");
    v("inner", inner, "units of the layer between");
  }
};

struct InclusiveClassifierSettings : ModelKind {
  static constexpr const char* kKind = "inclusive_classifier";
  std::string variant = "gru";
  int64_t particles = 801;
  int64_t units = 50;
  std::vector<int64_t> dense_units{25};
  std::vector<int64_t> hlf_units{50, 20, 10};
  TransformerBlock transformer;
  double dropout = 0.2;

  template <class V>
  void fields(V& v) {
    v("variant", variant, "gru, lstm, hlf, particles or transformer");
    v("particles", particles, "longest list of particles, shorter ones are padded");
    v("units", units, "gru, lstm, particles: units of the recurrent layer");
    v("dense_units", dense_units, "all but hlf: units of the dense layers before the last");
    v("hlf_units", hlf_units, "hlf: units of the dense layers before the last");
    v("transformer", transformer, "transformer: its block");
    v("dropout", dropout, "all but hlf: share of the values dropped behind the list of particles");
  }
  void check(const Job& job, const std::string& where) const;
};

struct KerasSettings : ModelFile {
  static constexpr const char* kKind = "keras";
  static constexpr bool kOptimizerInFile = true;
  std::map<std::string, std::map<std::string, std::string>> layers;  // by name and setting

  template <class V>
  void fields(V& v) {
    file_fields(v);
    v("layers", layers,
      "other settings of its layers, e.g. {dense: {units: 64, activation: relu}}; weights that then have another shape "
      "are drawn anew (docs/guide/training.md)");
  }
  void check(const Job& job, const std::string& where) const;
};

struct TorchScriptSettings : ModelFile {
  static constexpr const char* kKind = "torchscript";

  template <class V>
  void fields(V& v) {
    file_fields(v);
  }
  void check(const Job& job, const std::string& where) const;
};

struct CustomSettings : ModelFile {
  static constexpr const char* kKind = "custom";
  std::map<std::string, std::string> options;

  template <class V>
  void fields(V& v) {
    file_fields(v);
    v("options", options, "what its class asks for, e.g. {width: 64}");
  }
  void check(const Job& job, const std::string& where) const;
};

}  // namespace linac::job
