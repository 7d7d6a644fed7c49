#pragma once
// The activations of recurrent cells and their slopes, compiled once an instruction set (see plane_kernels-inl.h),
// whose files also define minimum, maximum, times_power_of_two and reciprocal_guess.

#include "linac/model/kernels/plane_tiles-inl.h"
#include "linac/model/kernels/recurrent_activation.h"

namespace linac::kernels {
namespace {

// A chain of operations this long must be computed for several vectors in turn: the processor looks too few
// instructions ahead to find the next chain by itself.
constexpr int kChains = kManyRegisters ? 8 : 4;

template <int K, class Operation>
inline void for_each(Operation operation) {
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) operation(k);
}

/// body.operator()<K>(i) for the vectors i, i + kLanes ... of `floats`, K at a time.
template <class Body>
inline void by_chains(int64_t floats, Body body) {
  int64_t i = 0;
  for (; i + kChains * kLanes <= floats; i += kChains * kLanes) body.template operator()<kChains>(i);
  for (; i < floats; i += kLanes) body.template operator()<1>(i);
}

/// a := 1 / (1 + 2^(a * scale)), |a| cut off at `limit`. 2^f on [-1/2, 1/2] is a polynomial with the smallest largest
/// relative error (1.1e-7, found by Remez's algorithm, 1 at 0). The reciprocal starts from one of 5 % error, found by
/// subtracting the bits, and goes on by a step of third order and one of Newton's, which sees the power before it is
/// rounded into the sum: divisions would take longer, and estimates by instructions differ between processors.
template <int K>
inline void falling_logistic(Vec (&a)[K], float scale, float limit) {
  const Vec factor = broadcast(scale), round = broadcast(12582912.0F);  // 1.5 * 2^23: integers in the last bits
  const Vec high = broadcast(limit), low = broadcast(-limit), one = broadcast(1.0F);
  Vec shifted[K], power[K];
  for_each<K>([&](int k) { a[k] = maximum(low, a[k]); });
  for_each<K>([&](int k) { a[k] = minimum(high, a[k]); });
  for_each<K>([&](int k) { shifted[k] = multiply_add(a[k], factor, round); });
  for_each<K>([&](int k) { power[k] = subtract(shifted[k], round); });
  for_each<K>([&](int k) { a[k] = multiply_subtract(a[k], factor, power[k]); });
  for_each<K>([&](int k) { power[k] = multiply_add(a[k], broadcast(0.00132647273F), broadcast(0.00967151299F)); });
  for (const float coefficient : {0.0555073358F, 0.240222424F, 0.693147004F, 1.0F})
    for_each<K>([&](int k) { power[k] = multiply_add(a[k], power[k], broadcast(coefficient)); });
  for_each<K>([&](int k) { power[k] = times_power_of_two(power[k], shifted[k]); });
  for_each<K>([&](int k) { shifted[k] = add(one, power[k]); });
  for_each<K>([&](int k) { a[k] = reciprocal_guess(shifted[k]); });
  for_each<K>([&](int k) { shifted[k] = negative_multiply_add(shifted[k], a[k], one); });
  for_each<K>([&](int k) { shifted[k] = multiply_add(shifted[k], shifted[k], shifted[k]); });
  for_each<K>([&](int k) { a[k] = multiply_add(a[k], shifted[k], a[k]); });
  for_each<K>([&](int k) { shifted[k] = subtract(one, a[k]); });
  for_each<K>([&](int k) { shifted[k] = negative_multiply_add(power[k], a[k], shifted[k]); });
  for_each<K>([&](int k) { a[k] = multiply_add(a[k], shifted[k], a[k]); });
}
constexpr float kLog2E = 1.44269504F;
template <int K>
inline void sigmoid(Vec (&a)[K]) {
  falling_logistic(a, -kLog2E, 80.0F);
}
template <int K>
inline void tanh(Vec (&a)[K]) {
  falling_logistic(a, 2 * kLog2E, 40.0F);
  for_each<K>([&](int k) { a[k] = negative_multiply_add(broadcast(2.0F), a[k], broadcast(1.0F)); });
}

/// a := gain a + 1/2, cut off to [0, 1].
template <int K>
inline void hard_sigmoid(Vec (&a)[K], float gain) {
  const Vec factor = broadcast(gain), half = broadcast(0.5F), zero = broadcast(0.0F), one = broadcast(1.0F);
  for_each<K>([&](int k) { a[k] = minimum(one, maximum(zero, multiply_add(a[k], factor, half))); });
}

/// y = apply(x), vectors in chains.
template <class Apply>
inline void map_floats(const float* x, int64_t count, float* y, const Apply& apply) {
  by_chains(count, [&]<int K>(int64_t i) {
    Vec a[K];
    for_each<K>([&](int k) { a[k] = load(x + i + k * kLanes); });
    apply(a);
    for_each<K>([&](int k) { store(y + i + k * kLanes, a[k]); });
  });
}
void sigmoid_floats(const float* x, int64_t count, float* y) {
  map_floats(x, count, y, [](auto& a) { sigmoid(a); });
}
void tanh_floats(const float* x, int64_t count, float* y) {
  map_floats(x, count, y, [](auto& a) { tanh(a); });
}

/// a (1 - a) and 1 - a^2: the slopes of the sigmoid and of tanh where their value is a.
inline Vec sigmoid_slope(Vec a) {
  return negative_multiply_add(a, a, a);
}
inline Vec tanh_slope(Vec a) {
  return negative_multiply_add(a, a, broadcast(1.0F));
}
constexpr float kHardGain = 1.0F / 6, kSteepGain = 0.2F;

/// The functions of nearly all layers: the compiler sees which they are.
struct UsualFunctions {
  template <int K>
  void activate(Vec (&a)[K]) const {
    tanh(a);
  }
  template <int K>
  void gate(Vec (&a)[K]) const {
    sigmoid(a);
  }
  Vec activate_slope(Vec a) const { return tanh_slope(a); }
  Vec gate_slope(Vec a) const { return sigmoid_slope(a); }
};

struct GivenFunctions {
  RecurrentActivations which;

  template <int K>
  static void apply(RecurrentActivation function, Vec (&a)[K]) {
    switch (function) {
      case RecurrentActivation::kTanh:
        return tanh(a);
      case RecurrentActivation::kSigmoid:
        return sigmoid(a);
      case RecurrentActivation::kLinear:
        return;
      case RecurrentActivation::kRelu:
        return for_each<K>([&](int k) { a[k] = maximum(broadcast(0.0F), a[k]); });
      case RecurrentActivation::kHardSigmoid:
        return hard_sigmoid(a, kHardGain);
      case RecurrentActivation::kSteepHardSigmoid:
        return hard_sigmoid(a, kSteepGain);
    }
  }
  /// Where the function's value is a.
  static Vec slope(RecurrentActivation function, Vec a) {
    const Vec zero = broadcast(0.0F), one = broadcast(1.0F);
    const auto within = [&](float gain) {
      return where_positive(a, where_positive(subtract(one, a), broadcast(gain), zero), zero);
    };
    switch (function) {
      case RecurrentActivation::kTanh:
        return tanh_slope(a);
      case RecurrentActivation::kSigmoid:
        return sigmoid_slope(a);
      case RecurrentActivation::kLinear:
        return one;
      case RecurrentActivation::kRelu:
        return where_positive(a, one, zero);
      case RecurrentActivation::kHardSigmoid:
        return within(kHardGain);
      case RecurrentActivation::kSteepHardSigmoid:
        break;
    }
    return within(kSteepGain);
  }

  template <int K>
  void activate(Vec (&a)[K]) const {
    apply(which.state, a);
  }
  template <int K>
  void gate(Vec (&a)[K]) const {
    apply(which.gates, a);
  }
  Vec activate_slope(Vec a) const { return slope(which.state, a); }
  Vec gate_slope(Vec a) const { return slope(which.gates, a); }
};

template <class Work>
inline void with_functions(const RecurrentActivations& which, const Work& work) {
  if (which.usual())
    work(UsualFunctions{});
  else
    work(GivenFunctions{which});
}

template <class Functions>
inline void gate_floats(const Functions& functions, float* values, int64_t count) {
  map_floats(values, count, values, [&](auto& a) { functions.gate(a); });
}
template <class Functions>
inline void activate_floats(const Functions& functions, const float* x, int64_t count, float* y) {
  map_floats(x, count, y, [&](auto& a) { functions.activate(a); });
}

}  // namespace
}  // namespace linac::kernels
