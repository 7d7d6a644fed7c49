#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/io/storage/stores.h"

namespace linac::storage {
namespace {

/// Of a program that does not read them: it may still know that they are of another host.
class AbsentStore : public Store {
 public:
  std::vector<std::string> glob(const std::string& pattern) const override { refuse(pattern); }
  std::vector<Listed> list(const std::string& folder) const override { refuse(folder); }
  int64_t size(const std::string& url) const override { refuse(url); }
  std::unique_ptr<Reader> open(const std::string& url) const override { refuse(url); }
  std::filesystem::path local(const std::string& url) const override { refuse(url); }
  void write(const std::string& url, std::string_view) const override { refuse(url); }
  void put(const std::string& url, const std::filesystem::path&) const override { refuse(url); }
  void need_writable(const std::string& url) const override { refuse(url); }
  void remove(const std::string& url) const override { refuse(url); }

 private:
  [[noreturn]] static void refuse(const std::string& url) {
    throw user_error(fmt::format("[storage] {}: this program does not read {}; copy the file first (linac data copy)",
                                 url, scheme_of(url).value_or("it") + "://"));
  }
};

const AbsentStore absent;
const Store* gs = &absent;
const Store* az = &absent;

}  // namespace

const Store& gs_store() {
  return *gs;
}

const Store& az_store() {
  return *az;
}

void provide_clouds(const Store& of_google, const Store& of_azure) {
  gs = &of_google;
  az = &of_azure;
}

}  // namespace linac::storage
