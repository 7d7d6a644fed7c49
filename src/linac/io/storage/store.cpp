#include "linac/io/storage/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "linac/base/base/error.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/stores.h"

namespace linac::storage {
namespace {

struct Scheme {
  std::string_view name;
  const Store& (*store)();
};
constexpr Scheme kSchemes[] = {
    {"az", az_store},        {"dav", dav_store},     {"davs", dav_store},   {"file", file_store},
    {"gs", gs_store},        {"http", http_store},   {"https", http_store}, {"root", xrootd_store},
    {"roots", xrootd_store}, {"rucio", rucio_store}, {"s3", s3_store},      {"xroot", xrootd_store},
};

std::string known_schemes() {
  std::string text = "plain paths";
  for (size_t i = 0; i < std::size(kSchemes); ++i)
    text += fmt::format("{}{}://", i + 1 < std::size(kSchemes) ? ", " : " and ", kSchemes[i].name);
  return text;
}

[[noreturn]] void fail_without_conditions(const std::string& url) {
  throw user_error(fmt::format("[storage] {}: such a store cannot keep a folder that is worked in; s3:// and paths can",
                               net::without_secrets(url)));
}

}  // namespace

std::vector<Listed> Store::find(const std::string& pattern) const {
  std::vector<Listed> files;
  for (std::string& url : glob(pattern)) files.push_back({.url = std::move(url)});
  return files;
}

std::optional<SmallFile> Store::read_small(const std::string& url) const {
  fail_without_conditions(url);
}

std::optional<std::string> Store::replace(const std::string& url, std::string_view, const std::string&) const {
  fail_without_conditions(url);
}

std::optional<std::string> scheme_of(std::string_view url) {
  const size_t colon = url.find("://");
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string scheme(url.substr(0, colon));
  const auto in_scheme = [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.'; };
  if (!std::all_of(scheme.begin(), scheme.end(), in_scheme)) return std::nullopt;
  std::transform(scheme.begin(), scheme.end(), scheme.begin(), [](unsigned char c) { return std::tolower(c); });
  return scheme;
}

bool is_read(std::string_view scheme) {
  return std::any_of(std::begin(kSchemes), std::end(kSchemes), [&](const Scheme& s) { return s.name == scheme; });
}

const Store& store_of(const std::string& url) {
  if (url.empty()) throw user_error("[storage] an empty file name; give a path, a glob or a URL");
  const std::string scheme = scheme_of(url).value_or("file");
  for (const Scheme& known : kSchemes)
    if (known.name == scheme) return known.store();
  throw user_error(
      fmt::format("[storage] {}: this build does not read {}:// (it reads {}); mount the store or copy the file first",
                  url, scheme, known_schemes()));
}

}  // namespace linac::storage
