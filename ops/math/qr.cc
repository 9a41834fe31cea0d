#include "ops/math/qr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"

namespace towerflow {
namespace {

struct QrAttrs {
  bool full_matrices = false;
  static constexpr auto fields = std::tuple{attr::field("full_matrices", &QrAttrs::full_matrices)};
};

void qr_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (!is_floating(dtype)) {
    context.fail_type(
        fmt::format("Value passed to parameter 'input' has DataType {}, which is not "
                    "floating",
                    dtype_name(dtype)));
  }
  const Shape& input = context.shape(0);
  if (!input.has_rank()) {
    context.add_output(dtype, Shape::unknown());
    return context.add_output(dtype, Shape::unknown());
  }
  if (input.rank() < 2) {
    context.fail(fmt::format("Shape must be at least rank 2 but is rank {}", input.rank()));
  }
  const Dim rows = input[input.rank() - 2], columns = input[input.rank() - 1];
  Dim inner = rows;
  if (!context.attrs<QrAttrs>().full_matrices) {
    inner =
        rows.known() && columns.known() ? Dim(std::min(rows.size(), columns.size())) : Dim(None);
  }
  std::vector<Dim> q = input.dims(), r = input.dims();
  q[q.size() - 1] = inner;
  r[r.size() - 2] = inner;
  context.add_output(dtype, Shape(std::move(q)));
  context.add_output(dtype, Shape(std::move(r)));
}

/// Makes a matrix triangular by one reflection for each column. (Householder)
struct QrSizes {
  std::int64_t rows = 0, columns = 0, inner = 0, reflections = 0;

  /// Returns the number of elements that `factor` needs as scratch.
  std::int64_t scratch() const {
    return rows * columns + rows * inner + std::max(columns, inner) + reflections;
  }

  template <class T>
  void factor(const T* input, T* q, T* r, T* scratch) const {
    T* const a = scratch;
    T* const turned = a + rows * columns;
    T* const sums = turned + rows * inner;
    T* const scales = sums + std::max(columns, inner);
    std::copy(input, input + rows * columns, a);
    for (std::int64_t k = 0; k < reflections; ++k) {
      scales[k] = make_reflection(a, k);
      const T diagonal = a[k * columns + k];
      a[k * columns + k] = T(1);
      reflect(a, k, scales[k], a, columns, k + 1, sums);
      a[k * columns + k] = diagonal;
    }
    for (std::int64_t i = 0; i < inner; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        r[i * columns + j] = j < i ? T(0) : a[i * columns + j];
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < inner; ++j) turned[i * inner + j] = T(i == j);
    }
    for (std::int64_t k = reflections; k-- > 0;) {
      a[k * columns + k] = T(1);
      reflect(a, k, scales[k], turned, inner, k, sums);
    }
    std::copy(turned, turned + rows * inner, q);
  }

 private:
  /// Replaces column k from the diagonal on by the result of its reflection and, below it, the
  /// vector of the reflection without its leading 1. Returns the scale of the reflection.
  template <class T>
  T make_reflection(T* a, std::int64_t k) const {
    double tail = 0.0;
    for (std::int64_t i = k + 1; i < rows; ++i) {
      const double x = a[i * columns + k];
      tail += x * x;
    }
    const double first = a[k * columns + k];
    if (tail == 0.0) return T(0);
    const double length = std::sqrt(first * first + tail);
    const double result = first >= 0.0 ? -length : length;
    for (std::int64_t i = k + 1; i < rows; ++i) {
      a[i * columns + k] = static_cast<T>(a[i * columns + k] / (first - result));
    }
    a[k * columns + k] = static_cast<T>(result);
    return static_cast<T>((result - first) / result);
  }

  /// Reflects the columns of `x` from `begin` on by the vector in column k of `a`.
  template <class T>
  void reflect(const T* a, std::int64_t k, T scale, T* x, std::int64_t width, std::int64_t begin,
               T* sums) const {
    std::fill(sums + begin, sums + width, T(0));
    for (std::int64_t i = k; i < rows; ++i) {
      const T v = a[i * columns + k];
      for (std::int64_t j = begin; j < width; ++j) sums[j] += v * x[i * width + j];
    }
    for (std::int64_t i = k; i < rows; ++i) {
      const T v = scale * a[i * columns + k];
      for (std::int64_t j = begin; j < width; ++j) x[i * width + j] -= v * sums[j];
    }
  }
};

template <class T>
class QrKernel final : public CpuKernel {
 public:
  QrKernel(QrSizes sizes, std::int64_t matrices) : sizes_(sizes), matrices_(matrices) {}
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(sizes_.scratch()) * sizeof(T);
  }
  bool may_fail() const override { return false; }
  void run(int, int, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    for (std::int64_t i = 0; i < matrices_; ++i) {
      sizes_.factor(static_cast<const T*>(inputs[0]) + i * sizes_.rows * sizes_.columns,
                    static_cast<T*>(outputs[0]) + i * sizes_.rows * sizes_.inner,
                    static_cast<T*>(outputs[1]) + i * sizes_.inner * sizes_.columns,
                    reinterpret_cast<T*>(workspace));
    }
  }

 private:
  QrSizes sizes_;
  std::int64_t matrices_;
};

std::unique_ptr<PreparedKernel> qr_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const Shape &input = request.inputs[0].shape, &q = request.outputs[0].shape;
  QrSizes sizes;
  sizes.rows = input.size(input.rank() - 2);
  sizes.columns = input.size(input.rank() - 1);
  sizes.inner = q.size(q.rank() - 1);
  sizes.reflections = std::min(sizes.rows, sizes.columns);
  std::int64_t matrices = 1;
  for (std::size_t i = 0; i + 2 < input.rank(); ++i) matrices *= input.size(i);
  if (request.inputs[0].dtype == DType::float64) {
    return sliced_kernel(std::make_unique<QrKernel<double>>(sizes, matrices));
  }
  return sliced_kernel(std::make_unique<QrKernel<float>>(sizes, matrices));
}

}  // namespace

static void register_qr_ops(OpRegistry& registry) {
  registry.add({.name = "Qr",
                .inputs = {"input: T"},
                .outputs = {"q: T", "r: T"},
                .attrs = attributes<QrAttrs>(),
                .shape = qr_shape,
                .gradient = NoGradient{"it needs MatrixTriangularSolve, which does not exist"}});
}

static void register_qr_kernels(KernelTable& table) {
  table.add({.op = "Qr", .label = "householder", .accepts = {}, .prepare = qr_kernel});
}

OpFamily qr_family() { return {.ops = register_qr_ops, .kernels = register_qr_kernels}; }

QrFactors qr(const Operand& input, QrOptions options, Site site) {
  const Operation op = OpBuilder("Qr", options.name, site, {&input})
                           .input(input, "input")
                           .attrs(QrAttrs{options.full_matrices})
                           .build();
  return {op.output(0), op.output(1)};
}

}  // namespace towerflow
