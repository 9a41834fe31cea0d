#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/dynamic_partition.h"
#include "ops/array/gather.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/copy_elements.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"

namespace towerflow {
namespace {

/// Returns the shape of one row: the dimensions of the data after those of its indices.
Shape row_shape(InferenceContext& context, std::size_t pair) {
  const std::size_t pairs = context.num_inputs() / 2;
  const Shape& indices = context.shape(pair);
  const Shape& data = context.shape(pairs + pair);
  if (!indices.has_rank() || !data.has_rank()) return Shape::unknown();
  const auto middle =
      data.dims().begin() + static_cast<std::ptrdiff_t>(std::min(indices.rank(), data.rank()));
  if (indices.rank() > data.rank() ||
      !Shape(std::vector<Dim>(data.dims().begin(), middle)).compatible(indices)) {
    context.fail(fmt::format("data of shape {} does not begin with the shape of its indices, {}",
                             data.text(), indices.text()));
  }
  return Shape(std::vector<Dim>(middle, data.dims().end()));
}

void stitch_shape(InferenceContext& context) {
  const std::size_t pairs = context.num_inputs() / 2;
  Shape row = Shape::unknown();
  std::optional<std::int64_t> rows = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const auto merged = row.merged(row_shape(context, i));
    if (!merged) {
      context.fail(fmt::format("rows {} and {} of a stitch differ", row.text(),
                               row_shape(context, i).text()));
    }
    row = *merged;
    const Array* indices = context.constant(i);
    if (indices == nullptr) {
      rows.reset();
    } else if (rows) {
      for (const std::int64_t index : integers_of(*indices)) rows = std::max(*rows, index + 1);
    }
  }
  if (!row.has_rank()) return context.add_output(context.dtype(pairs), Shape::unknown());
  std::vector<Dim> dims{rows ? Dim(*rows) : Dim(None)};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  context.add_output(context.dtype(pairs), Shape(std::move(dims)));
}

/// What a stitch copies. The number of rows is known only when the indices are.
struct Stitch {
  std::vector<std::int64_t> counts;  ///< indices of each pair
  std::int64_t width = 1;            ///< elements of a row
  std::vector<Dim> row_dims;         ///< of the result, the first one unknown
  Shape said;

  std::int64_t total() const {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  }

  /// Returns the number of rows of the result. Throws InvalidArgumentError for an index below 0.
  std::int64_t rows(const LaunchArgs& args) const {
    std::int64_t largest = -1;
    for (std::size_t pair = 0; pair < counts.size(); ++pair) {
      const auto* indices = args.input<std::int32_t>(pair);
      std::int32_t high = -1, low = 0;
      for (std::int64_t k = 0; k < counts[pair]; ++k) {
        high = std::max(high, indices[k]);
        low = std::min(low, indices[k]);
      }
      if (low < 0) {
        throw errors::InvalidArgumentError(
            fmt::format("indices[{}] contains {}, which is below 0", pair, low));
      }
      largest = std::max<std::int64_t>(largest, high);
    }
    return largest + 1;
  }

  /// Sets the rows without an index to zero. Memory: a byte for each row, if there are as many
  /// indices as rows.
  template <class T>
  void clear_missing(const LaunchArgs& args, std::int64_t rows_made, T* to) const {
    if (rows_made > total()) {
      std::fill_n(to, rows_made * width, T());
      return;
    }
    auto* present = reinterpret_cast<bool*>(args.workspace);
    std::fill_n(present, rows_made, false);
    for (std::size_t pair = 0; pair < counts.size(); ++pair) {
      const auto* indices = args.input<std::int32_t>(pair);
      for (std::int64_t k = 0; k < counts[pair]; ++k) present[indices[k]] = true;
    }
    for (std::int64_t row = 0; row < rows_made; ++row) {
      if (!present[row]) std::fill_n(to + row * width, width, T());
    }
  }

  template <class T>
  void run(const LaunchArgs& args) const {
    const std::int64_t made = rows(args);
    std::vector<Dim> dims = row_dims;
    dims[0] = Dim(made);
    T* to = static_cast<T*>(args.output_memory(0, Shape(std::move(dims)), said));
    clear_missing(args, made, to);
    for (std::size_t pair = 0; pair < counts.size(); ++pair) {
      const auto* indices = args.input<std::int32_t>(pair);
      const T* from = args.input<T>(counts.size() + pair);
      for (std::int64_t k = 0; k < counts[pair]; ++k) {
        if (width == 1)
          to[indices[k]] = from[k];
        else
          copy_short_row(from + k * width, width, to + indices[k] * width);
      }
    }
  }
};

std::unique_ptr<PreparedKernel> stitch_kernel(const KernelRequest& request) {
  Stitch stitch;
  const std::size_t pairs = request.inputs.size() / 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    const Shape &indices = request.inputs[i].shape, &data = request.inputs[pairs + i].shape;
    bool fits = indices.rank() <= data.rank();
    for (std::size_t d = 0; fits && d < indices.rank(); ++d) fits = indices.size(d) == data.size(d);
    if (!fits) {
      throw errors::InvalidArgumentError(
          fmt::format("data of shape {} does not begin with the shape of its indices, {}",
                      data.text(), indices.text()));
    }
    std::vector<Dim> dims{Dim(None)};
    dims.insert(dims.end(), data.dims().begin() + static_cast<std::ptrdiff_t>(indices.rank()),
                data.dims().end());
    if (i > 0 && dims != stitch.row_dims) {
      throw errors::InvalidArgumentError(fmt::format(
          "rows {} and {} of a stitch differ", Shape(stitch.row_dims).text(), Shape(dims).text()));
    }
    stitch.row_dims = std::move(dims);
    stitch.counts.push_back(indices.elements());
  }
  for (std::size_t d = 1; d < stitch.row_dims.size(); ++d)
    stitch.width *= stitch.row_dims[d].size();
  stitch.said = request.outputs[0].shape;
  const auto bytes = static_cast<std::size_t>(stitch.total());
  return function_kernel(
      [stitch = std::move(stitch), dtype = request.outputs[0].dtype](const LaunchArgs& args) {
        dispatch_copyable(dtype, [&]<class T>() { stitch.run<T>(args); });
      },
      {.workspace_bytes = bytes});
}

std::vector<OptionalGradient> stitch_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const std::size_t pairs = op.num_inputs() / 2;
  std::vector<OptionalGradient> dxs(op.num_inputs());
  for (std::size_t i = 0; i < pairs; ++i) {
    dxs[pairs + i] = gather(dy, op.input(i), {}, op.site());
  }
  return dxs;
}

}  // namespace

// Graphs from TensorFlow also use DynamicStitch in the gradients of reductions.
static void register_dynamic_stitch_ops(OpRegistry& registry) {
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    registry.add({.name = op,
                  .inputs = {"indices: N * int32", "data: N * T"},
                  .outputs = {"merged: T"},
                  .shape = stitch_shape,
                  .gradient = stitch_gradient});
  }
}

static void register_dynamic_stitch_kernels(KernelTable& table) {
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    table.add({.op = op, .label = "copy", .accepts = {}, .prepare = stitch_kernel});
  }
}

OpFamily dynamic_stitch_family() {
  return {.ops = register_dynamic_stitch_ops, .kernels = register_dynamic_stitch_kernels};
}

static Tensor add_stitch(const char* op, const OperandList& indices, const OperandList& data,
                         const DynamicStitchOptions& options, Site site) {
  if (indices.size() != data.size() || indices.size() == 0) {
    throw ValueError(fmt::format("List argument 'data' to '{}' Op with length {} must match length "
                                 "{} of argument 'indices', at least 1",
                                 op, data.size(), indices.size()),
                     {.site = site, .op = op});
  }
  const Operand* first = &data.items().front();
  for (const OperandList* list : {&data, &indices}) {
    for (const Operand& item : list->items()) {
      if (first->any_tensor() == nullptr) first = &item;
    }
  }
  OpBuilder builder(op, options.name, site, {first});
  for (std::size_t i = 0; i < indices.size(); ++i) {
    builder.input(indices.items()[i], fmt::format("indices_{}", i).c_str(), DType::int32);
  }
  const std::vector<Tensor> values = same_dtype_inputs(builder.graph(), data, op, "data", site);
  return builder.inputs(values, "data").output();
}

Tensor dynamic_stitch(const OperandList& indices, const OperandList& data,
                      DynamicStitchOptions options, Site site) {
  return add_stitch("DynamicStitch", indices, data, options, site);
}

Tensor parallel_dynamic_stitch(const OperandList& indices, const OperandList& data,
                               DynamicStitchOptions options, Site site) {
  return add_stitch("ParallelDynamicStitch", indices, data, options, site);
}

}  // namespace towerflow
