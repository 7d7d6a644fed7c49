#include "linac/io/data/formats/shower_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <map>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/io/hdf5/handle.h"

namespace linac::data {
namespace {

using hdf5::Handle;

// Higher levels shrink showers by a few per cent more and take several times as long.
constexpr unsigned kGzipLevel = 4;

}  // namespace

class ShowerFileWriter::File {
 public:
  File(const std::filesystem::path& path, const EventShape& shape, const std::vector<std::string>& extra_columns)
      : path_(path), part_(path.string() + fmt::format(".tmp.{}", ::getpid())), shape_(shape) {
    for (const char* name : {"energy", "theta", "eta", "ecal_sum"}) columns_.push_back({name, {}});
    for (const std::string& name : extra_columns) columns_.push_back({name, {}});
    const hdf5::Lock lock;
    file_ = Handle(H5Fcreate(part_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    need(static_cast<bool>(file_), "cannot be created");
    make_images();
  }

  ~File() {
    const hdf5::Lock lock;
    images_.close();
    file_.close();
    if (!in_place_) ::unlink(part_.c_str());
  }

  void append(std::span<const float> ecal_gev, std::span<const float> energy_gev, std::span<const float> theta,
              std::span<const std::vector<float>> extra) {
    const size_t n = energy_gev.size();
    const auto cells = static_cast<size_t>(shape_.cells());
    LINAC_CHECK(ecal_gev.size() == n * cells && theta.size() == n && extra.size() == columns_.size() - kOwnColumns);
    if (n == 0) return;
    append_images(ecal_gev, n);
    for (size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (const float cell : ecal_gev.subspan(i * cells, cells)) sum += cell;
      columns_[0].values.push_back(energy_gev[i]);
      columns_[1].values.push_back(theta[i]);
      columns_[2].values.push_back(static_cast<float>(-std::log(std::tan(theta[i] / 2.0))));
      columns_[3].values.push_back(static_cast<float>(sum));
    }
    for (size_t i = 0; i < extra.size(); ++i) {
      LINAC_CHECK(extra[i].size() == n);
      auto& values = columns_[kOwnColumns + i].values;
      values.insert(values.end(), extra[i].begin(), extra[i].end());
    }
    events_ += n;
  }

  void set_attribute(const std::string& name, const std::string& text) { attributes_[name] = text; }
  int64_t events() const { return static_cast<int64_t>(events_); }

  void close() {
    const hdf5::Lock lock;
    for (const Column& column : columns_) write_column(column);
    for (const auto& [name, text] : attributes_) write_attribute(name, text);
    need(images_.close() >= 0 && file_.close() >= 0, "cannot be completed");
    in_place_ = put_in_place(part_, path_);
    need(in_place_, "cannot be put in its place");
  }

 private:
  struct Column {
    std::string name;
    std::vector<float> values;
  };
  static constexpr size_t kOwnColumns = 4;

  void need(bool holds, const std::string& what) const {
    if (holds) return;
    throw environment_error(fmt::format("[hdf5] {}: {} ({}); check folder, permissions and space", path_.string(), what,
                                        hdf5::last_error()));
  }

  std::vector<hsize_t> image_extent(hsize_t events) const {
    return {events, static_cast<hsize_t>(shape_.x), static_cast<hsize_t>(shape_.y), static_cast<hsize_t>(shape_.z)};
  }

  void make_images() {
    const std::vector<hsize_t> extent = image_extent(0), limit = image_extent(H5S_UNLIMITED), chunk = image_extent(1);
    const Handle space(H5Screate_simple(4, extent.data(), limit.data()), H5Sclose);
    const Handle properties = hdf5::timeless_creation();
    need(H5Pset_chunk(properties.get(), 4, chunk.data()) >= 0 && H5Pset_shuffle(properties.get()) >= 0 &&
             H5Pset_deflate(properties.get(), kGzipLevel) >= 0,
         "cannot be compressed");
    images_ =
        Handle(H5Dcreate2(file_.get(), "ECAL", H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
               H5Dclose);
    need(static_cast<bool>(images_), "ECAL cannot be made");
  }

  void append_images(std::span<const float> ecal_gev, size_t n) {
    const hdf5::Lock lock;
    const std::vector<hsize_t> whole = image_extent(events_ + n), added = image_extent(n), start{events_, 0, 0, 0};
    need(H5Dset_extent(images_.get(), whole.data()) >= 0, "cannot grow");
    const Handle space(H5Dget_space(images_.get()), H5Sclose);
    const Handle memory(H5Screate_simple(4, added.data(), nullptr), H5Sclose);
    need(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, added.data(), nullptr) >= 0 &&
             H5Dwrite(images_.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, ecal_gev.data()) >= 0,
         "ECAL cannot be written");
  }

  void write_column(const Column& column) const {
    const hsize_t size = column.values.size();
    const Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
    const Handle properties = hdf5::timeless_creation();
    const Handle dataset(H5Dcreate2(file_.get(), column.name.c_str(), H5T_IEEE_F32LE, space.get(), H5P_DEFAULT,
                                    properties.get(), H5P_DEFAULT),
                         H5Dclose);
    need(dataset && H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, column.values.data()) >= 0,
         column.name + " cannot be written");
  }

  void write_attribute(const std::string& name, const std::string& text) const {
    need(hdf5::write_text(file_.get(), name, text), "attribute " + name + " cannot be written");
  }

  std::filesystem::path path_, part_;
  EventShape shape_;
  Handle file_, images_;
  std::vector<Column> columns_;
  std::map<std::string, std::string> attributes_;
  hsize_t events_ = 0;
  bool in_place_ = false;
};

ShowerFileWriter::ShowerFileWriter(const std::filesystem::path& path, const EventShape& shape,
                                   const std::vector<std::string>& extra_columns)
    : file_(std::make_unique<File>(path, shape, extra_columns)) {}

ShowerFileWriter::~ShowerFileWriter() = default;

void ShowerFileWriter::append(std::span<const float> ecal_gev, std::span<const float> energy_gev,
                              std::span<const float> theta, std::span<const std::vector<float>> extra) {
  LINAC_CHECK(file_ != nullptr);
  file_->append(ecal_gev, energy_gev, theta, extra);
}

void ShowerFileWriter::set_attribute(const std::string& name, const std::string& text) {
  LINAC_CHECK(file_ != nullptr);
  file_->set_attribute(name, text);
}

int64_t ShowerFileWriter::events() const {
  LINAC_CHECK(file_ != nullptr);
  return file_->events();
}

void ShowerFileWriter::close() {
  LINAC_CHECK(file_ != nullptr);
  file_->close();
  file_.reset();
}

}  // namespace linac::data
