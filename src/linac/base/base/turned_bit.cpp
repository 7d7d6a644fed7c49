#include "linac/base/base/turned_bit.h"

#include <array>
#include <cstdint>

#include "linac/base/base/error.h"

namespace linac {

void turn_a_bit(std::span<std::byte> memory, const RngKey& key) {
  LINAC_CHECK(!memory.empty());
  std::array<uint32_t, 4> drawn{};
  fill_bits(key, 0, drawn);
  const uint64_t place = (uint64_t{drawn[0]} << 32 | drawn[1]) % memory.size();
  memory[place] ^= std::byte{1} << (drawn[2] % 8);
}

}  // namespace linac
