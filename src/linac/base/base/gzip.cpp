#include "linac/base/base/gzip.h"

#include <zlib.h>

#include "linac/base/base/error.h"

namespace linac {

std::string gzip(std::string_view bytes) {
  constexpr int kGzip = 15 + 16;  // window bits, and what makes it gzip
  constexpr int kMemory = 9;
  z_stream stream{};
  LINAC_CHECK(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  deflateEnd(&stream);
  LINAC_CHECK(status == Z_STREAM_END && bytes.size() == stream.total_in);
  out.resize(stream.total_out);
  return out;
}

}  // namespace linac
