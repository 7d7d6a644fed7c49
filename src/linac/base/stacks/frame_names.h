#pragma once
// From addresses in the code of a running process to words: "linac::data::Dataset::read(...) (linac+0x1a2b3)". The
// names come from the symbol tables of the mapped files (.symtab, else .dynsym) and not from dladdr(): that would wait
// for the dynamic loader's lock, which a thread that hangs in dlopen() holds, and knows only what the program exports.
// The number is what `addr2line -e FILE` takes.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace linac::stacks {

/// Calls put(address, words) for every address: first for all without reading any file but /proc's ("linac+0x1a2b3"),
/// then again for those whose function a symbol table names. Takes as long as the disks with the mapped files take, so
/// give it a thread of its own if that must be bounded. A file that cannot be read leaves its addresses without names.
/// Keeps no state: safe from any thread.
void name_frames(pid_t process, std::vector<uintptr_t> addresses,
                 const std::function<void(uintptr_t, const std::string&)>& put);

}  // namespace linac::stacks
