#include "ops/data_flow/assert_values.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/array/view.h"
#include "ops/control/group.h"
#include "ops/data_flow/assert.h"
#include "ops/data_flow/assert_types.h"
#include "ops/data_flow/summarize_value.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"

namespace towerflow {
namespace {

/// A comparison of x and y: its symbol, its assertion and the op that tests it.
struct ValueCheck {
  const char* symbol;
  const char* name;
  Tensor (*test)(const Operand& x, const Operand& y, BinaryOptions options, Site site);
  /// Whether it holds if x is less than y, equal to it, or greater; NaN is unequal to all.
  bool less, equal, greater, unordered;
};

constexpr ValueCheck kEqual{"==", "assert_equal", equal, false, true, false, false};
constexpr ValueCheck kNoneEqual{"!=", "assert_none_equal", not_equal, true, false, true, true};
constexpr ValueCheck kLess{"<", "assert_less", less, true, false, false, false};
constexpr ValueCheck kLessEqual{"<=", "assert_less_equal", less_equal, true, true, false, false};
constexpr ValueCheck kGreater{">", "assert_greater", greater, false, false, true, false};
constexpr ValueCheck kGreaterEqual{">=", "assert_greater_equal", greater_equal, false, true, true,
                                   false};

template <class T>
bool check_holds(const ValueCheck& check, const T& x, const T& y) {
  if (x < y) return check.less;
  if (x == y) return check.equal;
  if (y < x) return check.greater;
  return check.unordered;
}

/// Returns the offset in `shape`, which broadcasts to `sizes`, of element `index` of the result.
std::int64_t broadcast_offset(const Shape& shape, const std::vector<std::int64_t>& sizes,
                              std::int64_t index) {
  std::int64_t offset = 0;
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t at = index % sizes[sizes.size() - 1 - i];
    index /= sizes[sizes.size() - 1 - i];
    if (i >= shape.rank()) continue;
    const std::int64_t size = shape.size(shape.rank() - 1 - i);
    if (size != 1) offset += at * stride;
    stride *= size;
  }
  return offset;
}

/// Returns whether the check holds for all elements; `tested` is the broadcast shape.
bool holds_for_all(const ValueCheck& check, const Array& x, const Array& y, const Shape& tested) {
  const std::vector<std::int64_t> sizes = tested.sizes();
  bool all = true;
  const auto compare = [&]<class T>() {
    for (std::int64_t i = 0; i < tested.elements(); ++i) {
      all &= check_holds(check, x.data<T>()[broadcast_offset(x.shape(), sizes, i)],
                         y.data<T>()[broadcast_offset(y.shape(), sizes, i)]);
    }
  };
  if (x.dtype() == DType::string)
    compare.template operator()<std::string>();
  else
    dispatch_dtype(x.dtype(), compare);
  return all;
}

/// Returns an item of a message as text: the value of a constant, the name of another tensor.
std::string static_text(const Operand& item) {
  Array value;
  if (const Tensor* tensor = item.tensor()) {
    value = constant_value(*tensor);
    if (value.empty()) return tensor->name();
  } else if (item.nested() != nullptr && !item.nested()->holds_tensor()) {
    value = to_array(*item.nested());
  } else if (item.array() != nullptr) {
    value = *item.array();
  } else {
    return "tensors";
  }
  const std::string text = summarize_value(value.dtype(), value.shape(), value.raw(), -1);
  return value.shape().rank() == 0 ? text : "[" + text + "]";
}

/// Returns the value of a constant, also through casts and identities, else an empty Array.
Array asserted_value(const Tensor& tensor) {
  const std::string& type = tensor.op().type();
  if (type == "Identity") return asserted_value(tensor.op().input(0));
  if (type != "Cast") return constant_value(tensor);
  const Array whole = asserted_value(tensor.op().input(0));
  return whole.empty() ? whole : cast_elements(whole, tensor.dtype());
}

Operation assert_values(const ValueCheck& check, const Operand& x, const Operand& y,
                        AssertValuesOptions options, Site site) {
  Graph& graph = graph_of(x, y);
  const NameScope scope(graph, options.name.empty() ? check.name : options.name, site);
  const Tensor left = convert_operand(graph, x, "x", std::nullopt);
  const Tensor right = convert_operand(graph, y, "y", std::nullopt);
  std::vector<Operand> data;
  if (options.message) data.emplace_back(*options.message, site);
  if (options.data) {
    data.insert(data.end(), options.data->begin(), options.data->end());
  } else {
    data.emplace_back(fmt::format("Condition x {} y did not hold element-wise:", check.symbol),
                      site);
    data.emplace_back(fmt::format("x ({}) = ", left.name()), site);
    data.emplace_back(left, site);
    data.emplace_back(fmt::format("y ({}) = ", right.name()), site);
    data.emplace_back(right, site);
  }
  const Tensor test = check.test(Operand(left, site), Operand(right, site), {}, site);
  const Tensor condition = reduce_all(Operand(test, site), std::nullopt, {}, site);
  const Array left_value = asserted_value(left);
  const Array right_value = asserted_value(right);
  if (!left_value.empty() && !right_value.empty() &&
      !holds_for_all(check, left_value, right_value, test.shape())) {
    std::string text;
    for (const Operand& item : data) text += (text.empty() ? "" : "\n") + static_text(item);
    throw errors::InvalidArgumentError(text, {.site = site, .op = check.name});
  }
  return Assert(Operand(condition, site), data, {.summarize = options.summarize.value_or(3)}, site);
}

/// How an assertion of x alone compares it with zero.
struct ZeroCheck {
  const char* name;
  const char* text;  ///< "x > 0"
  const ValueCheck& check;
  bool zero_first;
};

Operation assert_against_zero(const ZeroCheck& sign, const Operand& x, AssertValuesOptions options,
                              Site site) {
  Graph& graph = graph_of(x);
  const NameScope scope(graph, options.name.empty() ? sign.name : options.name, site);
  const Tensor value = convert_operand(graph, x, "x", std::nullopt);
  if (!options.data) {
    const std::string head = fmt::format("Condition {} did not hold element-wise:", sign.text);
    const std::string shown = fmt::format("x ({}) = ", value.name());
    options.data.emplace();
    options.data->emplace_back(message_prefix(options.message), site);
    if (&sign.check == &kLessEqual && !sign.zero_first) {  // TensorFlow joins these two
      options.data->emplace_back(head + shown, site);
    } else {
      options.data->emplace_back(head, site);
      options.data->emplace_back(shown, site);
    }
    options.data->emplace_back(value, site);
  }
  const Tensor zero = convert_operand(graph, Operand(0, site), "", value.dtype());
  const Operand left(sign.zero_first ? zero : value, site);
  const Operand right(sign.zero_first ? value : zero, site);
  return assert_values(sign.check, left, right,
                       {.data = options.data, .summarize = options.summarize}, site);
}

/// Compares each element with the one before it. Without a conditional for short lists, which
/// TensorFlow has: they give no pairs, for which everything holds.
Tensor is_monotonic(const char* name, bool strictly, const Operand& x, IsMonotonicOptions options,
                    Site site) {
  Graph& graph = graph_of(x);
  const NameScope scope(graph, options.name.empty() ? name : options.name, site);
  const Tensor flat = reshape(x, {-1}, {}, site);
  if (!is_numeric_tensor(flat)) {
    throw TypeError(fmt::format("Expected x to be numeric, instead found: {} of dtype {}",
                                flat.name(), dtype_name(flat.dtype())),
                    {.site = site, .op = name});
  }
  const Operand values(flat, site);
  const Tensor sizes = shape(values, {}, site);
  const Tensor pairs = Operand(sizes, site) - Operand(1, site);
  const Operand one(std::vector<int>{1}, site);
  const Operand zero(std::vector<int>{0}, site);
  const Tensor end = one + Operand(pairs, site);
  const Tensor later = strided_slice(values, one, Operand(end, site), {}, site);
  const Tensor earlier = strided_slice(values, zero, Operand(pairs, site), {}, site);
  const auto compare = strictly ? greater : greater_equal;
  const Tensor rising = compare(Operand(later, site), Operand(earlier, site), {}, site);
  return reduce_all(Operand(rising, site), std::nullopt, {}, site);
}

}  // namespace

Operation assert_equal(const Operand& x, const Operand& y, AssertValuesOptions options, Site site) {
  {
    // TensorFlow opens the scope once more for this comparison.
    const NameScope same(graph_of(x, y), options.name.empty() ? kEqual.name : options.name, site);
    const DefaultGraphGuard here = graph_of(x, y).as_default();
    if (x.tensor() != nullptr && y.tensor() != nullptr && *x.tensor() == *y.tensor()) {
      return no_op({}, site);
    }
  }
  return assert_values(kEqual, x, y, std::move(options), site);
}
Operation assert_none_equal(const Operand& x, const Operand& y, AssertValuesOptions options,
                            Site site) {
  return assert_values(kNoneEqual, x, y, std::move(options), site);
}
Operation assert_less(const Operand& x, const Operand& y, AssertValuesOptions options, Site site) {
  return assert_values(kLess, x, y, std::move(options), site);
}
Operation assert_less_equal(const Operand& x, const Operand& y, AssertValuesOptions options,
                            Site site) {
  return assert_values(kLessEqual, x, y, std::move(options), site);
}
Operation assert_greater(const Operand& x, const Operand& y, AssertValuesOptions options,
                         Site site) {
  return assert_values(kGreater, x, y, std::move(options), site);
}
Operation assert_greater_equal(const Operand& x, const Operand& y, AssertValuesOptions options,
                               Site site) {
  return assert_values(kGreaterEqual, x, y, std::move(options), site);
}

Operation assert_positive(const Operand& x, AssertValuesOptions options, Site site) {
  return assert_against_zero({"assert_positive", "x > 0", kLess, true}, x, std::move(options),
                             site);
}
Operation assert_negative(const Operand& x, AssertValuesOptions options, Site site) {
  return assert_against_zero({"assert_negative", "x < 0", kLess, false}, x, std::move(options),
                             site);
}
Operation assert_non_negative(const Operand& x, AssertValuesOptions options, Site site) {
  return assert_against_zero({"assert_non_negative", "x >= 0", kLessEqual, true}, x,
                             std::move(options), site);
}
Operation assert_non_positive(const Operand& x, AssertValuesOptions options, Site site) {
  return assert_against_zero({"assert_non_positive", "x <= 0", kLessEqual, false}, x,
                             std::move(options), site);
}

Tensor is_non_decreasing(const Operand& x, IsMonotonicOptions options, Site site) {
  return is_monotonic("is_non_decreasing", false, x, std::move(options), site);
}
Tensor is_strictly_increasing(const Operand& x, IsMonotonicOptions options, Site site) {
  return is_monotonic("is_strictly_increasing", true, x, std::move(options), site);
}

}  // namespace towerflow
