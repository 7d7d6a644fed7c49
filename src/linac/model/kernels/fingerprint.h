#pragma once
// Whether another processor, or another core, computes the same bits. A value; one thread at a time.

#include <cstdint>
#include <cstring>

namespace linac::kernels {

/// A number that follows from all bits of all floats (FNV-1a over words): one that differs gives another number.
class Fingerprint {
 public:
  template <class Floats>
  void add(const Floats& values) {
    for (const float value : values) {
      uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      value_ = (value_ ^ bits) * 1099511628211U;
    }
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 14695981039346656037U;
};

}  // namespace linac::kernels
