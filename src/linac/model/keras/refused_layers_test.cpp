#include "linac/model/keras/refused_layers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "linac/model/keras/layers.h"

namespace linac::keras {
namespace {

constexpr std::string_view kNearest = "the nearest there is: ";

// "" if the advice names none.
std::string nearest_in(const std::string& advice) {
  const size_t start = advice.find(kNearest);
  if (start == std::string::npos) return "";
  return advice.substr(start + kNearest.size(), advice.find(';') - start - kNearest.size());
}

TEST(RefusedLayers, AreAnsweredByAClassThatIsThereAndByWhatToDo) {
  const std::vector<std::string> there = keras_class_names();
  for (const char* refused :
       {"CategoryEncoding", "IntegerLookup", "StringLookup", "Discretization", "RandomCrop", "Attention",
        "AdaptiveMaxPooling2D", "ConvLSTM2D", "CuDNNGRU", "LSTMCell", "RNN", "ReversibleEmbedding", "Conv4D"}) {
    const std::string found = nearest_in(advice_on_layer(refused));
    EXPECT_NE(std::find(there.begin(), there.end(), found), there.end()) << refused << ": '" << found << "'";
    EXPECT_EQ(std::find(there.begin(), there.end(), refused), there.end()) << refused << " is there";
  }
  for (const char* own : {"Lambda", "MyFancyPhysicsBlock"})
    EXPECT_NE(advice_on_layer(own).find("linac.keras.save"), std::string::npos);
  EXPECT_NE(advice_on_layer("RandomShear").find("save the model without it"), std::string::npos);
  const std::string own = advice_on_layer("MyFancyPhysicsBlock");
  EXPECT_NE(own.find("does not hold its code"), std::string::npos);
  EXPECT_NE(own.find("torchscript"), std::string::npos);
}

TEST(RefusedLayers, AreNotAnsweredByAList) {
  EXPECT_LT(advice_on_layer("MyFancyPhysicsBlock").size(), 250U);
}

}  // namespace
}  // namespace linac::keras
