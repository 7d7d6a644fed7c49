#include "linac/train/validate/shower_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "linac/io/data/dataset.h"

namespace linac::validate {
namespace {

data::Preprocessing everything() {
  data::Preprocessing preprocessing;
  preprocessing.min_sum = -1;  // an empty shower is a shower too
  return preprocessing;
}

class FileShowers : public ShowerSource {
 public:
  FileShowers(const std::vector<std::string>& urls, const data::Fields& fields)
      : name_(fmt::format("{}", fmt::join(urls, ", "))), dataset_(data::Dataset::open(urls, fields, everything())) {}

  std::string name() const override { return name_; }
  int64_t events() const override { return dataset_->size(); }
  EventShape shape() const override { return dataset_->shape(); }
  Range energies_gev() const override { return dataset_->energies_gev(); }
  Range angles() const override { return dataset_->angles(); }

  std::vector<std::pair<std::string, std::string>> facts() const override {
    std::vector<std::pair<std::string, std::string>> facts;
    for (const data::FileReport& file : dataset_->files())
      facts.emplace_back(file.url, fmt::format("{} showers, XXH3 {}", file.events, file.fingerprint));
    return facts;
  }

  void each(const Use& use) const override {
    data::ShowerBlock block;
    for (int64_t event = 0; event < dataset_->size(); ++event) {
      dataset_->read_stored(event, block);
      data::convert_units(dataset_->preprocessing(), block, data::Units::kRaw);
      use(block.image, static_cast<double>(block.energy[0]), static_cast<double>(block.angle[0]));
    }
  }

 private:
  std::string name_;
  std::shared_ptr<const data::Dataset> dataset_;
};

}  // namespace

std::unique_ptr<const ShowerSource> open_showers(const std::vector<std::string>& urls, const data::Fields& fields) {
  return std::make_unique<FileShowers>(urls, fields);
}

}  // namespace linac::validate
