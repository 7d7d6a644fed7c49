#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/bfloat16.h"
#include "linac/model/kernels/recurrent_reference.h"

namespace linac::kernels {
namespace {

double activated(RecurrentActivation function, double x) {
  switch (function) {
    case RecurrentActivation::kTanh:
      return std::tanh(x);
    case RecurrentActivation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case RecurrentActivation::kLinear:
      return x;
    case RecurrentActivation::kRelu:
      return std::max(0.0, x);
    case RecurrentActivation::kHardSigmoid:
      return std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case RecurrentActivation::kSteepHardSigmoid:
      break;
  }
  return std::clamp(0.2 * x + 0.5, 0.0, 1.0);
}

/// Where the value is a.
double slope(RecurrentActivation function, double a) {
  switch (function) {
    case RecurrentActivation::kTanh:
      return 1 - a * a;
    case RecurrentActivation::kSigmoid:
      return a * (1 - a);
    case RecurrentActivation::kLinear:
      return 1;
    case RecurrentActivation::kRelu:
      return a > 0 ? 1 : 0;
    case RecurrentActivation::kHardSigmoid:
      return a > 0 && a < 1 ? 1.0 / 6 : 0;
    case RecurrentActivation::kSteepHardSigmoid:
      break;
  }
  return a > 0 && a < 1 ? 0.2 : 0;
}

/// One event: what each step saw and made, and its gradients.
class EventReference {
 public:
  EventReference(const RecurrentShape& shape, const RecurrentProblem& problem, Storage kept, int64_t event,
                 RecurrentTruth& truth)
      : s_(shape), p_(problem), kept_(kept), event_(event), truth_(truth) {}

  void run() {
    const int64_t units = s_.units;
    Doubles state(n(units)), c(n(units));
    for (int64_t place = 0; place < s_.steps; ++place) {
      const int64_t time = s_.go_backwards ? s_.steps - 1 - place : place;
      if (p_.valid(event_ * s_.steps + time)) {
        Step step{time, {}, state, c, {}, {}, {}, {}};
        for (int64_t f = 0; f < s_.features; ++f) step.x.push_back(x(time, f));
        compute(step, state, c);
        if (kept_ == Storage::kBfloat16) round(step);
        steps_.push_back(step);
      }
      owner_.push_back(static_cast<int64_t>(steps_.size()) - 1);
      for (int64_t u = 0; s_.return_sequences && u < units; ++u) truth_.out[out(place, u)] = state[n(u)];
    }
    for (int64_t u = 0; !s_.return_sequences && u < units; ++u) truth_.out[out(0, u)] = state[n(u)];
    back();
  }

 private:
  struct Step {
    int64_t time;
    Doubles x;
    Doubles state, c;            // before
    Doubles from_x, from_state;  // sums into the gates, of x with its bias, of the state with its own
    Doubles gates;               // after the activations
    Doubles product;             // r * state before, tanh(c) after
  };

  static void round(Step& step) {
    for (Doubles* values : {&step.x, &step.state, &step.c, &step.from_state, &step.gates, &step.product}) {
      for (double& value : *values) value = double{from_bfloat16(to_bfloat16(static_cast<float>(value)))};
    }
  }

  static size_t n(int64_t i) { return static_cast<size_t>(i); }
  size_t out(int64_t place, int64_t u) const { return n(event_ * s_.out_floats() + place * s_.units + u); }
  double x(int64_t time, int64_t f) const { return p_.x[n((event_ * s_.steps + time) * s_.features + f)]; }
  size_t k(int64_t row, int64_t gate, int64_t u) const { return n((row * s_.gates() + gate) * s_.units + u); }
  bool lstm() const { return s_.cell == RecurrentCell::kLstm; }
  bool after() const { return s_.cell == RecurrentCell::kGruResetAfter; }

  double x_kept(int64_t gate, int64_t f) const {
    return p_.x_kept.empty() ? 1 : p_.x_kept[n((event_ * s_.gates() + gate) * s_.features + f)];
  }
  double state_kept(int64_t gate, int64_t v) const {
    return p_.state_kept.empty() ? 1 : p_.state_kept[n((event_ * s_.gates() + gate) * s_.units + v)];
  }
  double act(double x) const { return activated(s_.activations.state, x); }
  double act_slope(double a) const { return slope(s_.activations.state, a); }
  double gate_slope(double a) const { return slope(s_.activations.gates, a); }

  double recurrent_sum(const Doubles& state, int64_t gate, int64_t u) const {
    double sum = after() && s_.has_bias ? p_.bias[k(1, gate, u)] : 0.0;
    for (int64_t v = 0; v < s_.units; ++v) sum += state[n(v)] * state_kept(gate, v) * p_.recurrent[k(v, gate, u)];
    return sum;
  }

  void compute(Step& step, Doubles& state, Doubles& c) {
    const int64_t units = s_.units;
    for (int64_t gate = 0; gate < s_.gates(); ++gate) {
      for (int64_t u = 0; u < units; ++u) {
        double sum = s_.has_bias ? p_.bias[k(0, gate, u)] : 0.0;
        for (int64_t f = 0; f < s_.features; ++f) sum += step.x[n(f)] * x_kept(gate, f) * p_.kernel[k(f, gate, u)];
        step.from_x.push_back(sum);
        step.from_state.push_back(recurrent_sum(state, gate, u));
      }
    }
    step.gates.resize(step.from_x.size());
    const auto activate = [&](int64_t gate, RecurrentActivation function) {
      for (int64_t u = 0; u < units; ++u) {
        const size_t i = n(gate * units + u);
        step.gates[i] = activated(function, step.from_x[i] + step.from_state[i]);
      }
    };
    if (lstm()) {
      for (const int64_t gate : {0, 1, 3}) activate(gate, s_.activations.gates);
      activate(2, s_.activations.state);
      for (int64_t u = 0; u < units; ++u) {
        c[n(u)] = gate(step, 1, u) * c[n(u)] + gate(step, 0, u) * gate(step, 2, u);
        step.product.push_back(act(c[n(u)]));
        state[n(u)] = gate(step, 3, u) * step.product.back();
      }
      return;
    }
    for (const int64_t gate : {0, 1}) activate(gate, s_.activations.gates);
    step.product = state;
    for (int64_t u = 0; u < units; ++u) step.product[n(u)] *= gate(step, 1, u);
    for (int64_t u = 0; u < units; ++u) {
      const size_t h = n(2 * units + u);
      step.gates[h] =
          act(step.from_x[h] + (after() ? gate(step, 1, u) * step.from_state[h] : recurrent_sum(step.product, 2, u)));
    }
    for (int64_t u = 0; u < units; ++u)
      state[n(u)] = gate(step, 0, u) * step.state[n(u)] + (1 - gate(step, 0, u)) * gate(step, 2, u);
  }

  double gate(const Step& step, int64_t gate, int64_t u) const { return step.gates[n(gate * s_.units + u)]; }

  void back() {
    Doubles carry(n(s_.units)), c_carry(n(s_.units));
    for (int64_t i = static_cast<int64_t>(steps_.size()) - 1; i >= 0; --i) {
      for (int64_t place = 0; place < s_.steps; ++place) {
        const bool last = i + 1 == static_cast<int64_t>(steps_.size()) && place + 1 == s_.steps;
        if (s_.return_sequences ? owner_[n(place)] != i : !last) continue;
        for (int64_t u = 0; u < s_.units; ++u) carry[n(u)] += p_.out_gradient[out(s_.return_sequences ? place : 0, u)];
      }
      lstm() ? back_lstm(steps_[n(i)], carry, c_carry) : back_gru(steps_[n(i)], carry);
    }
  }

  /// `d_x` and `d_state` are gradients to the sums; the product with the state may be with another vector, for one
  /// gate.
  void add(const Step& step, int64_t gate, const Doubles& vector, const Doubles& d_x, const Doubles& d_state,
           Doubles& vector_gradient) {
    for (int64_t u = 0; u < s_.units; ++u) {
      if (s_.has_bias) truth_.bias[k(0, gate, u)] += d_x[n(u)];
      if (s_.has_bias && after()) truth_.bias[k(1, gate, u)] += d_state[n(u)];
      for (int64_t f = 0; f < s_.features; ++f) {
        truth_.kernel[k(f, gate, u)] += d_x[n(u)] * step.x[n(f)] * x_kept(gate, f);
        truth_.x[n((event_ * s_.steps + step.time) * s_.features + f)] +=
            d_x[n(u)] * p_.kernel[k(f, gate, u)] * x_kept(gate, f);
      }
      for (int64_t v = 0; v < s_.units; ++v) {
        truth_.recurrent[k(v, gate, u)] += d_state[n(u)] * vector[n(v)] * state_kept(gate, v);
        vector_gradient[n(v)] += d_state[n(u)] * p_.recurrent[k(v, gate, u)] * state_kept(gate, v);
      }
    }
  }

  void back_lstm(const Step& step, Doubles& carry, Doubles& c_carry) {
    Doubles d[4], before(n(s_.units));
    for (int64_t u = 0; u < s_.units; ++u) {
      const double i = gate(step, 0, u), f = gate(step, 1, u), g = gate(step, 2, u), o = gate(step, 3, u);
      const double shown = step.product[n(u)];
      const double dc = c_carry[n(u)] + carry[n(u)] * o * act_slope(shown);
      d[0].push_back(dc * g * gate_slope(i));
      d[1].push_back(dc * step.c[n(u)] * gate_slope(f));
      d[2].push_back(dc * i * act_slope(g));
      d[3].push_back(carry[n(u)] * shown * gate_slope(o));
      c_carry[n(u)] = dc * f;
    }
    for (int64_t gate = 0; gate < 4; ++gate) add(step, gate, step.state, d[gate], d[gate], before);
    carry = before;
  }

  void back_gru(const Step& step, Doubles& carry) {
    const int64_t units = s_.units;
    Doubles dz, dr, dh, dh_state, before(n(units)), d_reset(n(units));
    for (int64_t u = 0; u < units; ++u) {
      const double z = gate(step, 0, u), r = gate(step, 1, u), h = gate(step, 2, u);
      dz.push_back(carry[n(u)] * (step.state[n(u)] - h) * gate_slope(z));
      dh.push_back(carry[n(u)] * (1 - z) * act_slope(h));
      dh_state.push_back(dh.back() * r);
      before[n(u)] = carry[n(u)] * z;
    }
    if (after())
      add(step, 2, step.state, dh, dh_state, before);
    else
      add(step, 2, step.product, dh, dh, d_reset);
    for (int64_t u = 0; u < units; ++u) {
      const double r = gate(step, 1, u);
      const double to_r = after() ? dh[n(u)] * step.from_state[n(2 * units + u)] : d_reset[n(u)] * step.state[n(u)];
      dr.push_back(to_r * gate_slope(r));
      if (!after()) before[n(u)] += d_reset[n(u)] * r;
    }
    add(step, 0, step.state, dz, dz, before);
    add(step, 1, step.state, dr, dr, before);
    carry = before;
  }

  const RecurrentShape& s_;
  const RecurrentProblem& p_;
  const Storage kept_;
  const int64_t event_;
  RecurrentTruth& truth_;
  std::vector<Step> steps_;
  std::vector<int64_t> owner_;  // by place: the step whose state is shown there, -1 before the first
};

}  // namespace

RecurrentTruth recurrent_truth(const RecurrentShape& shape, const RecurrentProblem& problem, Storage kept) {
  const auto doubles = [](int64_t count) { return Doubles(static_cast<size_t>(count)); };
  RecurrentTruth truth{doubles(problem.events * shape.out_floats()), doubles(shape.kernel_floats()),
                       doubles(shape.recurrent_floats()), doubles(shape.has_bias ? shape.bias_floats() : 0),
                       doubles(problem.events * shape.steps * shape.features)};
  for (int64_t event = 0; event < problem.events; ++event) EventReference(shape, problem, kept, event, truth).run();
  return truth;
}

namespace {

double loss(const RecurrentShape& shape, const RecurrentProblem& problem) {
  const RecurrentTruth truth = recurrent_truth(shape, problem);
  double sum = 0;
  for (size_t i = 0; i < truth.out.size(); ++i) sum += truth.out[i] * problem.out_gradient[i];
  return sum;
}

// The chain rule above against differences of the outputs. Nothing of these waves lies at a corner of a function.
TEST(RecurrentReference, GradientsAreDifferences) {
  const std::vector<RecurrentActivations> functions{
      {},
      {RecurrentActivation::kRelu, RecurrentActivation::kHardSigmoid},
      {RecurrentActivation::kSigmoid, RecurrentActivation::kTanh},
      {RecurrentActivation::kLinear, RecurrentActivation::kSteepHardSigmoid}};
  for (const RecurrentCell cell :
       {RecurrentCell::kGruResetAfter, RecurrentCell::kGruResetBefore, RecurrentCell::kLstm}) {
    for (size_t way = 0; way < 2 * functions.size(); ++way) {
      const bool sequences = way % 2 == 1, drops = way % 4 == 1;
      const RecurrentShape shape{cell, 4, 2, 3, true, sequences, sequences, functions[way / 2], drops};
      const auto wave = [](int64_t count, float phase) {
        std::vector<float> values(static_cast<size_t>(count));
        for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(phase + 1.7F * static_cast<float>(i));
        return values;
      };
      RecurrentProblem problem{2,
                               wave(2 * shape.steps * shape.features, 0.1F),
                               wave(shape.kernel_floats(), 0.2F),
                               wave(shape.recurrent_floats(), 0.3F),
                               wave(shape.bias_floats(), 0.4F),
                               wave(2 * shape.out_floats(), 0.5F),
                               {1, 1, 0, 1, 0, 1, 1, 0},
                               wave(drops ? 2 * shape.gates() * shape.features : 0, 0.6F),
                               wave(drops ? 2 * shape.gates() * shape.units : 0, 0.7F)};
      const RecurrentTruth truth = recurrent_truth(shape, problem);
      const auto check = [&](std::vector<float>& values, const Doubles& gradient) {
        for (size_t i = 0; i < values.size(); ++i) {
          const float value = values[i], up = value + 0x1p-10F, down = value - 0x1p-10F;
          values[i] = up;
          const double above = loss(shape, problem);
          values[i] = down;
          const double below = loss(shape, problem);
          values[i] = value;
          EXPECT_NEAR((above - below) / (double{up} - double{down}), gradient[i], 2e-6);
        }
      };
      check(problem.x, truth.x);
      check(problem.kernel, truth.kernel);
      check(problem.recurrent, truth.recurrent);
      check(problem.bias, truth.bias);
    }
  }
}

}  // namespace
}  // namespace linac::kernels
