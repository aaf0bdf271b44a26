// SPDX-License-Identifier: Apache-2.0
// Negative control of weak_symbols_test.py: an inline function that is not inlined is a weak
// symbol.
inline int weak_in_this_file(int value) {
  return value + 1;
}
int (*volatile use_weak_symbol)(int) = weak_in_this_file;
