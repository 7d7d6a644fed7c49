#pragma once
// From one value to another.

namespace linac {

struct Range {
  double low = 0, high = 0;
};

}  // namespace linac
