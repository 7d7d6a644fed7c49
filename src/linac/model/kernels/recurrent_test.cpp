#include "linac/model/kernels/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "linac/base/base/rng.h"
#include "linac/base/base/thread_pool.h"
#include "linac/model/kernels/fingerprint.h"
#include "linac/model/kernels/recurrent_kernels.h"
#include "linac/model/kernels/recurrent_reference.h"

namespace linac::kernels {
namespace {

using Floats = std::vector<float>;

enum class Masks { kNone, kLengths, kHoles };

struct Case {
  RecurrentShape shape;
  int64_t events;
  Masks masks;
};

constexpr auto kAfter = RecurrentCell::kGruResetAfter, kBefore = RecurrentCell::kGruResetBefore,
               kLstm = RecurrentCell::kLstm;

// Steps, features, units, bias, backwards, sequences: of every tile and beyond.
const std::vector<Case> kCases = {
    {{kAfter, 1, 1, 1, true, false, false}, 1, Masks::kNone},
    {{kAfter, 5, 3, 7, true, false, false}, 15, Masks::kLengths},
    {{kAfter, 40, 19, 50, true, false, false}, 33, Masks::kLengths},
    {{kAfter, 40, 19, 16, false, true, false}, 17, Masks::kHoles},
    {{kAfter, 5, 3, 50, true, false, true}, 16, Masks::kHoles},
    {{kAfter, 40, 3, 7, true, true, true}, 33, Masks::kHoles},
    {{kAfter, 7, 17, 33, false, false, false}, 150, Masks::kLengths},
    {{kBefore, 1, 19, 7, true, false, false}, 17, Masks::kNone},
    {{kBefore, 40, 19, 50, true, false, false}, 33, Masks::kLengths},
    {{kBefore, 5, 1, 16, false, true, false}, 15, Masks::kHoles},
    {{kBefore, 40, 3, 1, true, true, true}, 16, Masks::kHoles},
    {{kLstm, 1, 3, 1, false, false, false}, 33, Masks::kNone},
    {{kLstm, 40, 19, 50, true, false, false}, 33, Masks::kLengths},
    {{kLstm, 5, 1, 7, false, true, false}, 16, Masks::kHoles},
    {{kLstm, 40, 3, 16, true, false, true}, 17, Masks::kHoles},
    {{kLstm, 5, 19, 50, true, true, true}, 1, Masks::kNone},
};

using enum RecurrentActivation;

// Other activations, and dropout.
const std::vector<Case> kOtherCases = {
    {{kAfter, 9, 19, 33, true, false, false, {kRelu, kSigmoid}}, 17, Masks::kLengths},
    {{kAfter, 5, 3, 7, false, true, true, {kLinear, kHardSigmoid}}, 17, Masks::kHoles},
    {{kAfter, 9, 3, 7, true, false, true, {}, true}, 33, Masks::kHoles},
    {{kAfter, 5, 19, 33, true, true, false, {kSigmoid, kSteepHardSigmoid}, true}, 40, Masks::kLengths},
    {{kBefore, 9, 19, 16, true, false, false, {kRelu, kHardSigmoid}}, 16, Masks::kNone},
    {{kBefore, 9, 19, 33, true, false, false, {}, true}, 17, Masks::kLengths},
    {{kBefore, 5, 33, 7, false, true, true, {kTanh, kSteepHardSigmoid}, true}, 17, Masks::kHoles},
    {{kLstm, 5, 3, 16, true, false, true, {kRelu, kHardSigmoid}}, 33, Masks::kHoles},
    {{kLstm, 5, 1, 1, true, true, false, {kSigmoid, kTanh}}, 1, Masks::kNone},
    {{kLstm, 9, 19, 33, true, false, false, {}, true}, 17, Masks::kLengths},
    {{kLstm, 9, 33, 7, false, true, true, {}, true}, 16, Masks::kHoles},
    {{kLstm, 3, 3, 16, true, false, false, {kLinear, kSigmoid}, true}, 33, Masks::kNone},
};

std::vector<Case> all_cases() {
  std::vector<Case> cases = kCases;
  cases.insert(cases.end(), kOtherCases.begin(), kOtherCases.end());
  return cases;
}

// Where float and double are rounded to different sides, a row differs by 1 part in 256.
constexpr double kRoundedTolerance = 4e-4;

Floats random_floats(int64_t count, uint32_t stream, float scale) {
  Floats values(static_cast<size_t>(count));
  RngKey key;
  key.lane = stream;
  fill_uniform(key, values);
  for (float& value : values) value = scale * (value * 2 - 1);
  return values;
}

/// Some events are empty, some full.
std::vector<uint8_t> make_mask(const Case& c) {
  if (c.masks == Masks::kNone) return {};
  std::vector<uint8_t> mask;
  const Floats numbers = random_floats(c.events * (c.shape.steps + 1), 7, 1.0F);
  size_t at = 0;
  for (int64_t event = 0; event < c.events; ++event) {
    const double length = (1.3 * numbers[at++] + 0.5) * static_cast<double>(c.shape.steps);
    for (int64_t step = 0; step < c.shape.steps; ++step, ++at)
      mask.push_back(static_cast<double>(step) < length && (c.masks == Masks::kLengths || numbers[at] > -0.3F) ? 1 : 0);
  }
  return mask;
}

RecurrentProblem make_problem(const Case& c) {
  const RecurrentShape& s = c.shape;
  const float scale = 2.0F / std::sqrt(static_cast<float>(s.units));
  RecurrentProblem problem{c.events,
                           random_floats(c.events * s.steps * s.features, 1, 1.0F),
                           random_floats(s.kernel_floats(), 2, scale),
                           random_floats(s.recurrent_floats(), 3, scale),
                           random_floats(s.has_bias ? s.bias_floats() : 0, 4, 1.0F),
                           random_floats(c.events * s.out_floats(), 5, 1.0F),
                           make_mask(c),
                           {},
                           {}};
  if (!s.drops) return problem;
  const auto kept = [&](int64_t cells, uint32_t stream) {
    Floats values = random_floats(c.events * s.gates() * cells, stream, 1.0F);
    for (float& value : values) value = value < -0.2F ? 0.0F : 2.0F;  // of powers of two, products keep their bits
    return values;
  };
  if (s.features > 1) problem.x_kept = kept(s.features, 8);
  problem.state_kept = kept(s.units, 9);
  return problem;
}

struct Result {
  Floats out, kernel, recurrent, bias, x;
  bool operator==(const Result&) const = default;
};

float* or_null(Floats& values) {
  return values.empty() ? nullptr : values.data();
}

RecurrentMultipliers multipliers_of(const RecurrentProblem& problem) {
  const auto pointer = [](const Floats& values) { return values.empty() ? nullptr : values.data(); };
  return {pointer(problem.x_kept), pointer(problem.state_kept)};
}

struct Way {
  Isa isa;
  Storage kept;
};

Result compute(const Case& c, RecurrentProblem problem, const Way& way, RecurrentWorkspace& workspace,
               const Parallel& parallel = serially) {
  const RecurrentShape& s = c.shape;
  const auto floats = [](size_t count) { return Floats(count, std::nanf("")); };
  Result result{floats(problem.out_gradient.size()), floats(problem.kernel.size()), floats(problem.recurrent.size()),
                floats(problem.bias.size()), floats(problem.x.size())};
  // Masked steps are not read.
  for (size_t i = 0; i < problem.x.size(); ++i)
    if (!problem.valid(static_cast<int64_t>(i) / s.features)) problem.x[i] = std::nanf("");
  const Recurrent layer(s, way.isa, way.kept);
  const RecurrentWeights weights{problem.kernel.data(), problem.recurrent.data(), or_null(problem.bias)};
  const uint8_t* const mask = problem.mask.empty() ? nullptr : problem.mask.data();
  const RecurrentMultipliers multipliers = multipliers_of(problem);
  layer.forward(c.events, problem.x.data(), mask, weights, result.out.data(), Keep::kForBackward, workspace, parallel,
                multipliers);
  layer.backward(c.events, weights, problem.out_gradient.data(),
                 {result.kernel.data(), result.recurrent.data(), or_null(result.bias), result.x.data()}, workspace,
                 parallel, multipliers);
  return result;
}

Result compute(const Case& c, const RecurrentProblem& problem, const Way& way, const Parallel& parallel = serially) {
  RecurrentWorkspace workspace;
  return compute(c, problem, way, workspace, parallel);
}

void expect_near(const Floats& values, const Doubles& truth, const char* what, double tolerance) {
  ASSERT_EQ(values.size(), truth.size());
  double square = 0, largest = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    square += truth[i] * truth[i];
    largest = std::max(largest, std::abs(values[i] - truth[i]));
    ASSERT_FALSE(std::isnan(values[i])) << what << " not written at " << i;
  }
  EXPECT_LE(largest, tolerance * (1 + std::sqrt(square / static_cast<double>(truth.size() + 1)))) << what;
}

class RecurrentOn : public testing::TestWithParam<std::tuple<Isa, Storage>> {
 protected:
  void SetUp() override {
    if (!has_isa(isa())) GTEST_SKIP() << "this processor lacks it";
  }
  static Isa isa() { return std::get<0>(GetParam()); }
  static Storage kept() { return std::get<1>(GetParam()); }
  static Way way() { return {isa(), kept()}; }
};

TEST_P(RecurrentOn, EqualsTheDefinition) {
  RecurrentWorkspace workspace;  // one for all: nothing of a case may reach the next
  const double tolerance = kept() == Storage::kFloat ? 1e-5 : kRoundedTolerance;
  const std::vector<Case> cases = all_cases();
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "case " << i);
    const RecurrentProblem problem = make_problem(cases[i]);
    const Result result = compute(cases[i], problem, way(), workspace);
    const RecurrentTruth truth = recurrent_truth(cases[i].shape, problem, kept());
    expect_near(result.out, truth.out, "out", 1e-5);
    expect_near(result.kernel, truth.kernel, "kernel", tolerance);
    expect_near(result.recurrent, truth.recurrent, "recurrent", tolerance);
    expect_near(result.bias, truth.bias, "bias", tolerance);
    expect_near(result.x, truth.x, "x", tolerance);
  }
}

TEST_P(RecurrentOn, NothingIsKeptWhereNothingIsWanted) {
  for (const Case& c : all_cases()) {
    const RecurrentProblem problem = make_problem(c);
    const Result whole = compute(c, problem, way());
    Result lean = whole;
    const Recurrent layer(c.shape, isa(), kept());
    const RecurrentWeights weights{problem.kernel.data(), problem.recurrent.data(),
                                   problem.bias.empty() ? nullptr : problem.bias.data()};
    const uint8_t* const mask = problem.mask.empty() ? nullptr : problem.mask.data();
    const RecurrentMultipliers multipliers = multipliers_of(problem);
    RecurrentWorkspace workspace;
    layer.forward(c.events, problem.x.data(), mask, weights, lean.out.data(), Keep::kForBackward, workspace, serially,
                  multipliers);
    layer.backward(c.events, weights, problem.out_gradient.data(),
                   {lean.kernel.data(), lean.recurrent.data(), or_null(lean.bias), nullptr}, workspace, serially,
                   multipliers);
    EXPECT_EQ(lean, whole);
    layer.forward(c.events, problem.x.data(), mask, weights, lean.out.data(), Keep::kNothing, workspace, serially,
                  multipliers);
    EXPECT_EQ(lean.out, whole.out);
  }
}

TEST_P(RecurrentOn, AnEventDoesNotSeeItsNeighbours) {
  for (const size_t i : {size_t{2}, size_t{3}, size_t{8}, size_t{14}, size_t{18}, size_t{22}, size_t{26}}) {
    const Case c = all_cases()[i];
    const RecurrentProblem problem = make_problem(c);
    const Result all = compute(c, problem, way());
    const auto part = [](const auto& values, int64_t event, int64_t events) {
      const auto size = static_cast<int64_t>(values.size()) / events;
      return std::decay_t<decltype(values)>(values.begin() + event * size, values.begin() + (event + 1) * size);
    };
    for (int64_t event = 0; event < c.events; ++event) {
      RecurrentProblem single = problem;
      single.events = 1;
      single.x = part(problem.x, event, c.events);
      single.out_gradient = part(problem.out_gradient, event, c.events);
      single.mask = part(problem.mask, event, c.events);
      single.x_kept = part(problem.x_kept, event, c.events);
      single.state_kept = part(problem.state_kept, event, c.events);
      const Result alone = compute({c.shape, 1, c.masks}, single, way());
      EXPECT_EQ(alone.out, part(all.out, event, c.events)) << "case " << i << ", event " << event;
      EXPECT_EQ(alone.x, part(all.x, event, c.events)) << "case " << i << ", event " << event;
    }
  }
}

TEST_P(RecurrentOn, ThreadsDoNotChangeTheResult) {
  ThreadPool pool(3);
  const Parallel spread = [&](int64_t count, const std::function<void(int64_t)>& task) {
    pool.run(static_cast<int>(count), [&](int i) { task(i); });
  };
  for (const Case& c : all_cases()) {
    const RecurrentProblem problem = make_problem(c);
    EXPECT_EQ(compute(c, problem, way(), spread), compute(c, problem, way()));
  }
}

TEST_P(RecurrentOn, ActivationsAreAccurate) {
  Floats x;
  for (int i = -160000; i < 160000; ++i) x.push_back(static_cast<float>(i) * 1e-4F);
  for (const float far : {20.0F, 40.0F, 88.0F, 1e4F, std::numeric_limits<float>::infinity()}) {
    for (int i = 0; i < 8; ++i) x.insert(x.end(), {far, -far});
  }
  Floats y(x.size());
  const RecurrentKernels& kernels = recurrent_kernels(isa());
  double sigmoid_error = 0, tanh_error = 0;
  kernels.sigmoid(x.data(), static_cast<int64_t>(x.size()), y.data());
  for (size_t i = 0; i < x.size(); ++i)
    sigmoid_error = std::max(sigmoid_error, std::abs(y[i] - 1 / (1 + std::exp(-double{x[i]}))));
  kernels.tanh(x.data(), static_cast<int64_t>(x.size()), y.data());
  for (size_t i = 0; i < x.size(); ++i) tanh_error = std::max(tanh_error, std::abs(y[i] - std::tanh(double{x[i]})));
  EXPECT_LT(sigmoid_error, 1e-7);
  EXPECT_LT(tanh_error, 2e-7);
  RecordProperty("sigmoid_error", std::to_string(sigmoid_error * 1e9));
  RecordProperty("tanh_error", std::to_string(tanh_error * 1e9));
  x.assign(16, 0.0F);
  kernels.tanh(x.data(), 16, y.data());
  EXPECT_EQ(y[0], 0.0F);
  x.assign(16, std::nanf(""));
  kernels.tanh(x.data(), 16, y.data());
  EXPECT_TRUE(std::isnan(y[0]));
}

TEST_P(RecurrentOn, NothingValidGivesZeros) {
  for (const bool sequences : {false, true}) {
    const Case c{{kAfter, 5, 3, 7, true, false, sequences}, 3, Masks::kNone};
    RecurrentProblem problem = make_problem(c);
    problem.mask.assign(static_cast<size_t>(c.events * c.shape.steps), 0);
    const Result result = compute(c, problem, way());
    for (const Floats* values : {&result.out, &result.kernel, &result.recurrent, &result.bias, &result.x})
      EXPECT_EQ(*values, Floats(values->size()));
  }
}

/// Columns [first, first + count) of [events][columns].
template <class T>
std::vector<T> columns_of(const std::vector<T>& all, int64_t columns, int64_t first, int64_t count) {
  std::vector<T> part;
  for (size_t row = 0; row < all.size(); row += static_cast<size_t>(columns)) {
    const auto begin = all.begin() + static_cast<int64_t>(row) + first;
    part.insert(part.end(), begin, begin + count);
  }
  return part;
}

/// Steps [first, first + steps) of a problem whose layer returns all of them.
std::pair<Case, RecurrentProblem> steps_of(const Case& c, const RecurrentProblem& whole, int64_t first, int64_t steps) {
  const RecurrentShape& s = c.shape;
  Case part = c;
  part.shape.steps = steps;
  RecurrentProblem problem = whole;
  problem.x = columns_of(whole.x, s.steps * s.features, first * s.features, steps * s.features);
  problem.mask = columns_of(whole.mask, s.steps, first, steps);
  problem.out_gradient = columns_of(whole.out_gradient, s.steps * s.units, first * s.units, steps * s.units);
  return {part, problem};
}

// The states that the first part ends with are those that the second begins with, and the gradient comes back.
TEST_P(RecurrentOn, ASequenceCanBeCut) {
  for (const auto& [cell, drops] :
       {std::pair{kAfter, false}, {kBefore, false}, {kLstm, false}, {kAfter, true}, {kLstm, true}}) {
    Case c{{cell, 12, 5, 7, true, false, true}, 21, Masks::kHoles};
    c.shape.drops = drops;
    const RecurrentShape& s = c.shape;
    const RecurrentProblem whole = make_problem(c);
    const Result truth = compute(c, whole, way());
    const auto [first, first_problem] = steps_of(c, whole, 0, 4);
    const auto [second, second_problem] = steps_of(c, whole, 4, 8);
    const Recurrent first_layer(first.shape, way().isa, way().kept), second_layer(second.shape, way().isa, way().kept);
    const RecurrentWeights weights{whole.kernel.data(), whole.recurrent.data(), whole.bias.data()};
    const RecurrentMultipliers multipliers = multipliers_of(whole);
    const size_t states = static_cast<size_t>(c.events * s.state_floats());
    Floats between(states), end(states), between_gradient(states), begin_gradient(states), zeros(states);
    const auto outputs = [](const RecurrentProblem& problem) { return Floats(problem.out_gradient.size()); };
    Floats first_out = outputs(first_problem), second_out = outputs(second_problem);
    RecurrentWorkspace first_workspace, second_workspace;
    first_layer.forward(c.events, first_problem.x.data(), first_problem.mask.data(), weights, first_out.data(),
                        Keep::kForBackward, first_workspace, serially, multipliers, {zeros.data(), between.data()});
    second_layer.forward(c.events, second_problem.x.data(), second_problem.mask.data(), weights, second_out.data(),
                         Keep::kForBackward, second_workspace, serially, multipliers, {between.data(), end.data()});
    EXPECT_EQ(first_out, columns_of(truth.out, s.steps * s.units, 0, 4 * s.units));
    for (int64_t event = 0; event < c.events; ++event) {
      bool begun = false;  // before that a part gives zeros, not the state before it
      for (int64_t step = 4; step < s.steps; ++step) {
        begun = begun || whole.valid(event * s.steps + step);
        for (int64_t unit = 0; unit < s.units; ++unit) {
          const float found = second_out[static_cast<size_t>((event * 8 + step - 4) * s.units + unit)];
          const float wanted = truth.out[static_cast<size_t>((event * s.steps + step) * s.units + unit)];
          ASSERT_EQ(found, begun ? wanted : 0) << event << " " << step;
        }
      }
    }
    // Only where a part's output is that of the whole can their gradients be compared.
    RecurrentProblem shown = whole;
    for (int64_t event = 0; event < c.events; ++event) {
      for (int64_t step = 4; step < s.steps && !whole.valid(event * s.steps + step); ++step)
        std::fill_n(shown.out_gradient.begin() + (event * s.steps + step) * s.units, s.units, 0.0F);
    }
    const Result wanted = compute(c, shown, way());
    const auto gradients_of = [](const RecurrentProblem& problem) {
      return Result{{},
                    Floats(problem.kernel.size()),
                    Floats(problem.recurrent.size()),
                    Floats(problem.bias.size()),
                    Floats(problem.x.size())};
    };
    Result first_gradients = gradients_of(first_problem), second_gradients = gradients_of(second_problem);
    const auto pointers = [](Result& r) {
      return RecurrentGradients{r.kernel.data(), r.recurrent.data(), r.bias.data(), r.x.data()};
    };
    second_layer.backward(c.events, weights, steps_of(c, shown, 4, 8).second.out_gradient.data(),
                          pointers(second_gradients), second_workspace, serially, multipliers,
                          {nullptr, between_gradient.data()});
    first_layer.backward(c.events, weights, steps_of(c, shown, 0, 4).second.out_gradient.data(),
                         pointers(first_gradients), first_workspace, serially, multipliers,
                         {between_gradient.data(), begin_gradient.data()});
    EXPECT_EQ(first_gradients.x, columns_of(wanted.x, s.steps * s.features, 0, 4 * s.features));
    EXPECT_EQ(second_gradients.x, columns_of(wanted.x, s.steps * s.features, 4 * s.features, 8 * s.features));
    for (size_t i = 0; i < wanted.recurrent.size(); ++i)
      EXPECT_NEAR(first_gradients.recurrent[i] + second_gradients.recurrent[i], wanted.recurrent[i],
                  1e-5 * (1 + std::abs(wanted.recurrent[i])));
    EXPECT_NE(begin_gradient, zeros);
  }
}

INSTANTIATE_TEST_SUITE_P(AllIsas, RecurrentOn,
                         testing::Combine(testing::ValuesIn(kIsas),
                                          testing::Values(Storage::kFloat, Storage::kBfloat16)),
                         [](const auto& info) {
                           return std::string(to_string(std::get<0>(info.param))) +
                                  (std::get<1>(info.param) == Storage::kFloat ? "_fp32" : "_bf16");
                         });

// The forward pass sees nothing of it, and the gradients are other ones.
TEST(RecurrentKept, RoundingIsForTheBackwardPassAlone) {
  for (const Case& c : kCases) {
    const RecurrentProblem problem = make_problem(c);
    RecurrentWorkspace floats, halves;
    const Result exact = compute(c, problem, {best_isa(), Storage::kFloat}, floats);
    const Result rounded = compute(c, problem, {best_isa(), Storage::kBfloat16}, halves);
    EXPECT_EQ(rounded.out, exact.out);
    EXPECT_NE(rounded.kernel, exact.kernel);
    EXPECT_TRUE(floats.kept.empty());
    if (c.shape.steps < 40) continue;
    EXPECT_LT(halves.kept.size() + halves.slots.size(), 0.6 * static_cast<double>(floats.slots.size()));
  }
}

// See Conv3dIsas.
TEST(RecurrentIsas, AllThatFuseGiveTheSameBitsOnEveryProcessor) {
  for (const Isa isa : kIsas) {
    if (!has_isa(isa) || isa == Isa::kGeneric) continue;
    const auto fingerprint = [&](const std::vector<Case>& cases) {
      Fingerprint fingerprint;
      for (const Case& c : cases) {
        const RecurrentProblem problem = make_problem(c);
        for (const Storage kept : {Storage::kFloat, Storage::kBfloat16}) {
          const Result result = compute(c, problem, {isa, kept});
          for (const Floats* values : {&result.out, &result.kernel, &result.recurrent, &result.bias, &result.x})
            fingerprint.add(*values);
        }
      }
      return fingerprint.value();
    };
    EXPECT_EQ(fingerprint(kCases), 11165427207892884266U) << to_string(isa);
    EXPECT_EQ(fingerprint(kOtherCases), 1985517023510867985U) << to_string(isa);
  }
}

}  // namespace
}  // namespace linac::kernels
