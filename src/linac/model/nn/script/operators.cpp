#include "linac/model/nn/script/operators.h"

#include <fmt/format.h>

#include <set>

namespace linac::nn::script {

bool is_fact(std::string_view name) {
  static const std::set<std::string_view> kFacts{"prim::dtype",
                                                 "prim::device",
                                                 "prim::layout",
                                                 "prim::is_cuda",
                                                 "prim::is_nested",
                                                 "prim::is_sparse",
                                                 "prim::requires_grad",
                                                 "prim::is_quantized",
                                                 "prim::is_mkldnn",
                                                 "prim::is_mps",
                                                 "aten::dim",
                                                 "aten::numel",
                                                 "aten::is_floating_point",
                                                 "aten::is_complex",
                                                 "aten::__is__",
                                                 "aten::__isnot__",
                                                 "aten::is_contiguous",
                                                 "aten::get_device",
                                                 "prim::ndim",
                                                 "aten::len"};
  return kFacts.contains(name);
}

bool hands_on(std::string_view name) {
  static const std::set<std::string_view> kNames{"prim::unchecked_cast", "prim::unchecked_unwrap_optional",
                                                 "aten::_unwrap_optional"};
  return kNames.contains(name);
}

bool changes_kind(std::string_view name) {
  static const std::set<std::string_view> kNames{"prim::NumToTensor", "aten::Int", "aten::IntImplicit",
                                                 "aten::ScalarImplicit", "aten::scalar_tensor"};
  return kNames.contains(name);
}

std::string target_of(const c10::FunctionSchema& schema) {
  std::string name = schema.name().substr(schema.name().find("::") + 2), overload = schema.overload_name();
  static const std::set<std::string> kScalars{"add", "add_", "sub", "sub_", "div", "div_"};
  if (overload == "Scalar" && kScalars.contains(name)) overload = "Tensor";
  if (name == "_convolution") name = "convolution", overload = "";
  if (name == "to") overload = "dtype";
  return fmt::format("torch.ops.aten.{}.{}", name, overload.empty() ? "default" : overload);
}

}  // namespace linac::nn::script
