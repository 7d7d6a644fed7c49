#include "linac/control/catalog/paging.h"

#include <fmt/format.h>

#include <charconv>
#include <span>

#include "linac/base/base/crc32c.h"
#include "linac/base/base/refusal.h"

namespace linac::catalog {

std::string page_token(const std::string& search, int64_t offset) {
  return fmt::format("{}.{:08x}", offset, crc32c(std::as_bytes(std::span(search))));
}

int64_t page_offset(const std::string& search, const std::string& token) {
  if (token.empty()) return 0;
  int64_t offset = -1;
  std::from_chars(token.data(), token.data() + token.size(), offset);
  if (offset < 0 || page_token(search, offset) != token)
    throw Refusal(
        RefusalKind::kInvalid,
        "[search] the page token is not of this search; give back the one that came with the page before, with the "
        "same filter and order");
  return offset;
}

}  // namespace linac::catalog
