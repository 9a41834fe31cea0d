// Updates of variables by an optimizer's rule (ops/update_rules.h), many variables in one launch:
// kernels RULE_DTYPE(list), as Adam_float32. A block of 256 threads updates kUpdateChunk elements
// of one variable. The rule's scalars are read from device memory, so that a graph that is replayed
// sees a learning rate that changed.
//
// Rows_RULE_DTYPE(u) updates the rows that IndexedSlices select: the slices of a row are added up
// in their order, starting from 0, before the row is updated once. A thread for each column of a
// row.
#include "ops/update_rules.h"

#include "cuda/device/arguments.h"
#include "cuda/device/number.cuh"

namespace towerflow::cuda::device {
namespace {

/// Calls the rule on the variable, the slots and the gradient of one element.
template <class Rule, class T>
TOWERFLOW_DEVICE void update_one(const Rule& rule, T& variable, T* slots, T gradient) {
  if constexpr (Rule::kSlots == 0) {
    rule(variable, gradient);
  } else if constexpr (Rule::kSlots == 1) {
    rule(variable, slots[0], gradient);
  } else if constexpr (Rule::kSlots == 2) {
    rule(variable, slots[0], slots[1], gradient);
  } else {
    rule(variable, slots[0], slots[1], slots[2], gradient);
  }
}

template <class Rule, int kPack, class T>
TOWERFLOW_DEVICE void update_pack(const Rule& rule, const UpdateList::Variable& v, int64 at) {
  constexpr int kSlots = static_cast<int>(Rule::kSlots);
  T* const variable = static_cast<T*>(v.variable) + at;
  Pack<T, kPack> values = load_pack<kPack>(variable);
  const Pack<T, kPack> gradients = load_pack<kPack>(static_cast<const T*>(v.gradient) + at);
  Pack<T, kPack> slots[kSlots == 0 ? 1 : kSlots];
  for (int s = 0; s < kSlots; ++s) slots[s] = load_pack<kPack>(static_cast<T*>(v.slots[s]) + at);
  for (int k = 0; k < kPack; ++k) {
    T own[kSlots == 0 ? 1 : kSlots];
    for (int s = 0; s < kSlots; ++s) own[s] = slots[s].v[k];
    update_one(rule, values.v[k], own, gradients.v[k]);
    for (int s = 0; s < kSlots; ++s) slots[s].v[k] = own[s];
  }
  store_pack<kPack>(variable, values);
  for (int s = 0; s < kSlots; ++s) store_pack<kPack>(static_cast<T*>(v.slots[s]) + at, slots[s]);
}

template <class Rule, int kPack, class T>
TOWERFLOW_DEVICE bool all_aligned(const UpdateList::Variable& v) {
  bool aligned = is_aligned<kPack>(static_cast<const T*>(v.variable)) &&
                 is_aligned<kPack>(static_cast<const T*>(v.gradient));
  for (int s = 0; s < static_cast<int>(Rule::kSlots); ++s) {
    aligned &= is_aligned<kPack>(static_cast<const T*>(v.slots[s]));
  }
  return aligned;
}

template <class Rule, class T>
TOWERFLOW_DEVICE Rule rule_of(const void* const* addresses) {
  T scalars[Rule::kScalars == 0 ? 1 : Rule::kScalars];
  for (int i = 0; i < static_cast<int>(Rule::kScalars); ++i) {
    bool is_step = false;
    if constexpr (requires { Rule::kStepScalar; }) {
      is_step = i == static_cast<int>(Rule::kStepScalar);
    }
    scalars[i] = is_step ? static_cast<T>(*static_cast<const int64*>(addresses[i]))
                         : *static_cast<const T*>(addresses[i]);
  }
  return Rule(scalars);
}

template <template <class> class RuleOf, class T>
TOWERFLOW_DEVICE void update(const UpdateList& list) {
  using Rule = RuleOf<T>;
  constexpr int kPack = kPackOf<T>;
  if (list.unless != nullptr && list.unless->found != 0) return;
  const Rule rule = rule_of<Rule, T>(list.scalars);
  // The variable of this block: the last whose first block is not behind it.
  int low = 0, high = list.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (list.variables[middle].first_block <= blockIdx.x ? low : high) = middle;
  }
  const UpdateList::Variable& v = list.variables[low];
  const int64 begin = int64{blockIdx.x - v.first_block} * kUpdateChunk;
  const int64 end = smaller(begin + kUpdateChunk, v.elements);
  const int64 packed = all_aligned<Rule, kPack, T>(v) ? end - (end - begin) % kPack : begin;
  for (int64 i = begin + threadIdx.x * kPack; i < packed; i += blockDim.x * kPack) {
    update_pack<Rule, kPack, T>(rule, v, i);
  }
  for (int64 i = packed + threadIdx.x; i < end; i += blockDim.x) {
    update_pack<Rule, 1, T>(rule, v, i);
  }
}

template <template <class> class RuleOf, class T>
TOWERFLOW_DEVICE void update_rows(const UpdateRows& u) {
  using Rule = RuleOf<T>;
  constexpr int kSlots = static_cast<int>(Rule::kSlots);
  const Rule rule = rule_of<Rule, T>(u.scalars);
  for (int64 i = grid_thread(); i < u.n * u.width; i += grid_threads()) {
    const int64 first = i / u.width, column = i - first * u.width;
    const std::uint32_t key = u.keys[first];
    if (key >= u.variable_rows || (first > 0 && u.keys[first - 1] == key)) continue;
    T sum = T(0);
    for (int64 at = first; at < u.n && u.keys[at] == key; ++at) {
      sum += static_cast<const T*>(u.values)[u.rows[at] * u.width + column];
    }
    const int64 at = key * u.width + column;
    T own[kSlots == 0 ? 1 : kSlots];
    for (int s = 0; s < kSlots; ++s) own[s] = static_cast<T*>(u.slots[s])[at];
    update_one(rule, static_cast<T*>(u.variable)[at], own, sum);
    for (int s = 0; s < kSlots; ++s) static_cast<T*>(u.slots[s])[at] = own[s];
  }
}

}  // namespace

#define TOWERFLOW_UPDATE(name)                                                                 \
  TOWERFLOW_KERNEL(name##_float32, 256, UpdateList list) { update<name##Rule, float>(list); }  \
  TOWERFLOW_KERNEL(name##_float64, 256, UpdateList list) { update<name##Rule, double>(list); } \
  TOWERFLOW_KERNEL(Rows_##name##_float32, 256, UpdateRows u) {                                 \
    update_rows<name##Rule, float>(u);                                                         \
  }                                                                                            \
  TOWERFLOW_KERNEL(Rows_##name##_float64, 256, UpdateRows u) { update_rows<name##Rule, double>(u); }

TOWERFLOW_UPDATE(MovingAverage)
TOWERFLOW_UPDATE(GradientDescent)
TOWERFLOW_UPDATE(Momentum)
TOWERFLOW_UPDATE(Nesterov)
TOWERFLOW_UPDATE(Adagrad)
TOWERFLOW_UPDATE(Adadelta)
TOWERFLOW_UPDATE(RmsProp)
TOWERFLOW_UPDATE(CenteredRmsProp)
TOWERFLOW_UPDATE(Adam)
TOWERFLOW_UPDATE(AdagradDualAveraging)
TOWERFLOW_UPDATE(Ftrl)
TOWERFLOW_UPDATE(FtrlShrinkage)
TOWERFLOW_UPDATE(ProximalGradientDescent)
TOWERFLOW_UPDATE(ProximalAdagrad)

}  // namespace towerflow::cuda::device
