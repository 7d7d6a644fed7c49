#include <algorithm>
#include <limits>

#include "linac/model/onnx/aten/call.h"

namespace linac::onnx::aten {
namespace {

template <const char* Argument>
void same(const Call& call) {
  const Tensor x = call.tensor(Argument);
  call.result(call.emit.cast(x.name, x.type, call.result_type()));
}

// A size that follows from the events is what remains of the others, or is computed.
void reshape(const Call& call) {
  const std::string x = call.tensor("self").name;
  std::vector<Number> sizes = call.numbers(call.has("size") ? "size" : "shape");
  const auto open = [](const Number& size) { return !size.value; };
  const bool has_rest = std::any_of(sizes.begin(), sizes.end(), [](const Number& size) { return size.value == -1; });
  if (!has_rest && std::count_if(sizes.begin(), sizes.end(), open) == 1)
    *std::find_if(sizes.begin(), sizes.end(), open) = {-1, ""};
  call.result(call.emit.op("Reshape", {x, call.shape_of(sizes)}, {{"allowzero", int64_t{0}}}));
}

// Of sizes that the file states, one of which may be that of the events.
std::string to_shape(const Call& call, const std::string& x, const std::vector<pt2::Extent>& shape) {
  Shape sizes;
  for (const pt2::Extent& extent : shape) {
    const auto* const size = std::get_if<int64_t>(&extent);
    sizes.push_back(size == nullptr ? -1 : *size);
  }
  if (std::count(sizes.begin(), sizes.end(), -1) > 1) call.refuse("gives two sizes that depend on the events");
  return call.emit.reshape(x, sizes);
}

void restated(const Call& call) {
  call.result(to_shape(call, call.tensor("self").name, call.info().shape));
}

void permute(const Call& call) {
  const Tensor x = call.tensor("self");
  call.result(call.emit.transpose(x.name, call.axes("dims", x.rank())));
}

std::string swapped(const Call& call, const Tensor& x, int64_t first, int64_t second) {
  Shape axes;
  for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  std::swap(axes[static_cast<size_t>(first)], axes[static_cast<size_t>(second)]);
  return call.emit.transpose(x.name, axes);
}

void transpose(const Call& call) {
  const Tensor x = call.tensor("self");
  call.result(swapped(call, x, call.axis("dim0", x.rank()), call.axis("dim1", x.rank())));
}

void matrix_transpose(const Call& call) {
  const Tensor x = call.tensor("self");
  call.result(x.rank() < 2 ? x.name : swapped(call, x, 0, 1));
}

void unsqueeze(const Call& call) {
  const Tensor x = call.tensor("self");
  call.result(call.emit.unsqueeze(x.name, {call.axis("dim", x.rank() + 1)}));
}

// Axes of another extent than 1 stay.
void squeeze(const Call& call) {
  const Tensor x = call.tensor("self");
  Shape axes;
  for (const int64_t axis : call.axes("dim", x.rank())) {
    const pt2::Extent& extent = x.shape[static_cast<size_t>(axis)];
    if (std::holds_alternative<int64_t>(extent) && std::get<int64_t>(extent) == 1) axes.push_back(axis);
  }
  call.result(axes.empty() ? x.name : call.emit.squeeze(x.name, axes));
}

Emitter::Names names_of(const Call& call) {
  const Type type = call.result_type();
  Emitter::Names names;
  for (const auto& each : call.tensors("tensors")) {
    if (!each) call.refuse("takes none in its list");
    names.push_back(call.emit.cast(each->name, each->type, type));
  }
  return names;
}

void concatenate(const Call& call) {
  const auto rank = static_cast<int64_t>(call.info().shape.size());
  call.result(call.emit.op("Concat", names_of(call), {{"axis", call.axis("dim", rank, 0)}}));
}

void stack(const Call& call) {
  const auto rank = static_cast<int64_t>(call.info().shape.size());
  const int64_t axis = call.axis("dim", rank, 0);
  Emitter::Names names = names_of(call);
  for (std::string& name : names) name = call.emit.unsqueeze(name, {axis});
  call.result(call.emit.op("Concat", names, {{"axis", axis}}));
}

std::string sliced(const Call& call, const std::string& x, int64_t axis, const Number& start, const Number& end,
                   int64_t step) {
  Emitter& emit = call.emit;
  return emit.op("Slice", {x, call.tensor_of(start), call.tensor_of(end), emit.ints({axis}), emit.ints({step})});
}

void slice(const Call& call) {
  const Tensor x = call.tensor("self");
  const Number start = call.has("start") ? call.number("start") : Number{0, ""};
  const Number end = call.has("end") ? call.number("end") : Number{std::numeric_limits<int64_t>::max(), ""};
  call.result(sliced(call, x.name, call.axis("dim", x.rank(), 0), start, end, call.integer("step", 1)));
}

void select(const Call& call) {
  const Tensor x = call.tensor("self");
  const std::string place = call.emit.squeeze(call.tensor_of(call.number("index")), {0});
  call.result(call.emit.op("Gather", {x.name, place}, {{"axis", call.axis("dim", x.rank())}}));
}

// Pieces of these sizes along an axis.
void pieces(const Call& call, const Tensor& x, int64_t axis, const Shape& sizes) {
  std::vector<std::string> all;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    all.push_back(sliced(call, x.name, axis, {begin, ""}, {begin + size, ""}, 1));
    begin += size;
  }
  call.results(all);
}

int64_t extent_of(const Call& call, const Tensor& x, int64_t axis) {
  const auto* const extent = std::get_if<int64_t>(&x.shape[static_cast<size_t>(axis)]);
  if (extent == nullptr) call.refuse("splits the axis of the events");
  return *extent;
}

Shape equal_pieces(int64_t extent, int64_t size) {
  Shape sizes;
  for (int64_t begin = 0; begin < extent; begin += size) sizes.push_back(std::min(size, extent - begin));
  return sizes;
}

void split(const Call& call) {
  const Tensor x = call.tensor("self");
  const int64_t axis = call.axis("dim", x.rank(), 0), size = call.integer("split_size");
  if (size < 1) call.refuse("'split_size' is below 1");
  pieces(call, x, axis, equal_pieces(extent_of(call, x, axis), size));
}

void chunk(const Call& call) {
  const Tensor x = call.tensor("self");
  const int64_t axis = call.axis("dim", x.rank(), 0), extent = extent_of(call, x, axis), count = call.integer("chunks");
  if (count < 1) call.refuse("'chunks' is below 1");
  pieces(call, x, axis, equal_pieces(extent, std::max<int64_t>(1, (extent + count - 1) / count)));
}

void split_with_sizes(const Call& call) {
  const Tensor x = call.tensor("self");
  pieces(call, x, call.axis("dim", x.rank(), 0), call.integers("split_sizes", {}));
}

void unbind(const Call& call) {
  const Tensor x = call.tensor("self");
  const int64_t axis = call.axis("dim", x.rank(), 0);
  std::vector<std::string> all;
  for (int64_t i = 0; i < extent_of(call, x, axis); ++i)
    all.push_back(
        call.emit.op("Gather", {x.name, call.emit.scalar(static_cast<double>(i), Type::kInt64)}, {{"axis", axis}}));
  call.results(all);
}

// -1: as it is; ONNX says 1.
void expand(const Call& call) {
  std::vector<Number> sizes = call.numbers("size");
  for (Number& size : sizes)
    if (size.value == -1) size.value = 1;
  call.result(call.emit.op("Expand", {call.tensor("self").name, call.shape_of(sizes)}));
}

// x[:, places]: one list of places among full axes.
void index(const Call& call) {
  const auto places = call.tensors("indices");
  int64_t axis = -1;
  for (size_t i = 0; i < places.size(); ++i) {
    if (!places[i]) continue;
    if (axis >= 0 || places[i]->type == Type::kBool) call.refuse("is written for one list of places alone");
    axis = static_cast<int64_t>(i);
  }
  if (axis < 0) return call.result(call.tensor("self").name);
  call.result(
      call.emit.op("Gather", {call.tensor("self").name, places[static_cast<size_t>(axis)]->name}, {{"axis", axis}}));
}

void index_select(const Call& call) {
  const Tensor x = call.tensor("self");
  call.result(call.emit.op("Gather", {x.name, call.tensor("index").name}, {{"axis", call.axis("dim", x.rank())}}));
}

std::string filled(const Call& call, const std::string& shape, double value) {
  return call.emit.op("Expand", {call.emit.scalar(value, call.result_type()), shape});
}

template <int Value>
void like(const Call& call) {
  call.result(filled(call, call.emit.op("Shape", {call.tensor("self").name}), Value));
}

template <int Value>
void constants(const Call& call) {
  call.result(filled(call, call.shape_of(call.numbers("size")), Value));
}

void full(const Call& call) {
  call.result(filled(call, call.shape_of(call.numbers("size")), call.real("fill_value")));
}

void scalar(const Call& call) {
  call.result(call.emit.scalar(call.real("s"), call.result_type()));
}

void full_like(const Call& call) {
  call.result(filled(call, call.emit.op("Shape", {call.tensor("self").name}), call.real("fill_value")));
}

// Checks that the export has put in; ONNX has none.
void nothing(const Call&) {}

constexpr char kSelf[] = "self", kInput[] = "input";

}  // namespace

std::vector<NamedFunction> shapes() {
  return {
      {"view.default", reshape},
      {"reshape.default", reshape},
      {"flatten.using_ints", restated},
      {"unflatten.int", restated},
      {"permute.default", permute},
      {"transpose.int", transpose},
      {"t.default", matrix_transpose},
      {"unsqueeze.default", unsqueeze},
      {"squeeze.default", squeeze},
      {"squeeze.dim", squeeze},
      {"squeeze.dims", squeeze},
      {"cat.default", concatenate},
      {"stack.default", stack},
      {"slice.Tensor", slice},
      {"select.int", select},
      {"split.Tensor", split},
      {"split_with_sizes.default", split_with_sizes},
      {"chunk.default", chunk},
      {"unbind.int", unbind},
      {"expand.default", expand},
      {"index.Tensor", index},
      {"index_select.default", index_select},
      {"zeros_like.default", like<0>},
      {"ones_like.default", like<1>},
      {"zeros.default", constants<0>},
      {"ones.default", constants<1>},
      {"full.default", full},
      {"scalar_tensor.default", scalar},
      {"full_like.default", full_like},
      {"clone.default", same<kSelf>},
      {"contiguous.default", same<kSelf>},
      {"alias.default", same<kSelf>},
      {"detach.default", same<kSelf>},
      {"detach_.default", same<kSelf>},
      {"lift_fresh_copy.default", same<kSelf>},
      {"to.dtype", same<kSelf>},
      {"to.dtype_layout", same<kSelf>},
      {"to.device", same<kSelf>},
      {"type_as.default", same<kSelf>},
      {"_to_copy.default", same<kSelf>},
      {"_assert_tensor_metadata.default", nothing},
  };
}

}  // namespace linac::onnx::aten
