#pragma once
// The cells of recurrent_kernels.h, compiled once an instruction set (see plane_kernels-inl.h), whose files also define
// minimum, maximum, times_power_of_two, reciprocal_guess and the handling of subnormal numbers.

#include "linac/kernels/recurrent_tiles-inl.h"

namespace linac::kernels {
namespace {

/// 1 / (1 + 2^(x * scale)), |x| cut off at `limit`. 2^f on [-1/2, 1/2] is a polynomial with the smallest largest
/// relative error (1.1e-7, found by Remez's algorithm, 1 at 0). The reciprocal starts from one of 5 % error, found by
/// subtracting the bits, and goes on by a step of third order and one of Newton's, which sees the power before it is
/// rounded into the sum: divisions would take longer, and estimates by instructions differ between processors.
inline Vec falling_logistic(Vec x, float scale, float limit) {
  const Vec factor = broadcast(scale), round = broadcast(12582912.0F);  // 1.5 * 2^23: integers in the last bits
  const Vec cut = minimum(broadcast(limit), maximum(broadcast(-limit), x));
  const Vec shifted = multiply_add(cut, factor, round);
  const Vec f = multiply_subtract(cut, factor, subtract(shifted, round));
  Vec power = multiply_add(f, broadcast(0.00132647273F), broadcast(0.00967151299F));
  power = multiply_add(f, power, broadcast(0.0555073358F));
  power = multiply_add(f, power, broadcast(0.240222424F));
  power = multiply_add(f, power, broadcast(0.693147004F));
  power = multiply_add(f, power, broadcast(1.0F));
  const Vec e = times_power_of_two(power, shifted), one = broadcast(1.0F), d = add(one, e);
  const Vec guess = reciprocal_guess(d);
  const Vec error = negative_multiply_add(d, guess, one);
  const Vec better = multiply_add(guess, multiply_add(error, error, error), guess);
  return multiply_add(better, negative_multiply_add(e, better, subtract(one, better)), better);
}
constexpr float kLog2E = 1.44269504F;
inline Vec sigmoid(Vec x) {
  return falling_logistic(x, -kLog2E, 80.0F);
}
inline Vec tanh(Vec x) {
  return negative_multiply_add(broadcast(2.0F), falling_logistic(x, 2 * kLog2E, 40.0F), broadcast(1.0F));
}

void sigmoid_floats(const float* x, int64_t count, float* y) {
  for (int64_t i = 0; i < count; i += kLanes) store(y + i, sigmoid(load(x + i)));
}
void tanh_floats(const float* x, int64_t count, float* y) {
  for (int64_t i = 0; i < count; i += kLanes) store(y + i, tanh(load(x + i)));
}

/// a (1 - a) and 1 - a^2: the slopes of the sigmoid and of tanh where their value is a.
inline Vec sigmoid_slope(Vec a) {
  return negative_multiply_add(a, a, a);
}
inline Vec tanh_slope(Vec a) {
  return negative_multiply_add(a, a, broadcast(1.0F));
}
/// z s + (1 - z) h
inline Vec mixed(Vec z, Vec s, Vec h) {
  return multiply_add(z, subtract(s, h), h);
}

void gru_after(const CellRows& rows) {
  const int64_t gate = rows.units * 16;
  float* const gates = rows.gates;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const Vec z = sigmoid(load(gates + gate + i)), r = sigmoid(load(gates + 2 * gate + i));
    const Vec hh = tanh(multiply_add(r, load(gates + 3 * gate + i), load(gates + i)));
    store(gates + i, hh);
    store(gates + gate + i, z);
    store(gates + 2 * gate + i, r);
    store(rows.next_state + i, mixed(z, load(rows.state + i), hh));
  }
}

void gru_before_gates(const CellRows& rows) {
  const int64_t gate = rows.units * 16;
  float* const gates = rows.gates;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const Vec z = sigmoid(load(gates + gate + i)), r = sigmoid(load(gates + 2 * gate + i));
    store(gates + gate + i, z);
    store(gates + 2 * gate + i, r);
    store(gates + 3 * gate + i, multiply(r, load(rows.state + i)));
  }
}

void gru_before_state(const CellRows& rows) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const Vec hh = tanh(load(rows.gates + i));
    store(rows.gates + i, hh);
    store(rows.next_state + i, mixed(load(rows.gates + gate + i), load(rows.state + i), hh));
  }
}

void lstm(const CellRows& rows) {
  const int64_t gate = rows.units * 16;
  float* const gates = rows.gates;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const Vec in = sigmoid(load(gates + i)), forget = sigmoid(load(gates + gate + i));
    const Vec content = tanh(load(gates + 2 * gate + i)), out = sigmoid(load(gates + 3 * gate + i));
    const Vec c = multiply_add(forget, load(rows.state + gate + i), multiply(in, content)), shown = tanh(c);
    store(gates + i, in);
    store(gates + gate + i, forget);
    store(gates + 2 * gate + i, content);
    store(gates + 3 * gate + i, out);
    store(gates + 4 * gate + i, shown);
    store(rows.next_state + i, multiply(out, shown));
    store(rows.next_state + gate + i, c);
  }
}

/// What both kinds of GRU share: the deltas of hh and z, and the carry.
struct GruGradient {
  Vec hh, z, carry;
};
inline GruGradient gru_gradient(Vec hh, Vec z, Vec state, Vec carry) {
  const Vec through_z = multiply(carry, z);
  return {multiply(subtract(carry, through_z), tanh_slope(hh)),
          multiply(multiply(carry, subtract(state, hh)), sigmoid_slope(z)), through_z};
}

void gru_after_gradient(const CellGradientRows& rows) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const float* const gates = rows.gates + i;
    const Vec r = load(gates + 2 * gate);
    const GruGradient delta = gru_gradient(load(gates), load(gates + gate), load(rows.state + i), load(rows.carry + i));
    store(rows.carry + i, delta.carry);
    store(rows.deltas + i, delta.hh);
    store(rows.deltas + gate + i, delta.z);
    store(rows.deltas + 2 * gate + i, multiply(multiply(delta.hh, load(gates + 3 * gate)), sigmoid_slope(r)));
    store(rows.deltas + 3 * gate + i, multiply(delta.hh, r));
  }
}

void gru_before_state_gradient(const CellGradientRows& rows) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const float* const gates = rows.gates + i;
    const GruGradient delta = gru_gradient(load(gates), load(gates + gate), load(rows.state + i), load(rows.carry + i));
    store(rows.carry + i, delta.carry);
    store(rows.deltas + i, delta.hh);
    store(rows.deltas + gate + i, delta.z);
  }
}

void gru_before_reset_gradient(const CellGradientRows& rows, const float* reset_gradient) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const Vec r = load(rows.gates + 2 * gate + i), gradient = load(reset_gradient + i);
    store(rows.deltas + 2 * gate + i, multiply(multiply(gradient, load(rows.state + i)), sigmoid_slope(r)));
    store(rows.carry + i, multiply_add(gradient, r, load(rows.carry + i)));
  }
}

void lstm_gradient(const CellGradientRows& rows) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const float* const gates = rows.gates + i;
    float* const deltas = rows.deltas + i;
    const Vec in = load(gates), forget = load(gates + gate), content = load(gates + 2 * gate);
    const Vec out = load(gates + 3 * gate), shown = load(gates + 4 * gate), carry = load(rows.carry + i);
    const Vec c = multiply_add(multiply(carry, out), tanh_slope(shown), load(rows.carry + gate + i));
    store(deltas, multiply(multiply(c, content), sigmoid_slope(in)));
    store(deltas + gate, multiply(multiply(c, load(rows.state + gate + i)), sigmoid_slope(forget)));
    store(deltas + 2 * gate, multiply(multiply(c, in), tanh_slope(content)));
    store(deltas + 3 * gate, multiply(multiply(carry, shown), sigmoid_slope(out)));
    store(rows.carry + gate + i, multiply(c, forget));
  }
}

constexpr RecurrentKernels kRecurrent{pack_matrix,
                                      project,
                                      add_outer,
                                      gru_after,
                                      gru_before_gates,
                                      gru_before_state,
                                      lstm,
                                      gru_after_gradient,
                                      gru_before_state_gradient,
                                      gru_before_reset_gradient,
                                      lstm_gradient,
                                      sigmoid_floats,
                                      tanh_floats,
                                      flush_subnormals,
                                      restore_subnormals};

}  // namespace
}  // namespace linac::kernels
