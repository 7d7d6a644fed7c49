// A start of this program is LibTorch's: it registers its operators before main(), some three thousand of them, with
// their schemas parsed and their tables of kernels made; of these a training asks for a hundred. The definitions here
// take the place of LibTorch's own functions. Those by which its initialisers register operators of the namespace aten
// keep what is told, and those by which anybody asks for an operator let it be registered then, by the functions that
// they took the place of. Kernels that are never reached here, of traces, of torch.compile and of vmap, are left out.
// Two thirds of a start (docs/internals/minutes.md). TorchScript looks for operators by what they take: for it all are
// registered, when it asks first. Operators of others are registered as ever.
//
// The loader looks into the program first. Where it does not, as in a LibTorch that is linked otherwise, all is
// registered at once.

#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "linac/cli/compute/start/waiting_operators.h"

namespace linac::start {
namespace {

[[noreturn]] void end(const char* what) {
  std::fprintf(stderr, "linac: this LibTorch %s; build linac with the one it runs with\n", what);
  std::_Exit(4);  // ErrorCode::kEnvironment
}

// Names follow the rules of the Itanium ABI.
template <typename Function>
Function original(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) end(name);
  return reinterpret_cast<Function>(found);
}

using ParseSchema = c10::FunctionSchema (*)(const std::string&, bool);
using Define = torch::Library& (*)(torch::Library*, c10::FunctionSchema&&, c10::OperatorName*,
                                   const std::vector<at::Tag>&, torch::_RegisterOrVerify);
using Implement = torch::Library& (*)(torch::Library*, const char*, torch::CppFunction&&, torch::_RegisterOrVerify);

c10::FunctionSchema parse(const std::string& schema, bool allow_typevars) {
  static const auto parse_it =
      original<ParseSchema>("_ZN5torch3jit11parseSchemaERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEb");
  return parse_it(schema, allow_typevars);
}

void define(torch::Library* library, c10::FunctionSchema&& schema, c10::OperatorName* name,
            const std::vector<at::Tag>& tags, torch::_RegisterOrVerify verify) {
  static const auto define_it = original<Define>(
      "_ZNR5torch7Library4_defEON3c1014FunctionSchemaEPNS1_12OperatorNameERKSt6vectorIN2at3TagESaIS8_EENS_17_"
      "RegisterOrVerifyE");
  define_it(library, std::move(schema), name, tags, verify);
}

void implement(torch::Library* library, const char* name, torch::CppFunction&& kernel,
               torch::_RegisterOrVerify verify) {
  static const auto implement_it =
      original<Implement>("_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE");
  implement_it(library, name, std::move(kernel), verify);
}

// `settings`: of a schema whose text was not parsed.
c10::FunctionSchema parsed(const std::string& text, const c10::FunctionSchema& settings) {
  c10::FunctionSchema schema = parse(text, false);
  if (!settings.isDefaultAliasAnalysisKind()) schema.setAliasAnalysis(settings.aliasAnalysis());
  return schema;
}

WaitingOperators& waiting() {
  static auto* const operators = new WaitingOperators(
      [](WaitingDefinition&& one) {
        define(one.library, parsed(one.schema, one.settings), nullptr, one.tags, one.verify);
      },
      [](WaitingKernel&& one) { implement(one.library, one.name.c_str(), std::move(one.kernel), one.verify); });
  return *operators;
}

// Until the initialisers of this program run, which follow those of all its libraries: one thread.
constinit bool libraries_start = true;
// The text of a schema that was not parsed, until the definition that asked for it comes.
std::optional<std::string>& unparsed() {
  static std::optional<std::string> text;
  return text;
}

const bool libraries_have_started = [] {
  if (unparsed()) end("parses schemas otherwise");
  return !std::exchange(libraries_start, false);
}();

bool has_namespace(const std::string& schema) {
  const size_t colons = schema.find("::");
  return colons != std::string::npos && colons < schema.find('(');
}

bool is_reached(c10::DispatchKey key) {
  return key != c10::DispatchKey::Tracer && key != c10::DispatchKey::Functionalize &&
         key != c10::DispatchKey::FuncTorchBatched && key != c10::DispatchKey::BatchedNestedTensor;
}

std::string to_text(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + '.' + name.overload_name;
}

void asks_for(const c10::OperatorName& name) {
  if (name.name.starts_with("aten::")) waiting().register_one(to_text(name));
}

}  // namespace
}  // namespace linac::start

namespace torch {

using namespace linac::start;  // NOLINT: the functions below are LibTorch's by name alone

// Of the same library and version, so members may be touched.
Library& Library::_def(c10::FunctionSchema&& schema, c10::OperatorName* name, const std::vector<at::Tag>& tags,
                       _RegisterOrVerify verify) & {
  std::optional<std::string> text = std::exchange(unparsed(), std::nullopt);
  if (text && ns_ == "aten" && name == nullptr) {
    waiting().add(WaitingDefinition{this, std::move(*text), std::move(schema), tags, verify});
  } else {
    define(this, text ? parsed(*text, schema) : std::move(schema), name, tags, verify);
  }
  return *this;
}

Library& Library::_impl(const char* name, CppFunction&& kernel, _RegisterOrVerify verify) & {
  if (ns_ != "aten") {
    implement(this, name, std::move(kernel), verify);
    return *this;
  }
  const auto key = kernel.dispatch_key_ ? kernel.dispatch_key_ : dispatch_key_;
  if (key && !is_reached(*key)) {
    if (libraries_start) waiting().mention(name);
    return *this;
  }
  kernel.schema_.reset();  // the library is whole, so it need not be compared with its operator's
  if (libraries_start) {
    waiting().add(WaitingKernel{this, name, std::move(kernel), verify});
  } else {
    waiting().register_one(name);
    implement(this, name, std::move(kernel), verify);
  }
  return *this;
}

namespace jit {

c10::FunctionSchema parseSchema(const std::string& schema, bool allow_typevars) {
  if (!libraries_start || allow_typevars || has_namespace(schema)) return parse(schema, allow_typevars);
  if (unparsed()) end("parses schemas otherwise");
  unparsed() = schema;
  return {"", "", {}, {}};
}

using Operators = std::vector<std::shared_ptr<Operator>>;

const Operators& found_for(c10::Symbol name) {
  static const auto get =
      original<const Operators& (*)(c10::Symbol)>("_ZN5torch3jit18getAllOperatorsForEN3c106SymbolE");
  return get(name);
}

// TorchScript takes the first operator of a name that fits. So all of them come into the order that they have where
// all are registered at a start: those of the dispatcher by their first mention, then its own.
void order_for_script() {
  std::unordered_map<std::string, size_t> places;
  for (std::string& name : waiting().names()) places.emplace("aten::" + std::move(name), places.size());
  const auto place_of = [&](const std::shared_ptr<Operator>& one) {
    const c10::OperatorName& name = one->schema().operator_name();
    const auto found = one->isC10Op() ? places.find(to_text(name)) : places.end();
    return found == places.end() ? places.size() : found->second;
  };
  std::unordered_set<std::string> done;
  for (const auto& [name, place] : places) {
    const std::string plain = name.substr(0, name.find('.'));
    if (!done.insert(plain).second) continue;
    auto& found = const_cast<Operators&>(found_for(c10::Symbol::fromQualString(plain)));  // nobody has it yet
    std::ranges::stable_sort(found, {}, place_of);
  }
}

void register_for_script() {
  static std::once_flag once;
  std::call_once(once, [] {
    waiting().register_all();
    order_for_script();
  });
}

const Operators& getAllOperatorsFor(c10::Symbol name) {
  register_for_script();
  return found_for(name);
}

Operators getAllSortedOperatorsFor(c10::Symbol name) {
  static const auto get = original<Operators (*)(c10::Symbol)>("_ZN5torch3jit24getAllSortedOperatorsForEN3c106SymbolE");
  register_for_script();
  return get(name);
}

const Operators getAllOperators() {
  static const auto get = original<Operators (*)()>("_ZN5torch3jit15getAllOperatorsEv");
  register_for_script();
  return get();
}

std::shared_ptr<Operator> findOperatorFor(const c10::OperatorName& name) {
  static const auto find = original<std::shared_ptr<Operator> (*)(const c10::OperatorName&)>(
      "_ZN5torch3jit15findOperatorForERKN3c1012OperatorNameE");
  register_for_script();
  return find(name);
}

std::shared_ptr<Operator> getOperatorForLiteral(const char* schema) {
  static const auto get =
      original<std::shared_ptr<Operator> (*)(const char*)>("_ZN5torch3jit21getOperatorForLiteralEPKc");
  register_for_script();
  return get(schema);
}

std::vector<c10::Symbol> findSimilarOperators(c10::Symbol name) {
  static const auto find =
      original<std::vector<c10::Symbol> (*)(c10::Symbol)>("_ZN5torch3jit20findSimilarOperatorsEN3c106SymbolE");
  register_for_script();
  return find(name);
}

}  // namespace jit
}  // namespace torch

namespace c10 {

using namespace linac::start;  // NOLINT: as above

OperatorHandle Dispatcher::findSchemaOrThrow(const char* name, const char* overload) {
  static const auto find = original<OperatorHandle (*)(Dispatcher*, const char*, const char*)>(
      "_ZN3c1010Dispatcher17findSchemaOrThrowEPKcS2_");
  asks_for({name, overload});
  return find(this, name, overload);
}

std::optional<OperatorHandle> Dispatcher::findSchema(const OperatorName& name) {
  static const auto find = original<std::optional<OperatorHandle> (*)(Dispatcher*, const OperatorName&)>(
      "_ZN3c1010Dispatcher10findSchemaERKNS_12OperatorNameE");
  asks_for(name);
  return find(this, name);
}

std::optional<OperatorHandle> Dispatcher::findOp(const OperatorName& name) {
  static const auto find = original<std::optional<OperatorHandle> (*)(Dispatcher*, const OperatorName&)>(
      "_ZN3c1010Dispatcher6findOpERKNS_12OperatorNameE");
  asks_for(name);
  return find(this, name);
}

const std::vector<OperatorName> Dispatcher::getAllOpNames() {
  static const auto get = original<std::vector<OperatorName> (*)(Dispatcher*)>("_ZN3c1010Dispatcher13getAllOpNamesEv");
  waiting().register_all();
  return get(this);
}

}  // namespace c10
