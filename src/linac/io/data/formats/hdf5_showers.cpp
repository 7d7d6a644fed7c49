#include "linac/io/data/formats/hdf5_showers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/data/formats/hdf5_events.h"
#include "linac/io/hdf5/handle.h"

namespace linac::data {
namespace {

using hdf5::Handle;

constexpr hsize_t kEventsMax = hsize_t{1} << 40;
constexpr size_t kChunkCacheMax = size_t{256} << 20;
// Chunks of more events than this make picking single events slow enough to say so.
constexpr hsize_t kEventsPerChunkAdvised = 16;

class Hdf5Showers : public ShowerFile {
 public:
  Hdf5Showers(const std::filesystem::path& path, std::string name, const Fields& fields) : name_(std::move(name)) {
    const hdf5::Lock lock;
    try {
      open(path, fields);
    } catch (...) {
      close();
      throw;
    }
  }
  ~Hdf5Showers() override {
    const hdf5::Lock lock;
    close();
  }

  std::string format() const override { return "hdf5"; }
  int64_t events() const override { return static_cast<int64_t>(image_.shape[0]); }
  EventShape shape() const override { return shape_; }
  Units units() const override { return Units::kRaw; }
  FileIndex index() const override { return {}; }

  void read(int64_t first, int64_t count, ShowerBlock& out) const override {
    LINAC_CHECK(first >= 0 && count >= 0 && first <= events() - count);
    out.resize(count, shape_, Units::kRaw);
    if (count == 0) return;
    const hdf5::Lock lock;
    read_column(image_, first, count, out.image.data());
    read_column(energy_, first, count, out.energy.data());
    read_column(angle_, first, count, out.angle.data());
    read_numbers(first, count, out.numbers);
  }

 private:
  struct Column {
    std::string field;
    Handle dataset;
    std::vector<hsize_t> shape;
  };

  void open(const std::filesystem::path& path, const Fields& fields) {
    file_ = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file_) {
      throw data_error(fmt::format("[hdf5] {}: cannot be opened as HDF5 ({}); copy or write the file again", name_,
                                   hdf5::last_error()));
    }
    image_ = open_column(fields.image, "image");
    energy_ = open_column(fields.energy, "energy");
    angle_ = open_column(fields.angle, "angle");
    check_image_shape();
    for (const std::string& field : fields.numbers) numbers_.push_back(open_column(field, ""));
    std::vector<const Column*> of_one_number{&energy_, &angle_};
    for (const Column& column : numbers_) of_one_number.push_back(&column);
    for (const Column* column : of_one_number) {
      const bool flat = column->shape.size() == 1 || (column->shape.size() == 2 && column->shape[1] == 1);
      if (!flat) {
        throw data_error(
            fmt::format("[hdf5] {}: '{}' has the shape {}, wanted is one number an event; name another with "
                        "data.fields or --field-...",
                        name_, column->field, hdf5::to_string(column->shape)));
      }
      if (column->shape[0] != image_.shape[0]) {
        throw data_error(fmt::format(
            "[hdf5] {}: '{}' holds {} events but '{}' holds {}; the file was cut or mixed up, write it again", name_,
            column->field, column->shape[0], image_.field, image_.shape[0]));
      }
    }
    advise_on_chunks();
  }

  void close() {
    image_.dataset.close();
    energy_.dataset.close();
    angle_.dataset.close();
    numbers_.clear();
    file_.close();
  }

  // `role`: empty for the model's own.
  static std::string way_out(const std::string& role) {
    if (role.empty()) return "the model needs it of each event: choose other data, or name the data set that has it";
    return fmt::format("set data.fields.{} in the job, or give --field-{}", role, role);
  }

  Column open_column(const std::string& field, const std::string& role) {
    Column column{field, {}, {}};
    const std::vector<std::string> found = hdf5::describe_datasets(file_.get());
    if (!field.empty() && H5Lexists(file_.get(), field.c_str(), H5P_DEFAULT) > 0) {
      column.dataset = Handle(H5Dopen2(file_.get(), field.c_str(), access_properties(field).get()), H5Dclose);
    }
    if (!column.dataset) {
      throw data_error(fmt::format("[hdf5] {}: no data set '{}' (found: {}); {}", name_, field,
                                   found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", ")), way_out(role)));
    }
    const Handle type(H5Dget_type(column.dataset.get()), H5Tclose);
    const H5T_class_t kind = H5Tget_class(type.get());
    if (kind != H5T_FLOAT && kind != H5T_INTEGER) {
      throw data_error(fmt::format("[hdf5] {}: '{}' does not hold numbers; {}", name_, field, way_out(role)));
    }
    column.shape = hdf5::shape_of(column.dataset.get());
    if (column.shape.empty()) {
      throw data_error(fmt::format("[hdf5] {}: '{}' holds no list of events; {}", name_, field, way_out(role)));
    }
    return column;
  }

  // A chunk that does not fit the cache is unpacked again for every event of it.
  Handle access_properties(const std::string& field) const {
    Handle properties(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    const Handle dataset(H5Dopen2(file_.get(), field.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset) return properties;
    const Handle creation(H5Dget_create_plist(dataset.get()), H5Pclose);
    const std::vector<hsize_t> shape = hdf5::shape_of(dataset.get());
    std::vector<hsize_t> chunk(shape.size());
    if (shape.empty() || H5Pget_layout(creation.get()) != H5D_CHUNKED) return properties;
    if (H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()) < 0) return properties;
    double bytes = 8 * static_cast<double>(chunk[0]);
    for (size_t axis = 1; axis < chunk.size(); ++axis) {
      bytes *= static_cast<double>((shape[axis] + chunk[axis] - 1) / chunk[axis] * chunk[axis]);
    }
    const double wanted = std::clamp(bytes, static_cast<double>(1 << 20), static_cast<double>(kChunkCacheMax));
    H5Pset_chunk_cache(properties.get(), H5D_CHUNK_CACHE_NSLOTS_DEFAULT, static_cast<size_t>(wanted),
                       H5D_CHUNK_CACHE_W0_DEFAULT);
    return properties;
  }

  void check_image_shape() {
    const std::vector<hsize_t>& shape = image_.shape;
    const auto fail = [&](const char* why) {
      throw data_error(
          fmt::format("[hdf5] {}: '{}' has the shape {} ({}); wanted is [events, x, y, z]; set "
                      "data.fields.image",
                      name_, image_.field, hdf5::to_string(shape), why));
    };
    const bool has_channel = shape.size() == 5 && shape[4] == 1;
    if (shape.size() != 4 && !has_channel) fail("not an image an event");
    if (shape[0] > kEventsMax) fail("more events than can be");
    hsize_t cells = 1;
    for (size_t axis = 1; axis < 4; ++axis) {
      if (shape[axis] == 0) fail("an axis without cells");
      if (shape[axis] > static_cast<hsize_t>(kCellsMax) / cells) fail("more cells than can be");
      cells *= shape[axis];
    }
    shape_ = {static_cast<int64_t>(shape[1]), static_cast<int64_t>(shape[2]), static_cast<int64_t>(shape[3])};
  }

  void advise_on_chunks() const {
    const Handle creation(H5Dget_create_plist(image_.dataset.get()), H5Pclose);
    std::vector<hsize_t> chunk(image_.shape.size());
    if (H5Pget_layout(creation.get()) != H5D_CHUNKED || H5Pget_nfilters(creation.get()) == 0) return;
    if (H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()) < 0) return;
    if (chunk[0] <= kEventsPerChunkAdvised) return;
    log::warn(
        fmt::format("[hdf5] {}: stored in compressed chunks of {} events, so shuffled reading is slow; `linac "
                    "data convert` writes one event a chunk",
                    name_, chunk[0]));
  }

  void read_column(const Column& column, int64_t first, int64_t count, float* out) const {
    if (read_events(column.dataset.get(), column.shape, H5T_NATIVE_FLOAT, first, count, out)) return;
    throw data_error(fmt::format("[hdf5] {}: '{}' cannot be read at events {} to {} ({}); copy or write the file again",
                                 name_, column.field, first, first + count - 1, hdf5::last_error()));
  }

  void read_numbers(int64_t first, int64_t count, std::vector<float>& out) const {
    out.resize(static_cast<size_t>(count) * numbers_.size());
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t k = 0; k < numbers_.size(); ++k) {
      read_column(numbers_[k], first, count, values.data());
      for (size_t i = 0; i < values.size(); ++i) out[i * numbers_.size() + k] = values[i];
    }
  }

  std::string name_;
  Handle file_;
  Column image_, energy_, angle_;
  std::vector<Column> numbers_;
  EventShape shape_;
};

}  // namespace

std::unique_ptr<const ShowerFile> open_hdf5_showers(const std::filesystem::path& path, const std::string& name,
                                                    const Fields& fields, const std::optional<FileIndex>& /*index*/) {
  return std::make_unique<Hdf5Showers>(path, name, fields);
}

}  // namespace linac::data
