#include "ops/control/scan.h"

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/constant.h"
#include "ops/control/element_loop.h"
#include "ops/control/while_loop.h"
#include "ops/math/binary.h"

namespace towerflow {
namespace {

/// Returns the dimensions of a slice.
Shape element_shape_of(const Tensor& elem) {
  if (!elem.shape().has_rank()) return Shape::unknown();
  const auto& dims = elem.shape().dims();
  return Shape(std::vector<Dim>(dims.begin() + 1, dims.end()));
}

std::vector<Operand> as_operands(const std::vector<Tensor>& tensors, Site site) {
  std::vector<Operand> operands;
  for (const Tensor& tensor : tensors) operands.push_back(Operand(tensor, site));
  return operands;
}

}  // namespace

std::vector<Tensor> build_scan(const std::vector<Operand>& elems, const FlatValues& initializer,
                               const FlatStep& fn, const ScanOptions& options, Site site) {
  Graph& graph = graph_of_elements(elems);
  const DefaultGraphGuard here(graph);
  const NameScope scope(graph, options.name.empty() ? "scan" : options.name, site);
  const std::vector<Tensor> tensors = element_tensors(elems, "scan", site);
  const SliceCount count = slice_count(tensors[0], false, site);
  const auto first_index = [&] {
    return options.reverse ? count.minus(1, site) : ScalarOperand(0, site);
  };
  std::vector<TensorArray> inputs, results;
  for (const Tensor& elem : tensors) {
    inputs.push_back(
        TensorArray(elem.dtype(),
                    {.size = count.operand(site), .element_shape = element_shape_of(elem)}, site));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = inputs[i].unstack(Operand(tensors[i], site), {}, site);
  }
  std::vector<Tensor> first;
  if (initializer) {
    for (const Operand& value : *initializer) {
      first.push_back(convert_operand(graph, value, "", std::nullopt));
    }
  } else {
    for (const TensorArray& input : inputs) first.push_back(input.read(first_index(), {}, site));
  }
  for (const Tensor& value : first) {
    TensorArrayOptions made{.size = count.operand(site), .infer_shape = options.infer_shape};
    if (options.infer_shape) made.element_shape = value.shape();
    results.push_back(TensorArray(value.dtype(), std::move(made), site));
  }
  if (!initializer) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i] = results[i].write(first_index(), Operand(first[i], site), {}, site);
    }
  }
  const std::int32_t done = initializer ? 0 : 1;
  const auto start = [&]() -> Operand {
    if (!options.reverse) return Operand(done, site);
    if (count.known) return Operand(*count.known - 1 - done, site);
    const Tensor last = count.tensor - 1;
    return Operand(last - done, site);
  };
  const Operand initial = start();
  const auto [index, values, arrays] = while_loop(
      [&](const Tensor& i, const std::vector<Tensor>&, const std::vector<TensorArray>&) {
        return options.reverse ? greater_equal(i, 0, {}, site)
                               : less(i, count.operand(site), {}, site);
      },
      [&](const Tensor& i, const std::vector<Tensor>& before, std::vector<TensorArray> written) {
        const ScalarOperand at(i, site);
        const std::vector<Operand> next = fn(before, read_all(inputs, at, site));
        check_result_count(next.size(), before.size(), "scan", site);
        for (std::size_t k = 0; k < written.size(); ++k) {
          written[k] = written[k].write(at, next[k], {}, site);
        }
        const Tensor then = options.reverse ? i - 1 : i + 1;
        return std::tuple(then, next, written);
      },
      std::tuple(initial, first, results),
      {.parallel_iterations = options.parallel_iterations,
       .back_prop = options.back_prop,
       .swap_memory = options.swap_memory,
       .maximum_iterations = count.operand(site)},
      site);
  return stack_all(arrays, common_first_size(tensors, "scan", site), site);
}

std::vector<Tensor> build_fold(const std::vector<Operand>& elems, const FlatValues& initializer,
                               const FlatStep& fn, bool from_right, const FoldOptions& options,
                               Site site) {
  const char* const op = from_right ? "foldr" : "foldl";
  Graph& graph = graph_of_elements(elems);
  const DefaultGraphGuard here(graph);
  const NameScope scope(graph, options.name.empty() ? op : options.name, site);
  const std::vector<Tensor> tensors = element_tensors(elems, op, site);
  const SliceCount count = slice_count(tensors[0], true, site);
  std::vector<TensorArray> inputs;
  for (const Tensor& elem : tensors) {
    const TensorArray made(elem.dtype(), {.size = count.operand(site)}, site);
    inputs.push_back(made.unstack(Operand(elem, site), {}, site));
  }
  std::vector<Operand> first;
  Operand initial(0, site);
  if (initializer) {
    first = *initializer;
    if (from_right)
      initial = count.operand(site);
    else
      initial = Operand(constant(Operand(0, site), {}, site), site);
  } else if (from_right) {
    initial = count.minus(1, site);
    first = as_operands(read_all(inputs, ScalarOperand(initial), site), site);
  } else {
    first = as_operands(read_all(inputs, ScalarOperand(0, site), site), site);
    initial = Operand(constant(Operand(1, site), {}, site), site);
  }
  const auto [index, values] = while_loop(
      [&](const Tensor& i, const std::vector<Tensor>&) {
        return from_right ? greater(i, 0, {}, site) : less(i, count.operand(site), {}, site);
      },
      [&](const Tensor& i, const std::vector<Tensor>& before) {
        const Tensor at = from_right ? i - 1 : i;
        const std::vector<Operand> next =
            fn(before, read_all(inputs, ScalarOperand(at, site), site));
        check_result_count(next.size(), before.size(), op, site);
        return std::tuple(from_right ? at : i + 1, next);
      },
      std::tuple(initial, first),
      {.parallel_iterations = options.parallel_iterations,
       .back_prop = options.back_prop,
       .swap_memory = options.swap_memory,
       .maximum_iterations = count.operand(site)},
      site);
  return values;
}

}  // namespace towerflow
