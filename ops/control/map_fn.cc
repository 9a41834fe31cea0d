#include "ops/control/map_fn.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/constant.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/control/element_loop.h"
#include "ops/control/while_loop.h"
#include "ops/math/binary.h"

namespace towerflow {

Graph& graph_of_elements(const std::vector<Operand>& elems) {
  for (const Operand& elem : elems) {
    if (elem.any_tensor() != nullptr) return graph_of(elem);
  }
  return get_default_graph();
}

ScalarOperand SliceCount::minus(std::int32_t less, Site site) const {
  if (known) return ScalarOperand(*known - less, site);
  return ScalarOperand(tensor - less, site);
}

SliceCount slice_count(const Tensor& elem, bool zero_is_unknown, Site site) {
  const Dim first = elem.shape().has_rank() ? elem.shape()[0] : Dim(None);
  if (first.known() && !(zero_is_unknown && first == 0)) {
    return {static_cast<std::int32_t>(first.size()), {}};
  }
  const Tensor sizes = shape(elem, {}, site);
  return {std::nullopt, take_index(sizes, 0, site)};
}

std::vector<Tensor> element_tensors(const std::vector<Operand>& elems, const char* op, Site site) {
  std::vector<Tensor> tensors;
  for (const Operand& elem : elems) {
    tensors.push_back(convert_operand(get_default_graph(), elem, "elem", std::nullopt));
    const Shape& shape = tensors.back().shape();
    if (!shape.has_rank() || shape.rank() > 0) continue;
    throw ValueError("elems must be 1+ dimensional Tensors, not scalars", {.site = site, .op = op});
  }
  return tensors;
}

Dim common_first_size(const std::vector<Tensor>& elems, const char* op, Site site) {
  const auto first_size = [](const Tensor& elem) {
    return elem.shape().has_rank() ? elem.shape()[0] : Dim(None);
  };
  const Dim size = first_size(elems[0]);
  for (const Tensor& elem : elems) {
    const Dim other = first_size(elem);
    if (!size.known() || !other.known() || size == other) continue;
    throw ValueError(
        fmt::format("Dimensions {} and {} are not compatible", size.size(), other.size()),
        {.site = site, .op = op, .hint = "all elems must have the same first size"});
  }
  return size;
}

std::vector<Tensor> read_all(const std::vector<TensorArray>& arrays, const ScalarOperand& index,
                             Site site) {
  std::vector<Tensor> values;
  for (const TensorArray& array : arrays) values.push_back(array.read(index, {}, site));
  return values;
}

std::vector<Tensor> stack_all(const std::vector<TensorArray>& arrays, Dim count, Site site) {
  std::vector<Tensor> stacked;
  for (const TensorArray& array : arrays) stacked.push_back(array.stack({}, site));
  for (Tensor& value : stacked) {
    if (!value.shape().has_rank()) continue;
    const auto& dims = value.shape().dims();
    const Shape row(std::vector<Dim>(dims.begin() + 1, dims.end()));
    value.set_shape(Shape{count}.concatenated(row), site);
  }
  return stacked;
}

void check_result_count(std::size_t found, std::size_t wanted, const char* op, Site site) {
  if (found == wanted) return;
  throw ValueError(fmt::format("The two structures don't have the same nested structure: the "
                               "function returned {} values, but {} are expected",
                               found, wanted),
                   {.site = site, .op = op});
}

std::vector<Tensor> build_map_fn(const std::vector<Operand>& elems, const FlatFunction& fn,
                                 const MapFnOptions& options, Site site) {
  if (elems.empty()) {
    throw ValueError("elems must be a Tensor or a structure of Tensors, but contains none",
                     {.site = site, .op = "map_fn"});
  }
  Graph& graph = graph_of_elements(elems);
  const DefaultGraphGuard here(graph);
  const NameScope scope(graph, options.name.empty() ? "map" : options.name, site);
  const std::vector<Tensor> tensors = element_tensors(elems, "map_fn", site);
  const Dim first = common_first_size(tensors, "map_fn", site);
  const SliceCount count = slice_count(tensors[0], true, site);
  std::vector<TensorArray> inputs, results;
  for (const Tensor& elem : tensors) {
    inputs.push_back(TensorArray(elem.dtype(), {.size = count.operand(site)}, site));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = inputs[i].unstack(Operand(tensors[i], site), {}, site);
  }
  const Tensor zero = constant(Operand(0, site), {}, site);
  std::vector<DType> dtypes = options.dtype.list();
  if (dtypes.empty()) {
    for (const Tensor& elem : tensors) dtypes.push_back(elem.dtype());
  }
  for (const DType dtype : dtypes) {
    results.push_back(TensorArray(
        dtype, {.size = count.operand(site), .infer_shape = options.infer_shape}, site));
  }
  const auto [index, arrays] = while_loop(
      [&](const Tensor& i, const std::vector<TensorArray>&) {
        return less(i, count.operand(site), {}, site);
      },
      [&](const Tensor& i, std::vector<TensorArray> written) {
        const std::vector<Operand> values = fn(read_all(inputs, ScalarOperand(i, site), site));
        check_result_count(values.size(), written.size(), "map_fn", site);
        for (std::size_t k = 0; k < written.size(); ++k) {
          written[k] = written[k].write(ScalarOperand(i, site), values[k], {}, site);
        }
        return std::tuple(i + 1, written);
      },
      std::tuple(zero, results),
      {.parallel_iterations = options.parallel_iterations,
       .back_prop = options.back_prop,
       .swap_memory = options.swap_memory,
       .maximum_iterations = count.operand(site)},
      site);
  return stack_all(arrays, first, site);
}

}  // namespace towerflow
