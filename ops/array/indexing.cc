#include "ops/array/indexing.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/boolean_mask.h"
#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/stack.h"
#include "ops/array/stack_attrs.h"
#include "ops/array/strided_slice.h"
#include "ops/math/binary.h"

namespace towerflow {
namespace {

void check_index_tensor(const IndexBound& bound, Site site) {
  const Tensor* tensor = bound.tensor();
  if (tensor == nullptr) return;
  const bool vector = tensor->shape().has_rank() && tensor->shape().rank() == 1;
  if (is_index(tensor->dtype()) && !vector) return;
  throw TypeError(
      fmt::format("Only integers, ranges, tf::all, tf::ellipsis, tf::newaxis and scalar int32 or "
                  "int64 tensors are valid indices, got {} of {} {}",
                  tensor->name(), dtype_name(tensor->dtype()), tensor->shape().text()),
      {.site = site,
       .op = "StridedSlice",
       .hint = vector ? "tf::gather takes the elements at several indices" : ""});
}

/// What becomes begin, end or strides.
struct BoundList {
  std::vector<Operand> items{};
  bool has_tensor = false;
  bool has_dimension = false;  ///< see IndexBound::is_dimension

  void add(Operand item, bool is_dimension = false) {
    has_tensor |= item.tensor() != nullptr;
    has_dimension |= is_dimension;
    items.push_back(std::move(item));
  }

  Tensor pack(Site site) const {
    if (has_tensor || !has_dimension) return stack(items, {}, site);
    // TensorFlow cannot make a constant of a list with sizes of dimensions. It converts the first
    // item, for its shape, and packs all.
    convert_operand(get_default_graph(), items[0], "stack", std::nullopt);
    OpBuilder builder("Pack", "stack", site);
    for (std::size_t i = 0; i < items.size(); ++i) {
      builder.input(items[i], fmt::format("values_{}", i).c_str());
    }
    return builder.attrs(PackAttrs()).output();
  }
};

/// The lists that become begin, end and strides, and the masks.
struct SliceEntries {
  Site site;
  BoundList begin{}, end{}, strides{};
  StridedSliceOptions options{};

  Operand number(std::int64_t value) const { return Operand(value, site); }

  void add_mark(IndexMark mark, int bit) {
    if (mark == IndexMark::all) {
      options.begin_mask |= bit;
      options.end_mask |= bit;
    }
    if (mark == IndexMark::ellipsis) options.ellipsis_mask |= bit;
    if (mark == IndexMark::newaxis) options.new_axis_mask |= bit;
    begin.add(number(0));
    end.add(number(0));
    strides.add(number(1));
  }

  void add_element(const IndexBound& at) {
    check_index_tensor(at, site);
    if (at.number() != nullptr) {
      // The end of the last element is 0; the mask makes it irrelevant.
      const auto behind = static_cast<std::int64_t>(static_cast<std::uint64_t>(*at.number()) + 1);
      begin.add(number(*at.number()), at.is_dimension());
      end.add(number(behind), at.is_dimension());
      return strides.add(number(1));
    }
    const Operand own(*at.tensor(), site);
    const Tensor next = own + number(1);
    begin.add(own);
    end.add(Operand(next, site));
    const bool wide = at.tensor()->dtype() == DType::int64;
    strides.add(wide ? Operand(constant(1, {.dtype = DType::int64}, site), site) : number(1));
  }

  /// The dtype of open ends is that of the tensors in the range.
  void add_range(const Index& range, int bit) {
    std::optional<DType> dtype;
    for (const IndexBound* bound : {&range.begin(), &range.end(), &range.step()}) {
      if (bound->tensor() == nullptr) continue;
      if (bound->tensor()->dtype() == DType::int64) {
        dtype = DType::int64;
      } else if (bound->tensor()->dtype() == DType::int32 && dtype != DType::int64) {
        dtype = DType::int32;
      }
    }
    const auto bound_or = [&](const IndexBound& bound, int open) {
      check_index_tensor(bound, site);
      if (bound.tensor() != nullptr) return Operand(*bound.tensor(), site);
      if (bound.number() != nullptr) return number(*bound.number());
      if (dtype) return Operand(constant(open, {.dtype = *dtype}, site), site);
      return number(open);
    };
    if (range.begin().open()) options.begin_mask |= bit;
    if (range.end().open()) options.end_mask |= bit;
    begin.add(bound_or(range.begin(), 0), range.begin().is_dimension());
    end.add(bound_or(range.end(), 0), range.end().is_dimension());
    strides.add(bound_or(range.step(), 1), range.step().is_dimension());
  }
};

/// Bounds of different dtypes become int64.
void widen_bounds(Tensor& begin, Tensor& end, Tensor& strides, Site site) {
  bool wide = false;
  for (const Tensor* one : {&begin, &end, &strides}) wide |= one->dtype() == DType::int64;
  if (!wide) return;
  for (Tensor* one : {&begin, &end, &strides}) *one = cast(*one, DType::int64, {}, site);
}

bool is_mask(const Index& index) {
  const Tensor* tensor = index.is_range() ? nullptr : index.begin().tensor();
  return tensor != nullptr && tensor->dtype() == DType::bool_;
}

}  // namespace

Tensor Tensor::operator[](const Indices& at) const {
  const Site site = at.site();
  const std::vector<Index>& items = at.items();
  if (at.single() && is_mask(items[0])) {
    return boolean_mask(*this, *items[0].begin().tensor(), {}, site);
  }
  if (items.size() > 31) {
    throw ValueError(fmt::format("an index has {} entries; 31 are allowed", items.size()),
                     {.site = site, .op = "StridedSlice"});
  }
  const DefaultGraphGuard here = graph().as_default();  // for indices without tensors
  SliceEntries entries{site};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const int bit = 1 << i;
    if (items[i].mark()) {
      entries.add_mark(*items[i].mark(), bit);
    } else if (items[i].is_range()) {
      entries.add_range(items[i], bit);
    } else {
      entries.options.shrink_axis_mask |= bit;
      entries.add_element(items[i].begin());
    }
  }
  const NameScope scope(graph(), "strided_slice", site);
  entries.options.name = scope.name();
  const Operand input(*this, site);
  if (items.empty()) {
    const Operand none(constant(Array(DType::int32, Shape{0}), {}, site), site);
    return strided_slice(input, none, none, none, entries.options, site);
  }
  Tensor begin = entries.begin.pack(site);
  Tensor end = entries.end.pack(site);
  Tensor strides = entries.strides.pack(site);
  widen_bounds(begin, end, strides, site);
  return strided_slice(input, Operand(begin, site), Operand(end, site), Operand(strides, site),
                       entries.options, site);
}

Tensor take_index(const Tensor& input, int index, Site site) { return input[Indices(index, site)]; }

Tensor take_range(const Tensor& input, std::optional<int> begin, std::optional<int> end,
                  Site site) {
  const auto bound = [](std::optional<int> value) {
    return value ? IndexBound(*value) : IndexBound(std::nullopt);
  };
  return input[Indices({Index(bound(begin), bound(end))}, site)];
}

}  // namespace towerflow
