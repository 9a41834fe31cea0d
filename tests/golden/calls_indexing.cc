// Plain calls that select elements: indices, masks, partitions, sets.
#include "ops/array/boolean_mask.h"
#include "ops/array/dynamic_partition.h"
#include "ops/array/gather.h"
#include "ops/array/gather_nd.h"
#include "ops/array/indexing.h"
#include "ops/array/select.h"
#include "ops/array/slice.h"
#include "ops/array/sparse_to_dense.h"
#include "ops/array/strided_slice.h"
#include "ops/array/tensor_scatter.h"
#include "ops/array/unique.h"
#include "ops/math/argmax.h"
#include "ops/math/sort.h"
#include "ops/nn/top_k.h"
#include "tests/golden/call.h"

namespace towerflow::golden {
namespace {

IndexBound bound_of(const Value& value) {
  if (value.none()) return std::nullopt;
  if (const auto* number = value.get_if<std::int64_t>()) return *number;
  return to_tensor(value);
}

/// Returns an entry of `tensor[..]`: a number, a tensor, "..." , None for a new dimension, or a
/// list [begin, end, step].
Index index_of(const Value& value) {
  if (value.none()) return std::nullopt;
  if (const auto* number = value.get_if<std::int64_t>()) return *number;
  if (value.get_if<std::string>() != nullptr) return ellipsis;
  if (value.list() == nullptr) return to_tensor(value);
  const List& range = *value.list();
  return {bound_of(range.at(0)), bound_of(range.at(1)), bound_of(range.at(2))};
}

template <auto kFunction>
void add_scatter(HandlerTable& table, const char* op) {
  add_call(table, op, [](const Args& a) {
    return kFunction(a.operand("tensor"), a.operand("indices"), a.operand("updates"),
                     with<TensorScatterOptions>(a), Site::current());
  });
}

void add_scatters(HandlerTable& table) {
  add_scatter<tensor_scatter_nd_update>(table, "tensor_scatter_nd_update");
  add_scatter<tensor_scatter_nd_add>(table, "tensor_scatter_nd_add");
  add_scatter<tensor_scatter_nd_sub>(table, "tensor_scatter_nd_sub");
  add_call(table, "scatter_nd", [](const Args& a) {
    return scatter_nd(a.operand("indices"), a.operand("updates"), a.operand("shape"),
                      with<ScatterNdOptions>(a));
  });
  add_call(table, "sparse_to_dense", [](const Args& a) {
    using O = SparseToDenseOptions;
    const auto options = with<O>(a, "validate_indices", &O::validate_indices);
    const Operand zero = a.has("default_value") ? a.operand("default_value") : Operand(0);
    return sparse_to_dense(a.operand("sparse_indices"), a.operand("output_shape"),
                           a.operand("sparse_values"), zero, options);
  });
}

void add_slices(HandlerTable& table) {
  add_call(table, "getitem", [](const Args& a) {
    std::vector<Index> items;
    for (const Value& item : a.list("index")) items.push_back(index_of(item));
    return a.tensor("tensor")[Indices(items)];
  });
  add_call(table, "slice", [](const Args& a) {
    return slice(a.operand("input_"), a.operand("begin"), a.operand("size"), with<SliceOptions>(a));
  });
  add_call(table, "strided_slice", [](const Args& a) {
    using O = StridedSliceOptions;
    const auto options = with<O>(a, "begin_mask", &O::begin_mask, "end_mask", &O::end_mask,
                                 "ellipsis_mask", &O::ellipsis_mask, "new_axis_mask",
                                 &O::new_axis_mask, "shrink_axis_mask", &O::shrink_axis_mask);
    const Operand begin = a.operand("begin"), end = a.operand("end");
    if (a.value("strides").none()) return strided_slice(a.operand("input_"), begin, end, options);
    return strided_slice(a.operand("input_"), begin, end, a.operand("strides"), options);
  });
  add_call(table, "gather", [](const Args& a) {
    using O = GatherOptions;
    return gather(a.operand("params"), a.operand("indices"),
                  with<O>(a, "axis", &O::axis, "batch_dims", &O::batch_dims));
  });
  add_call(table, "gather_nd", [](const Args& a) {
    return gather_nd(a.operand("params"), a.operand("indices"), with<GatherNdOptions>(a));
  });
}

template <auto kWhere, auto kSelect>
void add_where(HandlerTable& table, const char* op) {
  add_call(table, op, [](const Args& a) -> Tensor {
    const Operand condition = a.operand("condition");
    if (a.value("x").none() && a.value("y").none()) {
      return kWhere(condition, with<WhereOptions>(a), Site::current());
    }
    return kSelect(condition, a.operand("x"), a.operand("y"), with<SelectOptions>(a),
                   Site::current());
  });
}
using Where = Tensor (*)(const Operand&, WhereOptions, Site);
using Select = Tensor (*)(const Operand&, const Operand&, const Operand&, SelectOptions, Site);

void add_sets(HandlerTable& table) {
  add_call(table, "unique", [](const Args& a) {
    const auto found =
        unique(a.operand("x"), with<UniqueOptions>(a, "out_idx", &UniqueOptions::out_idx));
    return List{found.y, found.idx};
  });
  add_call(table, "unique_with_counts", [](const Args& a) {
    const auto found = unique_with_counts(
        a.operand("x"), with<UniqueOptions>(a, "out_idx", &UniqueOptions::out_idx));
    return List{found.y, found.idx, found.count};
  });
  add_call(table, "setdiff1d", [](const Args& a) {
    using O = SetDiff1dOptions;
    const auto left =
        setdiff1d(a.operand("x"), a.operand("y"), with<O>(a, "index_dtype", &O::index_dtype));
    return List{left.out, left.idx};
  });
  add_call(table, "dynamic_partition", [](const Args& a) {
    return dynamic_partition(a.operand("data"), a.operand("partitions"),
                             read<int>(a, "num_partitions"), with<DynamicPartitionOptions>(a));
  });
  add_call(table, "dynamic_stitch", [](const Args& a) {
    return dynamic_stitch(operands(a, "indices"), operands(a, "data"),
                          with<DynamicStitchOptions>(a));
  });
}

void add_orders(HandlerTable& table) {
  add_call(table, "sort", [](const Args& a) {
    using O = SortOptions;
    return sort(a.operand("values"), with<O>(a, "axis", &O::axis, "direction", &O::direction));
  });
  add_call(table, "argsort", [](const Args& a) {
    using O = ArgSortOptions;
    return argsort(a.operand("values"),
                   with<O>(a, "axis", &O::axis, "direction", &O::direction, "stable", &O::stable));
  });
  add_call(table, "top_k", [](const Args& a) {
    using O = nn::TopKOptions;
    const auto options = with<O>(a, "sorted", &O::sorted);
    const auto top = a.value("k").none() ? nn::top_k(a.operand("input"), options)
                                         : nn::top_k(a.operand("input"), a.operand("k"), options);
    return List{top.values, top.indices};
  });
  add_call(table, "argmin", [](const Args& a) {
    using O = ArgMaxOptions;
    const Operand axis = a.value("axis").none() ? Operand(0) : a.operand("axis");
    return argmin(a.operand("input"), axis, with<O>(a, "output_type", &O::output_type));
  });
}

}  // namespace

void add_indexing_calls(HandlerTable& table) {
  add_scatters(table);
  add_slices(table);
  add_sets(table);
  add_orders(table);
  add_where<static_cast<Where>(where), static_cast<Select>(where)>(table, "where");
  add_where<static_cast<Where>(where_v2), static_cast<Select>(where_v2)>(table, "where_v2");
}

}  // namespace towerflow::golden
