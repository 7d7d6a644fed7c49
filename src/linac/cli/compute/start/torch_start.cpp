// A start of this program is LibTorch's: it registers the kernels of its operators before main(). This definition takes
// the place of its own function that registers one, and leaves out what is never reached here: kernels that record a
// trace, that make operations functional for torch.compile, and that are vmap's; and the comparison of each kernel's
// arguments with its operator's, as the library is whole. A fifth of a start (docs/internals/minutes.md). Operators of
// others are registered as ever.
//
// The loader looks into the program first. Where it does not, as in a LibTorch that is linked otherwise, all is
// registered.

#include <dlfcn.h>
#include <torch/library.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace torch {
namespace {

// By the rules of names of the Itanium ABI.
constexpr const char* kOriginal = "_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE";
using Original = Library& (*)(Library*, const char*, CppFunction&&, _RegisterOrVerify);

Original original() {
  void* const found = dlsym(RTLD_NEXT, kOriginal);
  if (found == nullptr) {
    std::fputs("linac: this LibTorch has no torch::Library::_impl; build linac with the one it runs with\n", stderr);
    std::_Exit(4);  // ErrorCode::kEnvironment
  }
  return reinterpret_cast<Original>(found);
}

bool is_reached(c10::DispatchKey key) {
  return key != c10::DispatchKey::Tracer && key != c10::DispatchKey::Functionalize &&
         key != c10::DispatchKey::FuncTorchBatched && key != c10::DispatchKey::BatchedNestedTensor;
}

}  // namespace

// Of the same library and version, so its members may be touched.
Library& Library::_impl(const char* name, CppFunction&& kernel, _RegisterOrVerify verify) & {
  static const Original register_it = original();
  if (ns_ == "aten") {
    const auto key = kernel.dispatch_key_ ? kernel.dispatch_key_ : dispatch_key_;
    if (key && !is_reached(*key)) return *this;
    kernel.schema_.reset();
  }
  return register_it(this, name, std::move(kernel), verify);
}

}  // namespace torch
