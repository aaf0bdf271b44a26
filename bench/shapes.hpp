// SPDX-License-Identifier: Apache-2.0
// Named GEMM shapes, shared by `mxgemm bench --suite` and the benchmarks: D is M x N, the weight B
// is N x K.
#pragma once

#include <cstdint>

namespace mxgemm::bench {

struct Shape {
  const char* suite;
  const char* name;
  int64_t m;
  int64_t n;
  int64_t k;
};

// M = 1 decodes one token, 32 a small batch, 512 a prompt.
inline constexpr Shape kShapes[] = {
    {"square", "512", 512, 512, 512},
    {"square", "1024", 1024, 1024, 1024},
    {"square", "2048", 2048, 2048, 2048},
    {"square", "4096", 4096, 4096, 4096},

    // Llama 3 8B: hidden 4096, 32 + 2 x 8 heads of 128, intermediate 14336 (gate and up in one
    // matrix).
    {"llama", "qkv", 1, 6144, 4096},
    {"llama", "qkv", 32, 6144, 4096},
    {"llama", "qkv", 512, 6144, 4096},
    {"llama", "out", 1, 4096, 4096},
    {"llama", "out", 32, 4096, 4096},
    {"llama", "out", 512, 4096, 4096},
    {"llama", "gate_up", 1, 28672, 4096},
    {"llama", "gate_up", 32, 28672, 4096},
    {"llama", "gate_up", 512, 28672, 4096},
    {"llama", "down", 1, 4096, 14336},
    {"llama", "down", 32, 4096, 14336},
    {"llama", "down", 512, 4096, 14336},

    // gpt-oss 20B: hidden 2880, 64 + 2 x 8 heads of 64; experts of intermediate 2880 (gate and up
    // in one matrix). K = 2880 is 90 blocks: no multiple of 128.
    {"gptoss", "qkv", 1, 5120, 2880},
    {"gptoss", "qkv", 32, 5120, 2880},
    {"gptoss", "qkv", 512, 5120, 2880},
    {"gptoss", "out", 1, 2880, 4096},
    {"gptoss", "out", 32, 2880, 4096},
    {"gptoss", "out", 512, 2880, 4096},
    {"gptoss", "expert_gate_up", 1, 5760, 2880},
    {"gptoss", "expert_gate_up", 32, 5760, 2880},
    {"gptoss", "expert_gate_up", 512, 5760, 2880},
    {"gptoss", "expert_down", 1, 2880, 2880},
    {"gptoss", "expert_down", 32, 2880, 2880},
    {"gptoss", "expert_down", 512, 2880, 2880},

    // The sizes at which torchao accepts a low-precision GEMM (SQNR of 80 dB).
    {"torchao", "128", 128, 128, 128},
    {"torchao", "256", 256, 256, 256},
    {"torchao", "384", 384, 384, 384},
    {"torchao", "512", 512, 512, 512},
    {"torchao", "768", 768, 768, 768},
    {"torchao", "1024", 1024, 1024, 1024},
    {"torchao", "8192", 8192, 8192, 8192},
    {"torchao", "128x256x384", 128, 384, 256},
    {"torchao", "256x384x512", 256, 512, 384},
    {"torchao", "129x256x384", 129, 384, 256},
    {"torchao", "133x512x528", 133, 528, 512},
};

}  // namespace mxgemm::bench
