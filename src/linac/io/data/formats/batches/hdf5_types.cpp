#include "linac/io/data/formats/batches/hdf5_types.h"

#include "linac/base/base/error.h"

namespace linac::data {
namespace {

using arrow::Type;
using hdf5::Handle;

std::shared_ptr<arrow::DataType> integer_type(size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? arrow::int8() : arrow::uint8();
    case 2:
      return is_signed ? arrow::int16() : arrow::uint16();
    case 4:
      return is_signed ? arrow::int32() : arrow::uint32();
    case 8:
      return is_signed ? arrow::int64() : arrow::uint64();
    default:
      return nullptr;
  }
}

Handle copied(hid_t type) {
  return {H5Tcopy(type), H5Tclose};
}

}  // namespace

std::shared_ptr<arrow::DataType> arrow_type_of(hid_t stored) {
  const size_t bytes = H5Tget_size(stored);
  if (hdf5::is_boolean(stored)) return arrow::boolean();
  // PyTables' booleans. They are one bit in a byte.
  if (H5Tget_class(stored) == H5T_BITFIELD) return bytes == 1 ? arrow::boolean() : nullptr;
  if (H5Tget_class(stored) == H5T_ENUM) {
    const Handle integer(H5Tget_super(stored), H5Tclose);
    return integer_type(bytes, H5Tget_sign(integer.get()) != H5T_SGN_NONE);
  }
  if (H5Tget_class(stored) == H5T_INTEGER) return integer_type(bytes, H5Tget_sign(stored) != H5T_SGN_NONE);
  if (H5Tget_class(stored) != H5T_FLOAT) return nullptr;
  if (bytes == 4) return arrow::float32();
  if (bytes == 8) return arrow::float64();
  return hdf5::is_half(stored) ? arrow::float16() : nullptr;
}

Handle hdf5_type_of(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::BOOL:
      return hdf5::boolean_type();
    case Type::HALF_FLOAT:
      return hdf5::half_type();
    case Type::FLOAT:
      return copied(H5T_IEEE_F32LE);
    case Type::DOUBLE:
      return copied(H5T_IEEE_F64LE);
    case Type::INT8:
      return copied(H5T_STD_I8LE);
    case Type::INT16:
      return copied(H5T_STD_I16LE);
    case Type::INT32:
      return copied(H5T_STD_I32LE);
    case Type::INT64:
      return copied(H5T_STD_I64LE);
    case Type::UINT8:
      return copied(H5T_STD_U8LE);
    case Type::UINT16:
      return copied(H5T_STD_U16LE);
    case Type::UINT32:
      return copied(H5T_STD_U32LE);
    default:
      LINAC_CHECK(type.id() == Type::UINT64);
      return copied(H5T_STD_U64LE);
  }
}

}  // namespace linac::data
