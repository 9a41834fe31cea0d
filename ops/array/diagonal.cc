#include "ops/array/diagonal.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/concat.h"
#include "ops/array/diagonal_attrs.h"
#include "ops/array/diagonal_band.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/range_kernel.h"

namespace towerflow {
namespace {

DiagonalAttrs diagonal_attrs(const std::string& align, const char* op, Site site) {
  const auto found = AttrConversion<DiagonalAlign>::from(align);
  if (!found) {
    throw ValueError(fmt::format("Value for attr 'align' of \"{}\" is not in the list of allowed "
                                 "values: \"LEFT_RIGHT\", \"RIGHT_LEFT\", \"LEFT_LEFT\", "
                                 "\"RIGHT_RIGHT\"",
                                 align),
                     {.site = site, .op = op});
  }
  return {*found};
}

/// Reads `k`, a number or two, into the band. Returns what is wrong with it, or an empty string.
std::string read_diagonals(const Array& k, DiagonalBand& band) {
  const std::vector<std::int64_t> numbers = integers_of(k);
  if (k.shape().rank() > 1 || numbers.empty() || numbers.size() > 2) {
    return fmt::format(
        "diag_index must be a scalar or a vector with one or two elements, not of "
        "shape {}",
        k.shape().text());
  }
  band.lower = numbers.front();
  band.upper = numbers.back();
  if (band.lower > band.upper) {
    return fmt::format("lower_diag_index is greater than upper_diag_index: {} > {}", band.lower,
                       band.upper);
  }
  return "";
}

/// Returns what is wrong with diagonals of a matrix of known sizes, or an empty string.
std::string check_diagonals(const DiagonalBand& band) {
  for (const std::int64_t k : {band.lower, band.upper}) {
    if (!band.contains(k)) {
      return fmt::format("diagonal {} is outside a matrix of {} rows and {} columns", k, band.rows,
                         band.columns);
    }
  }
  return "";
}

void fail_if(const InferenceContext& context, const std::string& problem) {
  if (!problem.empty()) context.fail(problem);
}
void throw_if(const std::string& problem) {
  if (!problem.empty()) throw errors::InvalidArgumentError(problem);
}

void require_matrices(const InferenceContext& context, std::size_t input) {
  const Shape& shape = context.shape(input);
  if (shape.has_rank() && shape.rank() < 2) {
    context.fail(fmt::format("Shape must be at least rank 2 but is rank {}: matrices of shape {}",
                             shape.rank(), shape.text()));
  }
}

void require_int32(const InferenceContext& context, std::initializer_list<std::size_t> inputs) {
  for (const std::size_t input : inputs) {
    if (context.dtype(input) != DType::int32) {
      context.fail_type(fmt::format("diagonals and sizes are numbers of int32, not {}",
                                    dtype_name(context.dtype(input))));
    }
  }
}

/// Completes a band of matrices to be made: -1 in `rows` or `columns` is a size that was not given.
/// Returns what is wrong with it, or an empty string.
std::string choose_sizes(std::int64_t longest, DiagonalBand& band) {
  const std::int64_t least_rows = longest - std::min<std::int64_t>(band.upper, 0);
  const std::int64_t least_columns = longest + std::max<std::int64_t>(band.lower, 0);
  const bool rows_given = band.rows != -1, columns_given = band.columns != -1;
  if (!rows_given && !columns_given) {
    band.rows = band.columns = std::max(least_rows, least_columns);
  } else if (!rows_given) {
    band.rows = least_rows;
  } else if (!columns_given) {
    band.columns = least_columns;
  }
  if (band.rows < least_rows || band.columns < least_columns ||
      (band.rows != least_rows && band.columns != least_columns)) {
    return fmt::format(
        "a matrix of {} rows and {} columns does not fit its diagonals, for which "
        "it needs {} and {}",
        band.rows, band.columns, least_rows, least_columns);
  }
  return check_diagonals(band);
}

void matrix_diag_shape(InferenceContext& context) {
  require_int32(context, {1, 2, 3});
  const Shape& diagonal = context.shape(0);
  if (context.dtype(4) != context.dtype(0)) {
    context.fail_type(fmt::format("a padding of {} for diagonals of {}",
                                  dtype_name(context.dtype(4)), dtype_name(context.dtype(0))));
  }
  if (diagonal.has_rank() && diagonal.rank() == 0) {
    context.fail("Shape must be at least rank 1 but is rank 0: diagonals of matrices");
  }
  const Array *k = context.constant(1), *rows = context.constant(2), *columns = context.constant(3);
  if (!diagonal.has_rank() || k == nullptr) {
    return context.add_output(context.dtype(0), Shape::unknown());
  }
  DiagonalBand band;
  fail_if(context, read_diagonals(*k, band));
  const std::size_t used = band.count() > 1 ? 2 : 1;
  if (diagonal.rank() < used) {
    context.fail(fmt::format("Shape must be at least rank 2 but is rank {}: a band of diagonals",
                             diagonal.rank()));
  }
  if (used == 2 && diagonal[-2].known() && diagonal.size(-2) != band.count()) {
    context.fail(
        fmt::format("{} diagonals are given for a band of {}", diagonal.size(-2), band.count()));
  }
  std::vector<Dim> dims(diagonal.dims().begin(),
                        diagonal.dims().end() - static_cast<std::ptrdiff_t>(used));
  Dim height(None), width(None);
  if (diagonal[-1].known() && rows != nullptr && columns != nullptr) {
    band.rows = integers_of(*rows).at(0);
    band.columns = integers_of(*columns).at(0);
    fail_if(context, choose_sizes(diagonal.size(-1), band));
    height = Dim(band.rows);
    width = Dim(band.columns);
  }
  dims.insert(dims.end(), {height, width});
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

/// Returns the shape of the diagonals of matrices, as far as it is known.
Shape diagonals_shape(InferenceContext& context, const Shape& matrices, std::size_t k_input) {
  const Array* k = context.constant(k_input);
  if (!matrices.has_rank() || k == nullptr) return Shape::unknown();
  DiagonalBand band;
  fail_if(context, read_diagonals(*k, band));
  std::vector<Dim> dims(matrices.dims().begin(), matrices.dims().end() - 2);
  if (band.count() > 1) dims.emplace_back(band.count());
  Dim longest(None);
  if (matrices[-2].known() && matrices[-1].known()) {
    band.rows = matrices.size(-2);
    band.columns = matrices.size(-1);
    fail_if(context, check_diagonals(band));
    longest = Dim(band.longest());
  }
  dims.push_back(longest);
  return Shape(std::move(dims));
}

void matrix_diag_part_shape(InferenceContext& context) {
  require_int32(context, {1});
  require_matrices(context, 0);
  if (context.dtype(2) != context.dtype(0)) {
    context.fail_type(fmt::format("a padding of {} for matrices of {}",
                                  dtype_name(context.dtype(2)), dtype_name(context.dtype(0))));
  }
  context.add_output(context.dtype(0), diagonals_shape(context, context.shape(0), 1));
}

void matrix_set_diag_shape(InferenceContext& context) {
  require_int32(context, {2});
  require_matrices(context, 0);
  if (context.dtype(1) != context.dtype(0)) {
    context.fail_type(fmt::format("diagonals of {} for matrices of {}",
                                  dtype_name(context.dtype(1)), dtype_name(context.dtype(0))));
  }
  Shape wanted = diagonals_shape(context, context.shape(0), 2);
  if (wanted.has_rank()) {  // the lengths are compared when the graph runs
    std::vector<Dim> dims = wanted.dims();
    dims.back() = Dim(None);
    wanted = Shape(std::move(dims));
  }
  if (!wanted.compatible(context.shape(1))) {
    context.fail(fmt::format("diagonals of shape {} where matrices of shape {} have {}",
                             context.shape(1).text(), context.shape(0).text(), wanted.text()));
  }
  // The batch of the diagonals is that of the matrices.
  const Array* k = context.constant(2);
  Shape matrices = context.shape(0);
  if (k != nullptr && context.shape(1).has_rank()) {
    DiagonalBand band;
    fail_if(context, read_diagonals(*k, band));
    const std::size_t used = band.count() > 1 ? 2 : 1;
    std::vector<Dim> dims = context.shape(1).dims();
    if (dims.size() >= used) {
      dims.erase(dims.end() - static_cast<std::ptrdiff_t>(used), dims.end());
      dims.insert(dims.end(), 2, None);
      matrices = matrices.merged(Shape(std::move(dims))).value_or(matrices);
    }
  }
  context.add_output(context.dtype(0), matrices);
}

/// Writes rows of matrices: from the matrices in `from`, or else a padding, and then the diagonals.
template <class T>
void write_matrix_rows(const DiagonalBand& band, SliceRange rows, const T* from, const T* padding,
                       const T* diagonals, T* to) {
  const std::int64_t longest = band.longest(), matrix = band.count() * longest;
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    T* row = to + i * band.columns;
    if (from == nullptr)
      std::fill_n(row, band.columns, *padding);
    else if (from != to)
      std::copy_n(from + i * band.columns, band.columns, row);
    const std::int64_t r = i % band.rows;
    const T* own = diagonals + i / band.rows * matrix;
    const std::int64_t last = std::min(band.upper, band.columns - 1 - r);
    for (std::int64_t k = std::max(band.lower, -r); k <= last; ++k) {
      row[r + k] = own[(band.upper - k) * longest + band.begin(k) + (k >= 0 ? r : r + k)];
    }
  }
}

std::unique_ptr<PreparedKernel> matrix_diag_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  DiagonalBand band;
  throw_if(read_diagonals(request.values.at(1), band));
  const Shape& diagonal = request.inputs[0].shape;
  if (diagonal.rank() < (band.count() > 1 ? 2u : 1u) ||
      (band.count() > 1 && diagonal.size(-2) != band.count())) {
    throw errors::InvalidArgumentError(
        fmt::format("diagonals of shape {} for a band of {}", diagonal.text(), band.count()));
  }
  band.rows = integers_of(request.values.at(2)).at(0);
  band.columns = integers_of(request.values.at(3)).at(0);
  band.align = request.attributes<DiagonalAttrs>().align;
  throw_if(choose_sizes(diagonal.size(-1), band));
  const std::int64_t rows =
      diagonal.elements() == 0
          ? 0
          : diagonal.elements() / (band.count() * diagonal.size(-1)) * band.rows;
  const std::int64_t all = request.outputs[0].shape.elements();
  const DType dtype = request.inputs[0].dtype;
  return rows_kernel(
      all == 0 ? 0 : all / band.columns, band.columns,
      [=](SliceRange part, const void* const* inputs, void* const* outputs) {
        dispatch_copyable(dtype, [&]<class T>() {
          T* to = static_cast<T*>(outputs[0]);
          const T* padding = static_cast<const T*>(inputs[4]);
          if (rows == 0) {  // diagonals without elements
            std::fill(to + part.begin * band.columns, to + part.end * band.columns, *padding);
            return;
          }
          write_matrix_rows<T>(band, part, nullptr, padding, static_cast<const T*>(inputs[0]), to);
        });
      });
}

/// Returns the diagonals of the matrices `input` for a kernel.
DiagonalBand requested_band(const KernelRequest& request, int k) {
  check_kernel_rank(request);
  const Shape& matrices = request.inputs[0].shape;
  if (matrices.rank() < 2) {
    throw errors::InvalidArgumentError(
        fmt::format("input must be at least 2-dim, received shape: {}", matrices.text()));
  }
  DiagonalBand band;
  throw_if(read_diagonals(request.values.at(k), band));
  band.rows = matrices.size(-2);
  band.columns = matrices.size(-1);
  band.align = request.attributes<DiagonalAttrs>().align;
  throw_if(check_diagonals(band));
  return band;
}

std::unique_ptr<PreparedKernel> matrix_diag_part_kernel(const KernelRequest& request) {
  const DiagonalBand band = requested_band(request, 1);
  const std::int64_t longest = band.longest();
  const std::int64_t all = request.outputs[0].shape.elements();
  const DType dtype = request.inputs[0].dtype;
  return rows_kernel(all == 0 ? 0 : all / longest, longest,
                     [=](SliceRange part, const void* const* inputs, void* const* outputs) {
                       dispatch_copyable(dtype, [&]<class T>() {
                         const T padding = *static_cast<const T*>(inputs[2]);
                         for (std::int64_t i = part.begin; i < part.end; ++i) {
                           const std::int64_t k = band.upper - i % band.count();
                           const std::int64_t length = band.length(k), begin = band.begin(k);
                           const T* from = static_cast<const T*>(inputs[0]) +
                                           i / band.count() * band.rows * band.columns +
                                           (k >= 0 ? k : -k * band.columns);
                           T* to = static_cast<T*>(outputs[0]) + i * longest;
                           std::fill_n(to, begin, padding);
                           for (std::int64_t j = 0; j < length; ++j)
                             to[begin + j] = from[j * (band.columns + 1)];
                           std::fill(to + begin + length, to + longest, padding);
                         }
                       });
                     });
}

std::unique_ptr<PreparedKernel> matrix_set_diag_kernel(const KernelRequest& request) {
  const DiagonalBand band = requested_band(request, 2);
  const Shape &matrices = request.inputs[0].shape, &diagonal = request.inputs[1].shape;
  std::vector<Dim> dims(matrices.dims().begin(), matrices.dims().end() - 2);
  if (band.count() > 1) dims.emplace_back(band.count());
  dims.emplace_back(band.longest());
  if (diagonal != Shape(dims)) {
    throw errors::InvalidArgumentError(fmt::format("diagonals of shape {} where {} is needed",
                                                   diagonal.text(), Shape(dims).text()));
  }
  const std::int64_t all = matrices.elements();
  const DType dtype = request.inputs[0].dtype;
  return rows_kernel(all == 0 ? 0 : all / band.columns, band.columns,
                     [=](SliceRange part, const void* const* inputs, void* const* outputs) {
                       dispatch_copyable(dtype, [&]<class T>() {
                         write_matrix_rows<T>(band, part, static_cast<const T*>(inputs[0]), nullptr,
                                              static_cast<const T*>(inputs[1]),
                                              static_cast<T*>(outputs[0]));
                       });
                     },
                     {{0, 0}});
}

void matrix_band_part_shape(InferenceContext& context) {
  for (const std::size_t input : {1, 2}) {
    if (!is_index(context.dtype(input))) {
      context.fail_type(
          fmt::format("Value passed to parameter '{}' has DataType {} not in list of "
                      "allowed values: int32, int64",
                      input == 1 ? "num_lower" : "num_upper", dtype_name(context.dtype(input))));
    }
  }
  context.add_output(context.dtype(0), context.shape(0));
}

std::unique_ptr<PreparedKernel> matrix_band_part_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const Shape& matrices = request.inputs[0].shape;
  if (matrices.rank() < 2 || request.values.at(1).shape().rank() != 0 ||
      request.values.at(2).shape().rank() != 0) {
    throw errors::InvalidArgumentError(
        fmt::format("a band part needs matrices and two numbers, not {}", matrices.text()));
  }
  const std::int64_t rows = matrices.size(-2), columns = matrices.size(-1);
  std::int64_t lower = integers_of(request.values.at(1))[0];
  std::int64_t upper = integers_of(request.values.at(2))[0];
  if (lower > rows || upper > columns) {
    throw errors::InvalidArgumentError(
        fmt::format("{} diagonals below and {} above the main one, in a matrix of {} rows and {} "
                    "columns",
                    lower, upper, rows, columns));
  }
  if (lower < 0) lower = rows;
  if (upper < 0) upper = columns;
  const DType dtype = request.inputs[0].dtype;
  const std::int64_t all = matrices.elements();
  return rows_kernel(
      all == 0 ? 0 : all / columns, columns,
      [=](SliceRange part, const void* const* inputs, void* const* outputs) {
        dispatch_copyable(dtype, [&]<class T>() {
          for (std::int64_t i = part.begin; i < part.end; ++i) {
            const std::int64_t r = i % rows;
            const std::int64_t begin = std::clamp<std::int64_t>(r - lower, 0, columns);
            const std::int64_t end = std::clamp<std::int64_t>(r + upper + 1, begin, columns);
            const T* from = static_cast<const T*>(inputs[0]) + i * columns;
            T* to = static_cast<T*>(outputs[0]) + i * columns;
            std::fill_n(to, begin, T());
            if (from != to) std::copy(from + begin, from + end, to + begin);
            std::fill(to + end, to + columns, T());
          }
        });
      },
      {{0, 0}});
}

using DiagonalGradients = std::vector<OptionalGradient>;

std::string align_of(const Operation& op) {
  return AttrConversion<DiagonalAlign>::to(op.attrs().as<DiagonalAttrs>().align);
}

DiagonalGradients matrix_diag_gradient(const Operation& op, const DiagonalGradients& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const Operand k(op.input(1), op.site());
  DiagonalGradients dxs(op.num_inputs());
  dxs[0] = matrix_diag_part(dy, {.k = k, .align = align_of(op)}, op.site());
  return dxs;
}

DiagonalGradients matrix_diag_part_gradient(const Operation& op, const DiagonalGradients& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Operand k(op.input(1), site);
  const Shape& matrices = op.input(0).shape();
  DiagonalGradients dxs(op.num_inputs());
  if (matrices.has_rank() && matrices[-2].known() && matrices[-1].known()) {
    dxs[0] = matrix_diag(dy,
                         {.k = k,
                          .num_rows = Operand(matrices.size(-2), site),
                          .num_cols = Operand(matrices.size(-1), site),
                          .align = align_of(op)},
                         site);
    return dxs;
  }
  const Tensor zeros = zeros_like(op.input(0), {}, site);
  dxs[0] = matrix_set_diag(zeros, dy, {.k = k, .align = align_of(op)}, site);
  return dxs;
}

DiagonalGradients matrix_set_diag_gradient(const Operation& op, const DiagonalGradients& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Operand k(op.input(2), site);
  const Tensor zeros = zeros_like(op.input(1), {}, site);
  const Tensor input = matrix_set_diag(dy, zeros, {.k = k, .align = align_of(op)}, site);
  const Tensor diagonal = matrix_diag_part(dy, {.k = k, .align = align_of(op)}, site);
  return {input, diagonal, std::nullopt};
}

DiagonalGradients matrix_band_part_gradient(const Operation& op, const DiagonalGradients& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const ScalarOperand lower(op.input(1), op.site()), upper(op.input(2), op.site());
  return {matrix_band_part(dy, lower, upper, {}, op.site()), std::nullopt, std::nullopt};
}

}  // namespace

static void register_diagonal_ops(OpRegistry& registry) {
  registry.add({.name = "MatrixDiagV3",
                .inputs = {"diagonal: T", "k: int32", "num_rows: int32", "num_cols: int32",
                           "padding_value: T"},
                .outputs = {"output: T"},
                .attrs = attributes<DiagonalAttrs>(),
                .shape = matrix_diag_shape,
                .gradient = matrix_diag_gradient,
                .static_inputs = {1, 2, 3}});
  registry.add({.name = "MatrixDiagPartV3",
                .inputs = {"input: T", "k: int32", "padding_value: T"},
                .outputs = {"diagonal: T"},
                .attrs = attributes<DiagonalAttrs>(),
                .shape = matrix_diag_part_shape,
                .gradient = matrix_diag_part_gradient,
                .static_inputs = {1}});
  registry.add({.name = "MatrixSetDiagV3",
                .inputs = {"input: T", "diagonal: T", "k: int32"},
                .outputs = {"output: T"},
                .attrs = attributes<DiagonalAttrs>(),
                .shape = matrix_set_diag_shape,
                .gradient = matrix_set_diag_gradient,
                .static_inputs = {2}});
  registry.add({.name = "MatrixBandPart",
                .inputs = {"input: T", "num_lower: Index(Tindex)", "num_upper: Index(Tindex)"},
                .outputs = {"band: T"},
                .shape = matrix_band_part_shape,
                .gradient = matrix_band_part_gradient,
                .static_inputs = {1, 2}});
}

static void register_diagonal_kernels(KernelTable& table) {
  using Prepare = std::unique_ptr<PreparedKernel> (*)(const KernelRequest&);
  const auto add = [&](const char* op, const char* label, Prepare prepare) {
    table.add({.op = op, .label = label, .accepts = {}, .prepare = prepare});
  };
  add("MatrixDiagV3", "rows", matrix_diag_kernel);
  add("MatrixDiagPartV3", "rows", matrix_diag_part_kernel);
  add("MatrixSetDiagV3", "rows", matrix_set_diag_kernel);
  add("MatrixBandPart", "rows", matrix_band_part_kernel);
}

OpFamily diagonal_family() {
  return {.ops = register_diagonal_ops, .kernels = register_diagonal_kernels};
}

/// Returns the padding in a form that fits matrices of bools too.
static Operand padding_for(const Operand& padding, DType dtype, Site site) {
  const Nested* literal = padding.nested();
  if (dtype != DType::bool_ || literal == nullptr) return padding;
  const auto* number = std::get_if<std::int64_t>(&literal->value());
  return number != nullptr ? Operand(*number != 0, site) : padding;
}

Tensor matrix_diag(const Operand& diagonal, MatrixDiagOptions options, Site site) {
  OpBuilder builder("MatrixDiagV3", options.name, "diag", site, {&diagonal});
  builder.input(diagonal, "diagonal", "T");
  const DType dtype = builder.tensors()[0].dtype();
  return builder.input(options.k, "k", DType::int32)
      .input(options.num_rows, "num_rows", DType::int32)
      .input(options.num_cols, "num_cols", DType::int32)
      .input(padding_for(options.padding_value, dtype, site), "padding_value", "T")
      .attrs(diagonal_attrs(options.align, "MatrixDiagV3", site))
      .output();
}

Tensor matrix_diag_part(const Operand& input, MatrixDiagPartOptions options, Site site) {
  OpBuilder builder("MatrixDiagPartV3", options.name, "diag_part", site, {&input});
  builder.input(input, "input", "T");
  const DType dtype = builder.tensors()[0].dtype();
  return builder.input(options.k, "k", DType::int32)
      .input(padding_for(options.padding_value, dtype, site), "padding_value", "T")
      .attrs(diagonal_attrs(options.align, "MatrixDiagPartV3", site))
      .output();
}

Tensor matrix_set_diag(const Operand& input, const Operand& diagonal, MatrixSetDiagOptions options,
                       Site site) {
  return OpBuilder("MatrixSetDiagV3", options.name, "set_diag", site, {&input, &diagonal})
      .input(input, "input", "T")
      .input(diagonal, "diagonal", "T")
      .input(options.k, "k", DType::int32)
      .attrs(diagonal_attrs(options.align, "MatrixSetDiagV3", site))
      .output();
}

Tensor matrix_band_part(const Operand& input, const ScalarOperand& num_lower,
                        const ScalarOperand& num_upper, MatrixBandPartOptions options, Site site) {
  OpBuilder builder("MatrixBandPart", options.name, site, {&input, &num_lower, &num_upper});
  builder.input(input, "input");
  // A number gets the dtype of a tensor beside it.
  DType dtype = DType::int32;
  for (const ScalarOperand* number : {&num_lower, &num_upper}) {
    if (number->array() != nullptr) dtype = number->array()->dtype();
    if (number->any_tensor() != nullptr) dtype = number->any_tensor()->dtype();
  }
  return builder.type("Tindex", dtype)
      .input(num_lower, "num_lower", "Tindex")
      .input(num_upper, "num_upper", "Tindex")
      .output();
}

Tensor trace(const Operand& x, TraceOptions options, Site site) {
  Graph& graph = graph_of(x);
  const NameScope scope(graph, options.name.empty() ? "Trace" : options.name, site);
  const Tensor matrices = convert_operand(graph, x, "x", std::nullopt);
  const Tensor diagonals = matrix_diag_part(matrices, {}, site);
  return reduce_sum(diagonals, std::vector<int>{-1}, {.name = scope.name()}, site);
}

}  // namespace towerflow
