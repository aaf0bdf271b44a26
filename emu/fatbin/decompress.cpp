// SPDX-License-Identifier: Apache-2.0
#include "fatbin/decompress.hpp"

#include "fatbin/container.hpp"

#ifdef EMU_WITH_ZSTD
#include <zstd.h>
#endif

namespace emu::fatbin {

#ifdef EMU_WITH_ZSTD

bool has_zstd() {
  return true;
}

std::string decompress_zstd(std::span<const uint8_t> frame, uint64_t exact_bytes,
                            const std::string& origin) {
  // A damaged size must not become an allocation: no PTX text comes near this.
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  if (exact_bytes > kMostBytes) {
    throw Error(origin + ": compressed PTX claims " + std::to_string(exact_bytes) + " bytes");
  }
  std::string text(exact_bytes, '\0');
  const size_t written = ZSTD_decompress(text.data(), text.size(), frame.data(), frame.size());
  if (ZSTD_isError(written) != 0) {
    throw Error(origin + ": compressed PTX: " + ZSTD_getErrorName(written));
  }
  if (written != exact_bytes) {
    throw Error(origin + ": compressed PTX holds " + std::to_string(written) +
                " bytes, its header says " + std::to_string(exact_bytes));
  }
  return text;
}

#else

bool has_zstd() {
  return false;
}

std::string decompress_zstd(std::span<const uint8_t>, uint64_t, const std::string& origin) {
  throw Error(
      origin +
      ": the PTX is compressed with zstd and this emulator was built without libzstd; build "
      "the library with --no-compress, or install libzstd's headers and configure again");
}

#endif

}  // namespace emu::fatbin
