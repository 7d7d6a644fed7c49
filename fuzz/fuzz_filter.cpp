// Whatever a user searches for is refused, or becomes SQL that the database takes and answers: as a filter and, line by
// line, as orders. The first byte chooses the kind of record.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/models.h"
#include "linac/control/catalog/runs.h"

namespace {

using namespace linac::catalog;

Database& filled_database() {
  static const auto database = [] {
    auto made = open_database(":memory:");
    migrate(*made);
    const std::string id = create_run(*made, NewRun()).id;
    set_parameters(*made, id, {{"lr", "0.001"}});
    create_version(*made, create_model(*made, "m", "", {{"a", "b"}}).name, NewVersion());
    return made;
  }();
  return *database;
}

void search(uint8_t kind, const std::string& filter, const std::vector<std::string>& order) {
  constexpr int64_t kLimit = 10;
  try {
    switch (kind % 4) {
      case 0: {
        RunSearch runs;
        runs.filter = filter;
        runs.order = order;
        runs.limit = kLimit;
        search_runs(filled_database(), Viewer::of_all(), runs);
        break;
      }
      case 1:
        search_experiments(filled_database(), Viewer::of_all(), filter, order, View::kAll, kLimit, "");
        break;
      case 2:
        search_models(filled_database(), Viewer::of_all(), filter, order, kLimit, "");
        break;
      default:
        search_versions(filled_database(), Viewer::of_all(), filter, order, kLimit, "");
    }
  } catch (const linac::Refusal&) {  // any other exception is a finding
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t end = text.find('\n');
  std::vector<std::string> order;
  for (size_t begin = end; begin != std::string::npos;) {
    const size_t next = text.find('\n', begin + 1);
    order.push_back(text.substr(begin + 1, next == std::string::npos ? next : next - begin - 1));
    begin = next;
  }
  search(data[0], text.substr(0, end), order);
  return 0;
}
