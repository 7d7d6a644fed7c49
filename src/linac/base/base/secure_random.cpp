#include "linac/base/base/secure_random.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/hex.h"

namespace linac {

std::string random_hex(size_t digits) {
  constexpr size_t kCallBytesMax = 256;  // getentropy() gives no more at a time
  std::vector<unsigned char> bytes((digits + 1) / 2);
  for (size_t done = 0; done < bytes.size(); done += kCallBytesMax)
    LINAC_CHECK(::getentropy(bytes.data() + done, std::min(kCallBytesMax, bytes.size() - done)) == 0);
  std::string text = in_hex(bytes);
  text.resize(digits);
  return text;
}

}  // namespace linac
