// SPDX-License-Identifier: Apache-2.0
// Function addresses that host code hands to the runtime, against those that libraries registered.
// A library whose host and device compilations disagree about a template argument passes a stub
// that nobody registered; a real runtime answers with an error that says nothing of this.
#pragma once

#include <string>

namespace emu::check {

// "0x7f… (symbol f(int*), in libx.so)": as much as the loader knows of it.
std::string describe_address(const void* address);

// What `caller`'s library did wrong by passing `function`.
std::string unregistered_function(const void* function, const void* caller);

// Not empty: `library` registers a stub that lies in another file, which happens where two
// libraries share a symbol and the loader binds both to the first.
std::string foreign_stub(const void* stub, const std::string& kernel, const std::string& library);

// The file that `address` lies in, or "an unknown place".
std::string library_of(const void* address);

// A C++ name as written in source; the name itself where it is none.
std::string demangled(const std::string& name);

}  // namespace emu::check
