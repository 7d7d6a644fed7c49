#pragma once
// Discrete Fourier transforms of complex numbers that each stand for several events, included by
// spectral_kernels-inl.h. A transform of inner * outer points is two passes of small ones (Cooley and Tukey 1965), each
// of which stays in registers; between them the points lie in the L1 cache.

namespace linac::kernels {
namespace {

struct Complex {
  Vec re, im;
};

inline Complex operator+(const Complex& a, const Complex& b) {
  return {add(a.re, b.re), add(a.im, b.im)};
}
inline Complex operator-(const Complex& a, const Complex& b) {
  return {subtract(a.re, b.re), subtract(a.im, b.im)};
}
/// a + i b and a - i b.
inline Complex plus_i(const Complex& a, const Complex& b) {
  return {subtract(a.re, b.im), add(a.im, b.re)};
}
inline Complex minus_i(const Complex& a, const Complex& b) {
  return {add(a.re, b.im), subtract(a.im, b.re)};
}
inline Complex times(const Complex& a, Vec re, Vec im) {
  return {multiply_subtract(a.re, re, multiply(a.im, im)), multiply_add(a.re, im, multiply(a.im, re))};
}

// Sine and cosine at compile time, by their series; the argument is a fraction of a turn in [0, 1).
constexpr double turn_series(double turn, int first) {
  const double x = 2 * 3.14159265358979323846 * (turn > 0.5 ? turn - 1 : turn);
  double term = first == 0 ? 1 : x, sum = term;
  for (int n = first; n < 40; n += 2) {
    term *= -x * x / ((n + 1) * (n + 2));
    sum += term;
  }
  return sum;
}
constexpr float cosine(int numerator, int denominator) {
  return static_cast<float>(turn_series(static_cast<double>(numerator % denominator) / denominator, 0));
}
constexpr float sine(int numerator, int denominator) {
  return static_cast<float>(turn_series(static_cast<double>(numerator % denominator) / denominator, 1));
}

template <int R>
struct Roots {
  float cos[R] = {}, sin[R] = {};
  constexpr Roots() {
    for (int i = 0; i < R; ++i) cos[i] = cosine(i, R), sin[i] = sine(i, R);
  }
};
template <int R>
constexpr Roots<R> kRoots;

/// In place, natural order: x[k] = sum over n of x[n] exp(-2 pi i n k / R).
template <int R>
struct Dft {
  static_assert(R == 3 || R == 5 || R == 7);
  static inline __attribute__((always_inline)) void run(Complex* x) {
    constexpr int kHalf = (R - 1) / 2;
    Complex sums[kHalf], differences[kHalf], total = x[0];
#pragma GCC unroll 4
    for (int j = 0; j < kHalf; ++j) {
      sums[j] = x[j + 1] + x[R - 1 - j];
      differences[j] = x[j + 1] - x[R - 1 - j];
      total = total + sums[j];
    }
#pragma GCC unroll 4
    for (int k = 1; k <= kHalf; ++k) {
      Complex even = x[0], odd{};
#pragma GCC unroll 4
      for (int j = 0; j < kHalf; ++j) {
        const Vec cos = broadcast(kRoots<R>.cos[(j + 1) * k % R]), sin = broadcast(kRoots<R>.sin[(j + 1) * k % R]);
        even = {multiply_add(sums[j].re, cos, even.re), multiply_add(sums[j].im, cos, even.im)};
        if (j == 0)
          odd = {multiply(differences[j].re, sin), multiply(differences[j].im, sin)};
        else
          odd = {multiply_add(differences[j].re, sin, odd.re), multiply_add(differences[j].im, sin, odd.im)};
      }
      // x[1..half] are no longer needed as inputs: sums and differences hold them.
      x[k] = minus_i(even, odd);
      x[R - k] = plus_i(even, odd);
    }
    x[0] = total;
  }
};

template <>
struct Dft<1> {
  static inline __attribute__((always_inline)) void run(Complex*) {}
};

template <>
struct Dft<2> {
  static inline __attribute__((always_inline)) void run(Complex* x) {
    const Complex a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  }
};

template <>
struct Dft<4> {
  static inline __attribute__((always_inline)) void run(Complex* x) {
    const Complex a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3];
    x[0] = a + c;
    x[1] = minus_i(b, d);
    x[2] = a - c;
    x[3] = plus_i(b, d);
  }
};

/// A * B points as two rounds of smaller transforms.
template <int A, int B>
struct CompositeDft {
  static inline __attribute__((always_inline)) void run(Complex* x) {
    Complex y[A][B];
#pragma GCC unroll 4
    for (int b = 0; b < B; ++b) {
      Complex column[A];
#pragma GCC unroll 4
      for (int a = 0; a < A; ++a) column[a] = x[B * a + b];
      Dft<A>::run(column);
#pragma GCC unroll 4
      for (int a = 0; a < A; ++a) y[a][b] = turned(column[a], a * b);
    }
#pragma GCC unroll 4
    for (int a = 0; a < A; ++a) {
      Dft<B>::run(y[a]);
#pragma GCC unroll 4
      for (int b = 0; b < B; ++b) x[a + A * b] = y[a][b];
    }
  }

  /// By exp(-2 pi i n / (A B)).
  static inline __attribute__((always_inline)) Complex turned(const Complex& value, int n) {
    if (n == 0) return value;
    if (4 * n == A * B) return minus_i(Complex{broadcast(0.0F), broadcast(0.0F)}, value);
    return times(value, broadcast(kRoots<A * B>.cos[n]), broadcast(-kRoots<A * B>.sin[n]));
  }
};
template <>
struct Dft<6> : CompositeDft<2, 3> {};
template <>
struct Dft<8> : CompositeDft<2, 4> {};
template <>
struct Dft<9> : CompositeDft<3, 3> {};

struct Source {
  const float *re, *im;
  int64_t step, count;
};
struct Target {
  float *re, *im;
  int64_t step, count, shift;
};

template <int R>
void first_pass(const FftPlan& plan, const Source& in, float* scratch) {
  const float* twiddles = plan.twiddles;
  for (int64_t n = 0; n < plan.outer; ++n, twiddles += 2 * R) {
    Complex x[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const int64_t i = n + plan.outer * r;
      if (i < in.count)
        x[r] = {load(in.re + i * in.step), load(in.im + i * in.step)};
      else
        x[r] = {broadcast(0.0F), broadcast(0.0F)};
    }
    Dft<R>::run(x);
    float* to = scratch + n * kComplexFloats;
    const int64_t step = plan.outer * kComplexFloats;
    store(to, x[0].re), store(to + 16, x[0].im);
#pragma GCC unroll 16
    for (int r = 1; r < R; ++r) {
      const Complex turned = times(x[r], broadcast(twiddles[2 * r]), broadcast(twiddles[2 * r + 1]));
      store(to + r * step, turned.re), store(to + r * step + 16, turned.im);
    }
  }
}

template <int R>
void second_pass(const FftPlan& plan, const float* scratch, const Target& out) {
  for (int64_t k = 0; k < plan.inner; ++k, scratch += R * kComplexFloats) {
    Complex x[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) x[r] = {load(scratch + r * kComplexFloats), load(scratch + r * kComplexFloats + 16)};
    Dft<R>::run(x);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      int64_t at = k + plan.inner * r + out.shift;
      if (at >= plan.size) at -= plan.size;
      if (at < out.count) store(out.re + at * out.step, x[r].re), store(out.im + at * out.step, x[r].im);
    }
  }
}

using FirstPass = void (*)(const FftPlan&, const Source&, float*);
using SecondPass = void (*)(const FftPlan&, const float*, const Target&);
constexpr FirstPass kFirstPasses[kFftFactorMax + 1] = {nullptr,       first_pass<1>, first_pass<2>, first_pass<3>,
                                                       first_pass<4>, first_pass<5>, first_pass<6>, first_pass<7>,
                                                       first_pass<8>, first_pass<9>};
constexpr SecondPass kSecondPasses[kFftFactorMax + 1] = {nullptr,        second_pass<1>, second_pass<2>, second_pass<3>,
                                                         second_pass<4>, second_pass<5>, second_pass<6>, second_pass<7>,
                                                         second_pass<8>, second_pass<9>};

/// One line, all 16 events. `scratch`: size complex elements.
inline void transform(const FftPlan& plan, const Source& in, const Target& out, float* scratch) {
  for (int64_t lane = 0; lane < 16; lane += kLanes) {
    kFirstPasses[plan.inner](plan, {in.re + lane, in.im + lane, in.step, in.count}, scratch + lane);
    kSecondPasses[plan.outer](plan, scratch + lane, {out.re + lane, out.im + lane, out.step, out.count, out.shift});
  }
}

}  // namespace
}  // namespace linac::kernels
