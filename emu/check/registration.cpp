// SPDX-License-Identifier: Apache-2.0
#include "check/registration.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "check/symbols.hpp"

namespace emu::check {

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

std::string library_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname
                                                                  : "an unknown place";
}

std::string describe_address(const void* address) {
  char text[32];
  std::snprintf(text, sizeof(text), "%p", address);
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return std::string(text) + " (in no library)";
  }
  const auto from_start = static_cast<uint64_t>(static_cast<const char*>(address) -
                                                static_cast<const char*>(info.dli_fbase));
  // Stubs are mostly local symbols, which the loader does not know.
  std::string name = info.dli_sname != nullptr && info.dli_saddr == address
                         ? info.dli_sname
                         : symbol_in_file(info.dli_fname, from_start);
  name = name.empty() ? "no symbol" : "symbol " + demangled(name);
  char offset[32];
  std::snprintf(offset, sizeof(offset), "0x%llx", static_cast<unsigned long long>(from_start));
  return std::string(text) + " (" + name + ", offset " + offset + " in " + info.dli_fname + ")";
}

std::string unregistered_function(const void* function, const void* caller) {
  return library_of(caller) + " passes the function " + describe_address(function) +
         ", which no library has registered as a kernel";
}

std::string foreign_stub(const void* stub, const std::string& kernel, const std::string& library) {
  const std::string place = library_of(stub);
  if (place == library) {
    return "";
  }
  return library + " registers " + demangled(kernel) + " under a host function that lies in " +
         place + ": the two libraries share a symbol";
}

}  // namespace emu::check
