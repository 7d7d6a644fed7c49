#include "linac/io/storage/s3/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "linac/base/base/error.h"
#include "linac/io/storage/percent.h"

namespace linac::storage::s3 {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr size_t kBucketBytesMax = 63, kKeyBytesMax = 1024;  // docs.aws.amazon.com: bucket naming rules, object keys

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_bucket(std::string_view name) {
  // Underscores and capitals are of old buckets, and of Ceph's and MinIO's.
  const auto fits = [](char c) { return is_plain(c) || c == '-' || c == '.' || c == '_'; };
  return !name.empty() && name.size() <= kBucketBytesMax && is_plain(name.front()) && is_plain(name.back()) &&
         std::all_of(name.begin(), name.end(), fits) && name.find("..") == std::string_view::npos;
}

}  // namespace

Address parse_address(const std::string& url) {
  const std::string_view rest = std::string_view(url).substr(kScheme.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view bucket = rest.substr(0, slash);
  if (bucket.find('@') != std::string_view::npos) {
    throw user_error(
        "[s3] an address with keys in it is not taken (job files and logs would keep them); set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY");
  }
  if (!is_bucket(bucket))
    throw user_error(fmt::format("[s3] {}: '{}' is no name of a bucket; write s3://BUCKET/KEY", url, bucket));
  const std::string_view key = slash < rest.size() ? rest.substr(slash + 1) : std::string_view();
  if (key.size() > kKeyBytesMax || key.find('\0') != std::string_view::npos)
    throw user_error(fmt::format("[s3] s3://{}: a key has {} bytes at most; check the address", bucket, kKeyBytesMax));
  return {std::string(bucket), std::string(key)};
}

std::string request_url(const Access& access, const Address& address, const Query& query) {
  std::string url = access.endpoint;
  // A name with dots would not fit the certificate of *.s3.amazonaws.com.
  if (access.bucket_in_host && address.bucket.find_first_of("._") == std::string::npos) {
    url.insert(url.find("://") + 3, address.bucket + ".");
    url += "/";
  } else {
    url += "/" + address.bucket + (address.key.empty() ? "" : "/");
  }
  url += percent_encoded(address.key, Slash::kStays);
  char mark = '?';
  for (const auto& [name, value] : query) {
    url +=
        fmt::format("{}{}={}", mark, percent_encoded(name, Slash::kEscaped), percent_encoded(value, Slash::kEscaped));
    mark = '&';
  }
  return url;
}

}  // namespace linac::storage::s3
