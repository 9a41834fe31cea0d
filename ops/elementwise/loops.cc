#include "ops/elementwise/loops.h"

#include <algorithm>

#include "ops/array/cast_loop.h"
#include "ops/array/select_loop.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary_ops.h"
#include "ops/math/unary_ops.h"
#include "ops/simd/loops.h"

namespace towerflow {
namespace {

bool is_real(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

template <class T>
struct Relu {
  T operator()(T x) const { return x <= T(0) ? T(0) : x; }
};
template <class T>
struct ReluGrad {
  T operator()(T dy, T x) const { return dy * (x > T(0) ? T(1) : T(0)); }
};

UnaryLoop relu_loop(DType dtype) {
  if (dtype == DType::float64) return unary_loop<double, double, Relu<double>>();
  return [](const void* x, void* out, std::int64_t n) {
    simd::loops().relu(static_cast<const float*>(x), static_cast<float*>(out), n);
  };
}

BinaryLoops relu_grad_loops(DType dtype) {
  if (dtype == DType::float64) return binary_loops<double, double, ReluGrad<double>>();
  // The op only takes operands of the shape of the result.
  return {.both = [](const void* dy, const void* x, void* out, std::int64_t n) {
    simd::loops().relu_grad(static_cast<const float*>(dy), static_cast<const float*>(x),
                            static_cast<float*>(out), n);
  }};
}

SelectLoop select_loop(DType dtype) {
  SelectLoop loop = nullptr;
  dispatch_copyable(dtype, [&]<class T>() {
    loop = [](const void* condition, const void* x, const void* y, void* out, std::int64_t n) {
      select_elements(static_cast<const bool*>(condition), static_cast<const T*>(x),
                      static_cast<const T*>(y), static_cast<T*>(out), n);
    };
  });
  return loop;
}

std::optional<StepLoop> binary_loop(std::string_view op, DType dtype) {
  if (op == "BiasAdd") op = "AddV2";
  for (const BinaryRow& row : binary_rows()) {
    if (op != row.op || !row.accepts(dtype)) continue;
    return row.fast != nullptr && dtype == DType::float32 ? row.fast() : row.loops(dtype);
  }
  return std::nullopt;
}

}  // namespace

std::optional<StepLoop> step_loop(std::string_view op, std::span<const DType> operands,
                                  DType result) {
  const auto optional_loop = [](auto loop) {
    return loop == nullptr ? std::nullopt : std::optional<StepLoop>(loop);
  };
  if (op == "Cast") return optional_loop(cast_loop(operands[0], result));
  const bool taken = std::all_of(operands.begin(), operands.end(), [](DType dtype) {
    return is_real(dtype) || dtype == DType::bool_;
  });
  if (!taken) return std::nullopt;
  if (op == "Select" || op == "SelectV2") return optional_loop(select_loop(result));
  if (op == "Relu") return is_real(result) ? optional_loop(relu_loop(result)) : std::nullopt;
  if (op == "ReluGrad") {
    if (!is_real(result)) return std::nullopt;
    return relu_grad_loops(result);
  }
  if (operands.size() == 1) return optional_loop(unary_loop_of(op, operands[0]));
  if (operands.size() == 2) return binary_loop(op, operands[0]);
  return std::nullopt;
}

}  // namespace towerflow
