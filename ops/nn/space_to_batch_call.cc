#include "ops/nn/space_to_batch_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/graph.h"
#include "core/graph/op_builder.h"
#include "ops/array/concat.h"
#include "ops/array/constant.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/space_to_batch.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/math/binary.h"
#include "ops/nn/conv2d.h"

namespace towerflow::nn {
namespace {

bool is_first_format(const std::optional<std::string>& format) {
  return format && format->starts_with("NC");
}

Operand integers(const std::vector<int>& values, Site site) { return Operand(values, site); }

/// The calls of `with_space_to_batch` after its arguments have been checked.
class SpaceToBatchCall {
 public:
  SpaceToBatchCall(const Tensor& input, std::vector<int> rate, Tensor rate_tensor,
                   std::vector<int> dims, Site site)
      : input_(input),
        rate_(std::move(rate)),
        rate_tensor_(rate_tensor),
        dims_(std::move(dims)),
        site_(site) {}

  /// Makes the paddings of all windows, in the way that depends on the padding.
  void set_base_paddings(const WindowPadding& padding, const WithSpaceToBatchOptions& options) {
    if (padding.text() == "SAME") return set_same_paddings(options);
    std::vector<int> flat(2 * rate_.size(), 0);
    if (padding.text().empty()) {
      const std::size_t first = is_first_format(options.data_format) ? 2 : 1;
      for (std::size_t i = 0; i < rate_.size(); ++i) {
        for (std::size_t side = 0; side < 2; ++side) {
          flat[2 * i + side] = padding.numbers().at(first + i).at(side);
        }
      }
    } else if (padding.text() != "VALID") {
      throw ValueError(
          fmt::format("`padding` must be one of 'SAME' or 'VALID'. Received: {}", padding.text()),
          {.site = site_});
    }
    base_ = matrix(flat);
  }

  Tensor run(const SpaceToBatchOp& op) const {
    const Operand sizes = spatial_sizes();
    const SpaceToBatchPaddings made =
        required_space_to_batch_paddings(sizes, Operand(rate_tensor_, site_), *base_, {}, site_);
    const Operand block = adjusted_rate();
    const Operand paddings = adjusted(made.paddings), crops = adjusted(made.crops);
    const Tensor inside = space_to_batch_nd(input_, block, paddings, {}, site_);
    const Tensor result = op(inside, static_cast<int>(rate_.size()), WindowPadding("VALID"));
    return batch_to_space_nd(result, block, crops, {}, site_);
  }

 private:
  Operand matrix(const std::vector<int>& flat) const {
    const std::vector<std::int32_t> values(flat.begin(), flat.end());
    return Operand(
        Array::of<std::int32_t>(Shape{static_cast<std::int64_t>(flat.size()) / 2, 2}, values),
        site_);
  }

  /// The padding by which a dilated window that covers the image is reduced to one without padding.
  void set_same_paddings(const WithSpaceToBatchOptions& options) {
    if (!options.filter_shape) {
      throw ValueError("`filter_shape` must be specified for `padding='SAME'`.", {.site = site_});
    }
    const Tensor filter = convert_to_tensor(*options.filter_shape, {.name = "filter_shape"}, site_);
    const Array known = constant_value(filter);
    if (!known.empty()) {
      std::vector<int> flat;
      for (std::size_t i = 0; i < rate_.size(); ++i) {
        const std::int64_t size = known.dtype() == DType::int32 ? known.data<std::int32_t>()[i]
                                                                : known.data<std::int64_t>()[i];
        const auto extra = static_cast<int>((size - 1) * rate_[i]);
        flat.push_back(extra / 2);
        flat.push_back(extra - extra / 2);
      }
      base_ = Operand(constant(matrix(flat), {.name = "stack"}, site_), site_);
      return;
    }
    const auto with_site = [this](const Tensor& tensor) { return Operand(tensor, site_); };
    const Tensor sizes = take_range(filter, std::nullopt, static_cast<int>(rate_.size()), site_);
    const Tensor gaps = with_site(sizes) - Operand(1, site_);
    const Tensor extra = with_site(gaps) * with_site(rate_tensor_);
    const Tensor start = floordiv(extra, 2, {.name = "floordiv"}, site_);
    const Tensor end = with_site(extra) - with_site(start);
    std::vector<Nested> rows;
    for (int i = 0; i < static_cast<int>(rate_.size()); ++i) {
      const Tensor before = take_index(start, i, site_);
      rows.emplace_back(Nested(std::vector<Nested>{before, take_index(end, i, site_)}));
    }
    base_ =
        Operand(convert_to_tensor(Operand(Nested(rows), site_), {.name = "stack"}, site_), site_);
  }

  /// Returns the sizes of the spatial dimensions: numbers if the graph knows them.
  Operand spatial_sizes() const {
    std::vector<int> known;
    for (const int dim : dims_) {
      if (!input_.shape().has_rank()) break;
      const Dim size = input_.shape()[static_cast<std::size_t>(dim)];
      if (size.known()) known.push_back(static_cast<int>(size.size()));
    }
    if (known.size() == dims_.size()) return integers(known, site_);
    const Tensor all = shape(input_, {}, site_);
    std::vector<Operand> sizes;
    for (const int dim : dims_) sizes.emplace_back(take_index(all, dim, site_), site_);
    return Operand(stack(sizes, {.name = "stack"}, site_), site_);
  }

  Operand adjusted_rate() const {
    std::vector<int> all;
    int next = 1;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      for (; next < dims_[i]; ++next) all.push_back(1);
      all.push_back(rate_[i]);
      ++next;
    }
    return integers(all, site_);
  }

  /// Returns rows of zeros for dimensions that have no blocks, and the given rows for the others.
  Operand adjusted(const Tensor& rows) const {
    const Array known = constant_value(rows);
    if (!known.empty()) {
      std::vector<int> flat;
      int next = 1;
      for (std::size_t i = 0; i < dims_.size(); ++i) {
        for (; next < dims_[i]; ++next) flat.insert(flat.end(), {0, 0});
        for (std::size_t side = 0; side < 2; ++side)
          flat.push_back(known.data<std::int32_t>()[2 * i + side]);
        ++next;
      }
      return matrix(flat);
    }
    std::vector<Operand> parts;
    int next = 1;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (next < dims_[i]) {
        parts.emplace_back(
            matrix(std::vector<int>(2 * static_cast<std::size_t>(dims_[i] - next), 0)));
      }
      std::size_t last = i;
      while (last + 1 < dims_.size() && dims_[last + 1] == dims_[last] + 1) ++last;
      parts.emplace_back(take_range(rows, static_cast<int>(i), static_cast<int>(last) + 1, site_));
      next = dims_[last] + 1;
      i = last;
    }
    return Operand(concat(parts, 0, {}, site_), site_);
  }

  Tensor input_;
  std::vector<int> rate_;
  Tensor rate_tensor_;
  std::vector<int> dims_;
  Site site_;
  std::optional<Operand> base_;
};

}  // namespace

Tensor with_space_to_batch(const Operand& input, const std::vector<int>& dilation_rate,
                           const WindowPadding& padding, const SpaceToBatchOp& op,
                           WithSpaceToBatchOptions options, Site site) {
  const Tensor images = convert_to_tensor(input, {.name = "input"}, site);
  const Tensor rates = constant(integers(dilation_rate, site), {.name = "dilation_rate"}, site);
  const int count = static_cast<int>(dilation_rate.size());
  const bool first = is_first_format(options.data_format);
  std::vector<int> dims = options.spatial_dims.value_or(std::vector<int>());
  if (!options.spatial_dims) {
    for (int i = 0; i < count; ++i) dims.push_back(i + (first ? 2 : 1));
  }
  const bool increases =
      std::adjacent_find(dims.begin(), dims.end(), std::greater_equal<>()) == dims.end();
  if (dims.empty() || dims.size() != dilation_rate.size() || !increases || dims.front() < 1) {
    throw ValueError(fmt::format("`spatial_dims` must be {} increasing positive integers. "
                                 "Received: [{}]",
                                 count, fmt::join(dims, ", ")),
                     {.site = site});
  }
  const Shape& shape = images.shape();
  if (shape.has_rank() && static_cast<int>(shape.rank()) <= dims.back()) {
    throw ValueError(fmt::format("`input.shape.rank` must be at least {}. Received: {}",
                                 dims.back() + 1, shape.text()),
                     {.site = site});
  }
  if (std::any_of(dilation_rate.begin(), dilation_rate.end(), [](int rate) { return rate < 1; })) {
    throw ValueError(fmt::format("`dilation_rate` must be positive. Received: [{}]",
                                 fmt::join(dilation_rate, ", ")),
                     {.site = site});
  }
  if (std::all_of(dilation_rate.begin(), dilation_rate.end(), [](int rate) { return rate == 1; }))
    return op(images, count, padding);
  check_explicit_padding(padding, site);
  SpaceToBatchCall call(images, dilation_rate, rates, dims, site);
  call.set_base_paddings(padding, options);
  return call.run(op);
}

}  // namespace towerflow::nn
