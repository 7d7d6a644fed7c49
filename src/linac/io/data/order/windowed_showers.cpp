#include "linac/io/data/order/windowed_showers.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"

namespace linac::data {
namespace {

std::shared_ptr<const Dataset> first_with_events(const std::vector<FileVersion>& files, const Fields& fields,
                                                 const Preprocessing& preprocessing) {
  for (const FileVersion& file : files)
    if (auto set = Dataset::open_one(file.url, fields, preprocessing); set->size() > 0) return set;
  throw data_error(
      fmt::format("[data] {}: no event in any of {} sums to more than min_sum = {}; check the units: scale is {}",
                  files.front().url, plural(files.size(), "file"), preprocessing.min_sum, preprocessing.scale));
}

}  // namespace

std::shared_ptr<WindowedShowers> windowed_showers(const std::vector<std::string>& urls, const Fields& fields,
                                                  const Preprocessing& preprocessing, int window) {
  std::vector<FileVersion> files = versions_of(urls);
  const auto first = first_with_events(files, fields, preprocessing);
  const EventShape shape = first->shape();
  const std::string like = first->files().front().url;
  WindowedShowers::Opening opening{
      .open =
          [=](const std::string& url) {
            auto set = Dataset::open_one(url, fields, preprocessing);
            if (set->shape() != shape)
              throw data_error(
                  fmt::format("[data] {}: its showers have {} cells, those of {} have {}; train on files of one shape",
                              url, to_string(set->shape()), like, to_string(shape)));
            return set;
          },
      // How many pass min_sum is known when all are read.
      .count = [](const std::string&) { return std::nullopt; }};
  return std::make_shared<WindowedShowers>(std::move(files), window, std::move(opening), first);
}

}  // namespace linac::data
