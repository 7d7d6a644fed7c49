#include "linac/model/keras/refused_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "linac/base/base/nearest.h"
#include "linac/model/keras/layers.h"

namespace linac::keras {
namespace {

struct Advice {
  std::string_view name;     // of the class; "Random*": of all whose names begin so
  std::string_view instead;  // the class to use; empty: none
  std::string_view what;
};

constexpr std::string_view kPrepare =
    "it prepares data: do that where the files of events are written, and save the model from the next layer on";
constexpr std::string_view kVary =
    "it varies images in training (RandomFlip, RandomTranslation, RandomRotation, RandomZoom, RandomContrast and "
    "RandomBrightness are there): do that where the files of events are written, and save the model without it";
constexpr std::string_view kTwoSizes =
    "Keras cuts in training only, so that the layers behind see another size in prediction; to move images, "
    "RandomTranslation";
constexpr std::string_view kOtherCode =
    "it is the code of another program: build it from Keras's layers, or train it as TorchScript (model.kind = "
    "torchscript)";
constexpr std::string_view kQuantized =
    "of quantized layers QDense, QConv1D, QConv2D, QConv3D, QDepthwiseConv2D and QActivation are read as the float "
    "layers "
    "that they round; a quantized model predicts in the program that trained it";
constexpr std::string_view kOneCell = "of recurrent layers those of one cell are there";

// Keras's own classes.
constexpr Advice kAdvice[] = {
    {"Lambda", "",
     "it is Python code: write the function with keras.ops and save the model in Python by linac.keras.save(model, "
     "'model.keras') (docs/reference/keras.md)"},
    {"CategoryEncoding", "Embedding", kPrepare},
    {"IntegerLookup", "Embedding", kPrepare},
    {"StringLookup", "Embedding", kPrepare},
    {"TextVectorization", "Embedding", kPrepare},
    {"Hashing", "Embedding", kPrepare},
    {"HashedCrossing", "Embedding", kPrepare},
    {"Discretization", "Normalization", kPrepare},
    {"MelSpectrogram", "", kPrepare},
    {"STFTSpectrogram", "", kPrepare},
    {"Pipeline", "", kPrepare},
    {"RandomCrop", "CenterCrop", kTwoSizes},
    {"Random*", "", kVary},
    {"RandAugment", "", kVary},
    {"AugMix", "", kVary},
    {"CutMix", "", kVary},
    {"MixUp", "", kVary},
    {"AutoContrast", "", kVary},
    {"Equalization", "", kVary},
    {"Solarization", "", kVary},
    {"AdaptiveAveragePooling1D", "AveragePooling1D", "give the size of the window"},
    {"AdaptiveAveragePooling2D", "AveragePooling2D", "give the size of the window"},
    {"AdaptiveAveragePooling3D", "AveragePooling3D", "give the size of the window"},
    {"AdaptiveMaxPooling1D", "MaxPooling1D", "give the size of the window"},
    {"AdaptiveMaxPooling2D", "MaxPooling2D", "give the size of the window"},
    {"AdaptiveMaxPooling3D", "MaxPooling3D", "give the size of the window"},
    {"Attention", "MultiHeadAttention", "one head of it is scaled attention with learned projections"},
    {"AdditiveAttention", "MultiHeadAttention", "its scores are products"},
    {"GroupQueryAttention", "MultiHeadAttention", "each of its heads has keys and values of its own"},
    {"ConvLSTM*", "LSTM", "put it behind TimeDistributed convolutions"},
    {"CuDNNGRU", "GRU", "build the model with it in Keras 2, load the weights and save again"},
    {"CuDNNLSTM", "LSTM", "build the model with it in Keras 2, load the weights and save again"},
    {"GRUCell", "GRU", kOneCell},
    {"LSTMCell", "LSTM", kOneCell},
    {"SimpleRNNCell", "SimpleRNN", kOneCell},
    {"StackedRNNCells", "LSTM", "put one recurrent layer behind the other, with return_sequences = true"},
    {"RNN", "LSTM", kOneCell},
    {"Identity", "", "it does nothing: leave it out"},
    {"ReversibleEmbedding", "Embedding", "the way back is a Dense layer"},
    {"SpectralNormalization", "", "save the model with the layer that it wraps"},
    {"QBatchNormalization", "BatchNormalization", kQuantized},
    {"QAdd", "Add", kQuantized},
    {"QLSTM", "LSTM", kQuantized},
    {"QGRU", "GRU", kQuantized},
    {"QSimpleRNN", "SimpleRNN", kQuantized},
    {"QBatchNormDense", "Dense", kQuantized},
    {"QEinsumDense*", "EinsumDense", kQuantized},
    {"TFSMLayer", "", kOtherCode},
    {"JaxLayer", "", kOtherCode},
    {"FlaxLayer", "", kOtherCode},
    {"TorchModuleWrapper", "", kOtherCode},
};

bool is_meant(std::string_view name, std::string_view class_name) {
  return name.ends_with('*') ? class_name.starts_with(name.substr(0, name.size() - 1)) : class_name == name;
}

}  // namespace

std::string advice_on_layer(const std::string& class_name) {
  for (const Advice& advice : kAdvice) {
    if (!is_meant(advice.name, class_name)) continue;
    return advice.instead.empty() ? std::string(advice.what)
                                  : fmt::format("the nearest there is: {}; {}", advice.instead, advice.what);
  }
  const auto near = nearest(class_name, keras_class_names());
  return fmt::format(
      "{}save the model in Python by linac.keras.save(model, 'model.keras') (docs/reference/keras.md), or train it as "
      "TorchScript "
      "(model.kind = torchscript) or from a plug-in (model.kind = custom)",
      near ? fmt::format("the nearest there is: {}; ", *near) : "the file does not hold its code; ");
}

}  // namespace linac::keras
