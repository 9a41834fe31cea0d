#include "ops/export_forms.h"

#include "core/graph/node_attrs.h"
#include "ops/array/cast_value.h"

namespace towerflow::export_forms {
namespace {

using Tensors = std::vector<FormTensor>;

FormTensor integers(FormWriter& form, std::vector<std::int32_t> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return form.constant(Array::of<std::int32_t>(Shape{size}, values));
}
FormTensor integer(FormWriter& form, std::int32_t value) {
  return form.constant(Array::scalar(value));
}

/// Returns a scalar constant of the dtype of `like`.
FormTensor number(FormWriter& form, const FormTensor& like, double value) {
  Array array(like.dtype(), Shape{});
  dispatch_dtype(like.dtype(),
                 [&]<class T>() { array.data<T>()[0] = cast_value<double, T>(value); });
  return form.constant(std::move(array));
}

FormTensor to_dtype(FormWriter& form, const FormTensor& x, DType dtype) {
  return x.dtype() == dtype ? x : form.add("Cast", {x}, {{"DstT", dtype}});
}

FormTensor vector_of(FormWriter& form, const FormTensor& scalar) {
  return form.add("Reshape", {scalar, integers(form, {1})});
}

/// Returns the axes of a tensor of rank `rank` as a vector, with negative axes made non-negative.
FormTensor nonnegative_axes(FormWriter& form, const FormTensor& axes, const FormTensor& rank) {
  return form.add("FloorMod", {form.add("Reshape", {axes, integers(form, {-1})}),
                               to_dtype(form, rank, axes.dtype())});
}

/// Returns a vector of bools: for each dimension, whether it is one of the axes.
FormTensor mask_of(FormWriter& form, const FormTensor& axes, const FormTensor& rank) {
  const FormTensor rows =
      form.add("OneHot", {nonnegative_axes(form, axes, rank), rank,
                          form.constant(Array::scalar(true)), form.constant(Array::scalar(false))});
  return form.add("Any", {rows, integers(form, {0})});
}

/// Returns the indices at which a vector of bools is true, as a vector.
FormTensor true_indices(FormWriter& form, const FormTensor& mask) {
  return form.add("Reshape", {form.add("Where", {mask}), integers(form, {-1})});
}

}  // namespace

void sum_to_shape(FormWriter& form) {
  const FormTensor dy = form.input(0), sizes = form.input(1);
  const FormTensor given = form.add("Shape", {dy}, {{"out_type", sizes.dtype()}});
  const FormTensor axes = form.add("BroadcastGradientArgs", {sizes, given});
  form.add("Reshape", {form.add("Sum", {dy, axes}), sizes});
}

void reduced_shape(FormWriter& form) {
  const FormTensor sizes = form.input(0), axes = form.input(1);
  const FormTensor reduced = mask_of(form, axes, form.add("Size", {sizes}));
  form.add("SelectV2", {reduced, integer(form, 1), sizes});
}

void gathered_shape(FormWriter& form) {
  const FormTensor sizes = form.input(0), indices = form.input(1);
  const FormTensor count = vector_of(form, form.add("Size", {indices}));
  const FormTensor rest = form.add("Slice", {sizes, integers(form, {1}), integers(form, {-1})});
  form.add("ConcatV2", {count, rest, integer(form, 0)});
}

void gather_or_zero(FormWriter& form) {
  const FormTensor params = form.input(0), ids = form.input(1);
  const FormTensor zero = form.add("ZerosLike", {ids});
  const FormTensor rows =
      form.add("GatherV2", {params, form.add("Maximum", {ids, zero}), integer(form, 0)});
  const FormTensor inner = form.add("Sub", {form.add("Rank", {params}), integer(form, 1)});
  const FormTensor ones = form.add("Fill", {vector_of(form, inner), integer(form, 1)});
  const FormTensor sizes = form.add("ConcatV2", {form.add("Shape", {ids}), ones, integer(form, 0)});
  const FormTensor inside = form.add("Reshape", {form.add("GreaterEqual", {ids, zero}), sizes});
  form.add("SelectV2", {inside, rows, form.add("ZerosLike", {rows})});
}

void slice_grad(FormWriter& form) {
  const FormTensor dy = form.input(0), sizes = form.input(2);
  const FormTensor before = to_dtype(form, form.input(1), DType::int32);
  const FormTensor end = form.add("AddV2", {before, form.add("Shape", {dy})});
  const FormTensor behind = form.add("Sub", {sizes, end});
  form.add("Pad", {dy, form.add("Pack", {before, behind}, {{"axis", 1}})});
}

void concat_begin(FormWriter& form) {
  const FormTensor axis = form.input(0), sizes = form.add("Shape", {form.input(1)});
  const FormTensor rank = form.add("Size", {sizes});
  const FormTensor at = form.add("FloorMod", {axis, to_dtype(form, rank, axis.dtype())});
  const FormTensor along = form.add("OneHot", {at, rank, integer(form, 1), integer(form, 0)});
  if (form.num_inputs() == 2) {
    form.add("ZerosLike", {along});
  } else {
    form.add("AddV2", {form.input(2), form.add("Mul", {along, sizes})});
  }
}

namespace {

/// Returns the products of all but one of the elements along the last axis. With factors, computes
/// what ProductOfOthers does: the sum, over the other elements, of the first factor's element times
/// this function of the remaining factors, with that element left out too.
FormTensor products_of_others(FormWriter& form, const FormTensor& x, const Tensors& factors,
                              const FormTensor& diagonal) {
  const auto without_diagonal = [&](const FormTensor& values, double in_its_place) {
    const FormTensor wide = form.add("ExpandDims", {values, integer(form, -2)});
    return form.add("SelectV2", {diagonal, number(form, x, in_its_place), wide});
  };
  const FormTensor rest = without_diagonal(x, 1);
  if (factors.empty()) return form.add("Prod", {rest, integers(form, {-1})});
  Tensors left;
  for (const FormTensor& one : factors) left.push_back(without_diagonal(one, 0));
  const FormTensor first = left.front();
  left.erase(left.begin());
  const FormTensor terms = form.add("Mul", {first, products_of_others(form, rest, left, diagonal)});
  return form.add("Sum", {terms, integers(form, {-1})});
}

}  // namespace

void product_of_others(FormWriter& form) {
  const FormTensor x = form.input(0), sizes = form.add("Shape", {x});
  const FormTensor reduced = mask_of(form, form.input(1), form.add("Size", {sizes}));
  const FormTensor kept = true_indices(form, form.add("LogicalNot", {reduced}));
  const FormTensor axes = true_indices(form, reduced);
  const FormTensor order = form.add("ConcatV2", {kept, axes, integer(form, 0)});
  const auto elements = [&](const FormTensor& dims) {
    const FormTensor of = form.add("GatherV2", {sizes, dims, integer(form, 0)});
    return form.add("Prod", {of, integers(form, {0})});
  };
  const FormTensor length = elements(axes);
  const FormTensor flat_sizes = form.add("Pack", {elements(kept), length});
  const auto flat = [&](const FormTensor& values) {
    return form.add("Reshape", {form.add("Transpose", {values, order}), flat_sizes});
  };
  Tensors factors;
  for (std::size_t i = 2; i < form.num_inputs(); ++i) factors.push_back(flat(form.input(i)));
  const FormTensor count = form.add("Range", {integer(form, 0), length, integer(form, 1)});
  const FormTensor diagonal =
      form.add("Equal", {form.add("ExpandDims", {count, integer(form, 1)}), count});
  const FormTensor result = products_of_others(form, flat(x), factors, diagonal);
  const FormTensor moved_sizes = form.add("GatherV2", {sizes, order, integer(form, 0)});
  form.add("Transpose",
           {form.add("Reshape", {result, moved_sizes}), form.add("InvertPermutation", {order})});
}

namespace {

/// IndexedSlices whose indices are unique.
struct Rows {
  FormTensor values, indices;
};

Rows deduplicated_rows(FormWriter& form) {
  const FormTensor values = form.input("grad"), indices = form.input("indices");
  const Tensors unique = form.add_foreign("Unique", {"x: T"}, {"y: T", "idx: int32"}, {indices});
  const FormTensor count = form.add("Size", {unique[0]});
  return {form.add("UnsortedSegmentSum", {values, unique[1], count}), unique[0]};
}

}  // namespace

void sparse_apply(FormWriter& form) {
  const Rows rows = deduplicated_rows(form);
  Tensors inputs;
  for (std::size_t i = 0; i < form.num_inputs(); ++i) inputs.push_back(form.input(i));
  for (FormTensor& one : inputs) {
    if (one.name == form.input("grad").name) one = rows.values;
    if (one.name == form.input("indices").name) one = rows.indices;
  }
  form.add(form.node().op->name, inputs, node_attributes(form.node()));
}

void sparse_apply_adam(FormWriter& form) {
  const Rows rows = deduplicated_rows(form);
  const FormTensor one = number(form, rows.values, 1);
  const auto one_minus = [&](const FormTensor& of) { return form.add("Sub", {one, of}); };
  const AttrMap own = node_attributes(form.node());
  const AttrMap locking{{"use_locking", own.at("use_locking")}};
  // Updates the slot to slot * decay + gradient * (1 - decay) and returns it.
  const auto decayed = [&](const char* slot, const char* decay, const FormTensor& gradient) {
    const FormTensor ref = form.input(slot), factor = form.input(decay);
    const FormTensor kept = form.add("Assign", {ref, form.add("Mul", {ref, factor})}, locking);
    const FormTensor added = form.add("Mul", {gradient, one_minus(factor)});
    return form.add("ScatterAdd", {ref, rows.indices, added}, locking, {kept});
  };
  const FormTensor square = form.add("Square", {rows.values});
  const FormTensor m = decayed("m", "beta1", rows.values), v = decayed("v", "beta2", square);
  const FormTensor correction =
      form.add("RealDiv", {form.add("Sqrt", {one_minus(form.input("beta2_power"))}),
                           one_minus(form.input("beta1_power"))});
  const FormTensor rate = form.add("Mul", {form.input("lr"), correction});
  const FormTensor divisor = form.add("AddV2", {form.add("Sqrt", {v}), form.input("epsilon")});
  const FormTensor step = form.add("RealDiv", {form.add("Mul", {rate, m}), divisor});
  form.add("AssignSub", {form.input("var"), step}, locking);
}

}  // namespace towerflow::export_forms
