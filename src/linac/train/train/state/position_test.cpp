#include "linac/train/train/state/position.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "linac/base/base/error.h"
#include "linac/base/weights/tensor_file.h"

namespace linac::train {
namespace {

using nlohmann::json;

TrainState state_behind_an_epoch() {
  TrainState state;
  state.epoch = 1;
  state.global_step = 9;
  state.history.push_back({0, {{"loss", 0.5}, {"g/total", 2}}, {{"loss", 0.25}}, {{"mean/e", 1.5}}});
  state.best_epoch = 0;
  state.input = InputPlace{7, 1, {2, 40}, {}};
  return state;
}

std::string file_with(const json& meta) {
  return weights::encode_tensors({}, meta, weights::Digest::kLast);
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kData);
    return error.what();
  }
  return "";
}

// A measure of no event; and the best epoch's, where a resume names a measure that its record does not have.
TEST(Position, NumbersThatAreNoneComeBack) {
  TrainState state = state_behind_an_epoch();
  state.best_value = state.history[0].test["auc"] = std::numeric_limits<double>::quiet_NaN();
  const std::string bytes = encode(state, json::object());
  TrainState again;
  decode(bytes, "a", again);
  EXPECT_TRUE(std::isnan(again.best_value));
  EXPECT_TRUE(std::isnan(again.history[0].test["auc"]));
  EXPECT_EQ(encode(again, json::object()), bytes);
  EXPECT_TRUE(same_epoch(again.history[0], state.history[0]));
}

TEST(Position, WhatNoTrainingHasIsRefusedWithTheFileAndTheName) {
  const std::pair<const char*, json> wrong[] = {{"/epoch", -1},
                                                {"/epoch", 1e300},
                                                {"/step", "3"},
                                                {"/global_step", -9},
                                                {"/rollbacks", 1e10},
                                                {"/updates", json::object()},
                                                {"/history", 7},
                                                {"/history/0/epoch", -1},
                                                {"/best/epoch", -2},
                                                {"/best", json::array()},
                                                {"/input/first", -1},
                                                {"/input/window", 0.5},
                                                {"/id", 5},
                                                {"/epoch_sums", {{"a/b", 1}}},
                                                {"/history/0/test", {1, 2}}};
  for (const auto& [where, value] : wrong) {
    json meta = position_json(state_behind_an_epoch());
    meta[json::json_pointer(where)] = value;
    TrainState state;
    const std::string said = refusal([&] { decode(file_with(meta), "some.safetensors", state); });
    const std::string name = std::string(where).substr(std::string(where).rfind('/') + 1);
    EXPECT_NE(said.find("some.safetensors"), std::string::npos) << where;
    EXPECT_TRUE(said.find(name) != std::string::npos || said.find("in place of an object") != std::string::npos ||
                said.find("a/b") != std::string::npos)
        << where << ": " << said;
  }
  EXPECT_NE(refusal([&] {
              TrainState state;
              decode(file_with(json::array()), "some.safetensors", state);
            }),
            "");
}

TEST(Position, NotesOfAnotherKindAreRefused) {
  EXPECT_EQ(notes_of(file_with(json::object()), "a"), json::object()) << "an old checkpoint has none";
  const json good{{"job", "name: a"}, {"data", nullptr}};
  EXPECT_EQ(notes_of(file_with({{"run", good}}), "a"), good);
  for (const json& bad : {json("text"), json{{"job", 3}}, json{{"classes", 3}}, json{{"data", "x"}}})
    EXPECT_NE(refusal([&] { notes_of(file_with({{"run", bad}}), "a"); }), "") << bad;
}

}  // namespace
}  // namespace linac::train
