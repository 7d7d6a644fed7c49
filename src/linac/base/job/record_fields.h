#pragma once
// How a struct of the record (run_record.h) names its members: once, in a static member function template
//     template <class V> static void fields(V&& v) { v({"lr", "", "learning rate of the step"}, &StepLine::lr); }
// Reading, writing, docs/reference/run-record.md and the types of the pages follow from it.

#include <concepts>

namespace linac::job {

/// A line without a needed member is damaged; without another one it says the less.
enum class Need { kSpare, kNeeded };

struct MemberText {
  const char* name;
  const char* unit;  // "" for plain numbers and texts
  const char* meaning;
  Need need = Need::kSpare;
  const char* when = "always";
};

struct AnyMember {
  template <class T, class S>
  void operator()(const MemberText&, T S::*) {}
};
template <class T>
concept HasMembers = requires(AnyMember v) {
  T::fields(v);
};

}  // namespace linac::job
