// A data set a column, GROUP/NAME in a group: arrays [events, ...], lists as hdf5_lists.h has them, texts as strings of
// variable length, booleans as h5py's.

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/batches/batch_writer.h"
#include "linac/io/data/formats/batches/column_form.h"
#include "linac/io/data/formats/batches/hdf5_types.h"
#include "linac/io/data/formats/hdf5_lists.h"

namespace linac::data {
namespace {

using hdf5::Handle;
using Extents = std::vector<hsize_t>;

constexpr int64_t kChunkBytes = int64_t{128} << 10;  // HDF5 keeps chunks of up to 1 MiB until they are full
constexpr int64_t kChunkElementsMax = 16384;
constexpr unsigned kGzipLevel = 4;  // higher ones take several times as long for a few per cent

/// A data set in the making.
struct Set {
  Handle type, set;
  Extents element;       // along the first axis
  hsize_t elements = 0;  // written
};

struct Column {
  explicit Column(const arrow::Field& field) : flat(field.name(), field.type(), "HDF5") {}

  FlatColumn flat;
  Set values;  // made once the size of its rows is known
  Set rows;    // of lists: how many each event has

  bool is_text() const { return flat.form().kind == LeafKind::kTexts || flat.form().kind == LeafKind::kBytes; }
};

class Hdf5Writer : public BatchWriter {
 public:
  Hdf5Writer(const std::filesystem::path& path, const std::shared_ptr<arrow::Schema>& schema) : BatchWriter(path) {
    const hdf5::Lock lock;
    try {
      file_ = Handle(H5Fcreate(part().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
      need(static_cast<bool>(file_));
      for (const auto& field : schema->fields()) {
        Column& column = columns_.emplace_back(*field);
        if (column.flat.form().is_list) make_rows(column);
        if (column.flat.has_extents()) make_values(column);
      }
    } catch (...) {  // no destructor follows
      close_all();
      throw;
    }
  }

  ~Hdf5Writer() override {
    const hdf5::Lock lock;
    close_all();
  }

 protected:
  void write(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& from) override {
    for (size_t i = 0; i < columns_.size(); ++i) {
      Column& column = columns_[i];
      column.flat.take(batch->column(static_cast<int>(i)), events(), from);
      const hdf5::Lock lock;
      if (column.is_text()) {
        write_texts(column);
        continue;
      }
      if (column.flat.values().length() > 0) write_numbers(column);
      if (column.flat.form().is_list) write_rows(column);
    }
  }

  void finish() override {
    const hdf5::Lock lock;
    for (Column& column : columns_) {
      if (!column.values.set) make_values(column);
      need(column.values.set.close() >= 0 && column.rows.set.close() >= 0);
    }
    need(group_.close() >= 0 && file_.close() >= 0);
  }

 private:
  void close_all() {
    columns_.clear();
    group_.close();
    file_.close();
  }

  void need(bool holds) const {
    if (!holds) fail(hdf5::last_error());
  }

  void make_values(Column& column) const {
    const ColumnForm& form = column.flat.form();
    Set& set = column.values;
    set.element.assign(form.extents.begin(), form.extents.end());
    std::ranges::replace(set.element, hsize_t{0}, hsize_t{1});  // no event has a row
    if (column.is_text()) {
      set.type = Handle(H5Tcopy(H5T_C_S1), H5Tclose);
      H5Tset_size(set.type.get(), H5T_VARIABLE);
      H5Tset_cset(set.type.get(), form.kind == LeafKind::kTexts ? H5T_CSET_UTF8 : H5T_CSET_ASCII);
    } else {
      set.type = hdf5_type_of(*form.leaf);
    }
    // Chunks of texts hold places of texts only, and HDF5 refuses checksums for them.
    make(set, file_.get(), column.flat.name(), column.is_text() ? Filters::kNone : Filters::kAll);
  }

  void make_rows(Column& column) {
    if (!group_) {
      group_ = Handle(H5Gcreate2(file_.get(), kEventRows, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
      need(static_cast<bool>(group_));
    }
    column.rows.type = Handle(H5Tcopy(H5T_STD_U32LE), H5Tclose);
    make(column.rows, group_.get(), column.flat.name(), Filters::kAll);
  }

  enum class Filters { kNone, kAll };

  void make(Set& set, hid_t place, const std::string& name, Filters filters) const {
    Extents shape = shape_of(set, 0), limit = shape_of(set, H5S_UNLIMITED), chunk = shape_of(set, 1);
    auto element_bytes = static_cast<int64_t>(H5Tget_size(set.type.get()));
    for (const hsize_t extent : set.element) element_bytes *= static_cast<int64_t>(extent);
    chunk[0] = static_cast<hsize_t>(std::clamp(kChunkBytes / element_bytes, int64_t{1}, kChunkElementsMax));
    const auto rank = static_cast<int>(limit.size());
    const Handle space(H5Screate_simple(rank, shape.data(), limit.data()), H5Sclose);
    const Handle creation = hdf5::timeless_creation(), link(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    need(H5Pset_chunk(creation.get(), rank, chunk.data()) >= 0 &&
         H5Pset_char_encoding(link.get(), H5T_CSET_UTF8) >= 0 && H5Pset_create_intermediate_group(link.get(), 1) >= 0);
    if (filters == Filters::kAll)
      need(H5Pset_shuffle(creation.get()) >= 0 && H5Pset_deflate(creation.get(), kGzipLevel) >= 0 &&
           H5Pset_fletcher32(creation.get()) >= 0);
    set.set =
        Handle(H5Dcreate2(place, name.c_str(), set.type.get(), space.get(), link.get(), creation.get(), H5P_DEFAULT),
               H5Dclose);
    need(static_cast<bool>(set.set));
  }

  static Extents shape_of(const Set& set, hsize_t elements) {
    Extents shape{elements};
    shape.insert(shape.end(), set.element.begin(), set.element.end());
    return shape;
  }

  /// `values`: of the next elements, as the set's type has them.
  void append(Set& set, hsize_t count, const void* values) const {
    need(H5Dset_extent(set.set.get(), shape_of(set, set.elements + count).data()) >= 0);
    const Extents extent = shape_of(set, count);
    Extents start(extent.size(), 0);
    start[0] = set.elements;
    const Handle space(H5Dget_space(set.set.get()), H5Sclose);
    const Handle memory(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose);
    need(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr) >= 0 &&
         H5Dwrite(set.set.get(), set.type.get(), memory.get(), space.get(), H5P_DEFAULT, values) >= 0);
    set.elements += count;
  }

  void write_numbers(Column& column) const {
    if (!column.values.set) make_values(column);
    const arrow::Array& values = column.flat.values();
    const auto elements = static_cast<hsize_t>(values.length() / column.flat.row_values());
    if (values.type_id() == arrow::Type::BOOL) {
      const auto& booleans = static_cast<const arrow::BooleanArray&>(values);
      std::vector<int8_t> bytes;
      for (int64_t i = 0; i < booleans.length(); ++i) bytes.push_back(booleans.Value(i) ? 1 : 0);
      return append(column.values, elements, bytes.data());
    }
    const arrow::ArrayData& data = *values.data();
    append(column.values, elements, data.buffers[1]->data() + data.offset * values.type()->byte_width());
  }

  void write_rows(Column& column) const {
    const std::vector<int64_t>& starts = column.flat.starts();
    std::vector<uint32_t> rows;
    for (size_t event = 0; event + 1 < starts.size(); ++event)
      rows.push_back(static_cast<uint32_t>((starts[event + 1] - starts[event]) / column.flat.row_values()));
    append(column.rows, rows.size(), rows.data());
  }

  void write_texts(Column& column) const {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < column.flat.values().length(); ++i) {
      texts.emplace_back(column.flat.text(i));
      if (texts.back().find('\0') != std::string::npos) column.flat.refuse(i, "holds a text with a zero byte");
    }
    std::vector<const char*> begins;
    for (const std::string& text : texts) begins.push_back(text.c_str());
    append(column.values, begins.size(), begins.data());
  }

  Handle file_, group_;
  std::vector<Column> columns_;
};

}  // namespace

std::unique_ptr<BatchWriter> open_hdf5_writer(const std::filesystem::path& path,
                                              const std::shared_ptr<arrow::Schema>& schema) {
  return std::make_unique<Hdf5Writer>(path, schema);
}

}  // namespace linac::data
