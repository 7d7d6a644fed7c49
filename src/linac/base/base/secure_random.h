#pragma once
// Random numbers that nobody can guess, from the system: for names, tokens and keys. Those of the numerics are rng.h's.
// Thread-safe.

#include <cstddef>
#include <string>

namespace linac {

/// `digits` hexadecimal digits.
std::string random_hex(size_t digits);

}  // namespace linac
