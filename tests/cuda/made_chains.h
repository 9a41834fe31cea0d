#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "cuda/device/arguments.h"
#include "cuda/device/elementwise_ops.h"

namespace towerflow::testing {

using cuda::device::Chain;
using cuda::device::ChainOp;

/// An operand of a step: an input, or the result of an earlier step.
constexpr std::int16_t input(int k) { return static_cast<std::int16_t>(k); }
constexpr std::int16_t step(int k) {
  return static_cast<std::int16_t>(cuda::device::kMaxInputs + k);
}

/// An input of a chain. `mode` is that of Chain::Input.
struct MadeInput {
  std::int8_t mode = 0;
  bool is_bool = false;
  std::vector<std::int32_t> strides{};
};
struct MadeStep {
  ChainOp op{};
  std::vector<std::int16_t> operands{};
};

inline Chain made_chain(const std::vector<MadeInput>& inputs, const std::vector<MadeStep>& steps,
                        const std::vector<std::uint32_t>& sizes, bool result_is_bool = false) {
  Chain chain;
  for (const MadeInput& made : inputs) {
    Chain::Input& one = chain.input[chain.inputs++];
    one.mode = made.mode;
    one.is_bool = made.is_bool ? 1 : 0;
    for (std::size_t d = 0; d < made.strides.size(); ++d) one.strides[d] = made.strides[d];
  }
  for (const MadeStep& made : steps) {
    Chain::Step& one = chain.step[chain.steps++];
    one.op = static_cast<std::int16_t>(made.op);
    for (std::size_t k = 0; k < made.operands.size(); ++k) one.operands[k] = made.operands[k];
  }
  for (const std::uint32_t size : sizes) {
    chain.sizes[chain.rank++] = cuda::device::Divisor::of(size);
  }
  chain.result_is_bool = result_is_bool ? 1 : 0;
  return chain;
}

/// A chain whose inputs are read in all ways that make rows of packs, of sizes {rows, columns}.
inline Chain chain_of_rows(std::uint32_t rows, std::uint32_t columns) {
  const auto width = static_cast<std::int32_t>(columns);
  return made_chain({{},
                     {.mode = 1},
                     {.mode = 2, .strides = {0, 1}},
                     {.mode = 2, .strides = {1, 0}},
                     {.is_bool = true},
                     {.mode = 2, .is_bool = true, .strides = {0, 1}},
                     {.mode = 1, .is_bool = true},
                     {.mode = 2, .strides = {2 * width, 2}}},
                    {{ChainOp::Mul, {input(0), input(1)}},
                     {ChainOp::AddV2, {step(0), input(2)}},
                     {ChainOp::SquaredDifference, {step(1), input(3)}},
                     {ChainOp::Select, {input(4), step(2), step(1)}},
                     {ChainOp::Select, {input(5), step(3), input(3)}},
                     {ChainOp::Select, {input(6), step(4), input(2)}},
                     {ChainOp::Tanh, {step(5)}},
                     {ChainOp::RealDiv, {step(6), input(7)}}},
                    {rows, columns});
}

/// A chain of truth values of sizes {3, 5, 7}, where packs cross rows.
inline Chain chain_of_truth() {
  return made_chain({{},
                     {.mode = 2, .strides = {7, 0, 1}},
                     {.mode = 2, .is_bool = true, .strides = {0, 1, 0}},
                     {.is_bool = true}},
                    {{ChainOp::Greater, {input(0), input(1)}},
                     {ChainOp::LogicalAnd, {step(0), input(2)}},
                     {ChainOp::LogicalOr, {step(1), input(3)}},
                     {ChainOp::LogicalNot, {step(2)}}},
                    {3, 5, 7}, true);
}

}  // namespace towerflow::testing
