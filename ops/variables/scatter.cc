#include "ops/variables/scatter.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/array/slice_indices.h"
#include "ops/family.h"
#include "ops/math/binary_functors.h"
#include "ops/range_kernel.h"
#include "ops/update_rules.h"
#include "ops/variables/slices.h"

namespace towerflow {
namespace {

struct ScatterAttrs {
  bool use_locking = false;
  static constexpr auto fields = std::tuple{attr::field("use_locking", &ScatterAttrs::use_locking)};
};

void require_written_ref(const InferenceContext& context) {
  if (!context.is_ref(0)) {
    context.fail_type("Input 'ref' of the op requires a variable (l-value) input");
  }
  if (context.dtype(2) != context.dtype(0)) {
    context.fail_type(fmt::format("updates of {} do not fit a variable of {}",
                                  dtype_name(context.dtype(2)), dtype_name(context.dtype(0))));
  }
}

Shape scattered_shape(const Shape& indices, const Shape& variable) {
  if (!indices.has_rank() || !variable.has_rank()) return Shape::unknown();
  std::vector<Dim> dims = indices.dims();
  const std::ptrdiff_t first = variable.rank() == 0 ? 0 : 1;
  dims.insert(dims.end(), variable.dims().begin() + first, variable.dims().end());
  return Shape(std::move(dims));
}

std::string wrong_updates(const Shape& variable, const Shape& indices, const Shape& updates) {
  return fmt::format(
      "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
      "updates.shape {}, indices.shape {}, params.shape {}",
      updates.text(), indices.text(), variable.text());
}

void scatter_shape(InferenceContext& context) {
  require_written_ref(context);
  const Shape &ref = context.shape(0), &indices = context.shape(1), &updates = context.shape(2);
  const bool one = updates.has_rank() && updates.rank() == 0;
  if (!one && !scattered_shape(indices, ref).compatible(updates)) {
    context.fail(wrong_updates(ref, indices, updates));
  }
  context.add_output(context.dtype(0), ref, true);
}

/// Of the ops that compare numbers, which take fewer dtypes.
void scatter_extreme_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype != DType::float32 && dtype != DType::float64 && !is_index(dtype)) {
    context.fail_type(
        fmt::format("Value passed to parameter 'ref' has DataType {} not in list of "
                    "allowed values: float32, float64, int32, int64",
                    dtype_name(dtype)));
  }
  scatter_shape(context);
}

void scatter_nd_shape_of_variable(InferenceContext& context) {
  require_written_ref(context);
  check_updates(context, context.shape(1), context.shape(2), context.shape(0));
  context.add_output(context.dtype(0), context.shape(0), true);
}

/// How one element changes. Besides those here, AddRule and SubtractRule.
template <class T>
struct ReplaceRule {
  explicit ReplaceRule(const T*) {}
  void operator()(T& at, const T& value) const { at = value; }
};
template <class T>
struct MultiplyRule {
  explicit MultiplyRule(const T*) {}
  void operator()(T& at, T value) const { at = functors::Mul<T>()(at, value); }
};
template <class T>
struct DivideRule {
  static constexpr bool kDivides = true;
  explicit DivideRule(const T*) {}
  void operator()(T& at, T value) const { at = functors::RealDiv<T>()(at, value); }
};
template <class T>
struct LowerRule {
  explicit LowerRule(const T*) {}
  void operator()(T& at, T value) const { at = functors::Minimum<T>()(at, value); }
};
template <class T>
struct RaiseRule {
  explicit RaiseRule(const T*) {}
  void operator()(T& at, T value) const { at = functors::Maximum<T>()(at, value); }
};

/// How a row of n elements changes: by as many values, or all by one; null for a dtype that the op
/// does not take. Only these loops are compiled
/// for each dtype and rule.
struct RowRule {
  void (*by_row)(void* to, const void* values, std::int64_t n) = nullptr;
  void (*by_one)(void* to, const void* value, std::int64_t n) = nullptr;
  void (*check)(const void* values, std::int64_t count) = nullptr;  ///< null: all values are valid
  std::size_t bytes = 0;                                            ///< of an element
};

template <class T>
void check_divisors(const void* values, std::int64_t count) {
  const T* begin = static_cast<const T*>(values);
  if (std::find(begin, begin + count, T(0)) != begin + count) {
    throw errors::InvalidArgumentError("Integer division by zero in a scatter_div");
  }
}

template <class T, class Rule>
RowRule row_rule() {
  RowRule made;
  made.by_row = [](void* to, const void* values, std::int64_t n) {
    const Rule rule(nullptr);
    for (std::int64_t i = 0; i < n; ++i)
      rule(static_cast<T*>(to)[i], static_cast<const T*>(values)[i]);
  };
  made.by_one = [](void* to, const void* value, std::int64_t n) {
    const Rule rule(nullptr);
    const T& one = *static_cast<const T*>(value);
    for (std::int64_t i = 0; i < n; ++i) rule(static_cast<T*>(to)[i], one);
  };
  if constexpr (std::is_integral_v<T> && requires { Rule::kDivides; })
    made.check = check_divisors<T>;
  made.bytes = sizeof(T);
  return made;
}

/// Returns the rule for a dtype of numbers, or, to replace elements, of any dtype.
template <template <class> class Rule>
RowRule row_rule_of(DType dtype) {
  RowRule found;
  dispatch_dtype(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) found = row_rule<T, Rule<T>>();
  });
  return found;
}
RowRule replace_rule_of(DType dtype) {
  RowRule found;
  dispatch_copyable(dtype, [&]<class T>() { found = row_rule<T, ReplaceRule<T>>(); });
  return found;
}

/// Updates the rows at the indices one after another: a repeated row is updated repeatedly, in
/// order. Each slice scans all indices and updates its own range of rows, so that the order is kept
/// with several slices too. Phase 0 fails before anything is written.
class ScatterKernel final : public CpuKernel {
 public:
  ScatterKernel(const SliceRows& rows, RowRule rule, bool one_value)
      : rows_(rows), rule_(rule), one_value_(one_value) {
    // Scanning an index is cheap compared with updating this many elements of a row.
    constexpr std::int64_t kElementsOfIndex = 64;
    const int most = std::min(slice_count(rows.width, kElementsOfIndex, kMaxPartialSlices),
                              slice_count(rows.rows, 1, kMaxPartialSlices));
    slices_ = slice_count(rows.slices * rows.width, kLoopGrain, most);
  }

  int phases() const override { return 2; }
  int slices(int phase) const override { return phase == 0 ? 1 : slices_; }
  void run(int phase, int slice, const void* const* inputs, void* const*,
           std::byte*) const override {
    if (phase == 0) {
      rows_.check(inputs[1]);
      if (rule_.check) rule_.check(inputs[2], one_value_ ? 1 : rows_.slices * rows_.width);
      return;
    }
    const SliceRange mine = slice_range(rows_.rows, slices_, slice);
    const std::size_t bytes = static_cast<std::size_t>(rows_.width) * rule_.bytes;
    std::byte* variable = static_cast<std::byte*>(const_cast<void*>(inputs[0]));
    const std::byte* updates = static_cast<const std::byte*>(inputs[2]);
    rows_.for_each(inputs[1], [&](std::int64_t index, std::int64_t row) {
      if (row < mine.begin || row >= mine.end) return;
      std::byte* to = variable + static_cast<std::size_t>(row) * bytes;
      if (one_value_)
        rule_.by_one(to, updates, rows_.width);
      else
        rule_.by_row(to, updates + static_cast<std::size_t>(index) * bytes, rows_.width);
    });
  }

 private:
  SliceRows rows_;
  RowRule rule_;
  bool one_value_;
  int slices_;
};

template <RowRule (*rule_of)(DType)>
std::unique_ptr<PreparedKernel> scatter_kernel(const KernelRequest& request) {
  const Shape &variable = request.inputs[0].shape, &updates = request.inputs[2].shape;
  if (updates.rank() != 0 && updates != scattered_shape(request.inputs[1].shape, variable)) {
    throw errors::InvalidArgumentError(wrong_updates(variable, request.inputs[1].shape, updates));
  }
  const RowRule rule = rule_of(request.inputs[0].dtype);
  if (rule.by_row == nullptr) return nullptr;
  const SliceRows rows = slice_rows(variable, request.inputs[1]);
  return sliced_kernel(std::make_unique<ScatterKernel>(rows, rule, updates.rank() == 0));
}

/// Checks all indices, then updates one slice after another.
template <RowRule (*rule_of)(DType)>
std::unique_ptr<PreparedKernel> scatter_slices_kernel(const KernelRequest& request) {
  const Shape &variable = request.inputs[0].shape, &indices = request.inputs[1].shape;
  const SliceIndices places(request.inputs[1], variable);
  if (request.inputs[2].shape != indexed_shape(indices, variable)) {
    throw errors::InvalidArgumentError(
        fmt::format("updates of shape {} do not fit indices of shape {} in {}",
                    request.inputs[2].shape.text(), indices.text(), variable.text()));
  }
  const RowRule rule = rule_of(request.inputs[0].dtype);
  if (rule.by_row == nullptr) return nullptr;
  return function_kernel([places, rule](const LaunchArgs& args) {
    places.check(args.inputs[1]);
    std::byte* to = args.variable<std::byte>(0);
    const std::byte* from = args.input<std::byte>(2);
    const std::size_t bytes = static_cast<std::size_t>(places.slice()) * rule.bytes;
    for (std::int64_t row = 0; row < places.rows(); ++row, from += bytes) {
      const auto offset = static_cast<std::size_t>(places.offset(args.inputs[1], row));
      rule.by_row(to + offset * rule.bytes, from, places.slice());
    }
  });
}

struct ScatterDef {
  const char* op;
  std::unique_ptr<PreparedKernel> (*prepare)(const KernelRequest&);
};
constexpr ScatterDef kScatters[] = {{"ScatterUpdate", scatter_kernel<replace_rule_of>},
                                    {"ScatterAdd", scatter_kernel<row_rule_of<AddRule>>},
                                    {"ScatterSub", scatter_kernel<row_rule_of<SubtractRule>>},
                                    {"ScatterMul", scatter_kernel<row_rule_of<MultiplyRule>>},
                                    {"ScatterDiv", scatter_kernel<row_rule_of<DivideRule>>},
                                    {"ScatterMin", scatter_kernel<row_rule_of<LowerRule>>},
                                    {"ScatterMax", scatter_kernel<row_rule_of<RaiseRule>>}};
constexpr ScatterDef kSliceScatters[] = {
    {"ScatterNdUpdate", scatter_slices_kernel<replace_rule_of>},
    {"ScatterNdAdd", scatter_slices_kernel<row_rule_of<AddRule>>},
    {"ScatterNdSub", scatter_slices_kernel<row_rule_of<SubtractRule>>}};

bool takes_all(const std::string& op) { return op.ends_with("Update"); }
bool compares(const std::string& op) { return op == "ScatterMin" || op == "ScatterMax"; }
/// Returns whether TensorFlow declares that the op has no gradient; it says nothing of the others.
bool is_declared(const std::string& op) { return op != "ScatterUpdate" && !compares(op); }

/// Throws TypeError if the variable's dtype does not suit the op, before values become constants.
void require_scattered(const std::string& op, DType dtype, Site site) {
  const bool real = is_floating(dtype);
  const bool fits = takes_all(op) || real || (compares(op) ? is_index(dtype) : is_integer(dtype));
  if (fits) return;
  throw TypeError(fmt::format("Value passed to parameter 'ref' has DataType {} not in list of "
                              "allowed values for {}",
                              dtype_name(dtype), op),
                  {.site = site, .op = op});
}

Tensor add_scatter(const char* op, const Variable& variable, const Operand& indices,
                   const Operand& updates, bool use_locking, const std::string& name, Site site) {
  const Operand ref(variable.ref(), site);
  OpBuilder builder(op, name, site, {&ref});
  require_scattered(op, variable.dtype(), site);
  return builder.input(ref, "ref", "T")
      .index_input(indices, "indices")
      .input(updates, "updates", "T")
      .attrs(ScatterAttrs{use_locking})
      .output();
}

}  // namespace

static void register_scatter_ops(OpRegistry& registry) {
  const auto add = [&](const char* op, bool of_slices) {
    AttrsDef attrs = attributes<ScatterAttrs>();
    if (takes_all(op)) attrs = std::move(attrs).defaults_to("use_locking", true);
    if (of_slices) attrs = std::move(attrs).fixed("bad_indices_policy", std::string());
    registry.add(
        {.name = op,
         .inputs = {"ref: Ref(T)", "indices: Index(Tindices)", "updates: T"},
         .outputs = {"output_ref: Ref(T)"},
         .attrs = std::move(attrs),
         .shape = of_slices      ? scatter_nd_shape_of_variable
                  : compares(op) ? scatter_extreme_shape
                                 : scatter_shape,
         .gradient = NoGradient{"an assignment to a variable has no gradient", is_declared(op)},
         .effect = Effect::writes_variable,
         .written = {0}});
  };
  for (const ScatterDef& one : kScatters) add(one.op, false);
  for (const ScatterDef& one : kSliceScatters) add(one.op, true);
}

static void register_scatter_kernels(KernelTable& table) {
  const auto add = [&](const ScatterDef& one, const char* label) {
    table.add({.op = one.op, .label = label, .accepts = {}, .prepare = one.prepare});
  };
  for (const ScatterDef& one : kScatters) add(one, "rows");
  for (const ScatterDef& one : kSliceScatters) add(one, "slices");
}

OpFamily scatter_family() {
  return {.ops = register_scatter_ops, .kernels = register_scatter_kernels};
}

#define TOWERFLOW_SCATTER(function, op, Options)                                                 \
  Tensor function(const Variable& variable, const Operand& indices, const Operand& updates,      \
                  Options options, Site site) {                                                  \
    return add_scatter(op, variable, indices, updates, options.use_locking, options.name, site); \
  }
TOWERFLOW_SCATTER(scatter_update, "ScatterUpdate", ScatterUpdateOptions)
TOWERFLOW_SCATTER(scatter_add, "ScatterAdd", UpdateOptions)
TOWERFLOW_SCATTER(scatter_sub, "ScatterSub", UpdateOptions)
TOWERFLOW_SCATTER(scatter_mul, "ScatterMul", UpdateOptions)
TOWERFLOW_SCATTER(scatter_div, "ScatterDiv", UpdateOptions)
TOWERFLOW_SCATTER(scatter_min, "ScatterMin", UpdateOptions)
TOWERFLOW_SCATTER(scatter_max, "ScatterMax", UpdateOptions)
TOWERFLOW_SCATTER(scatter_nd_update, "ScatterNdUpdate", ScatterUpdateOptions)
TOWERFLOW_SCATTER(scatter_nd_add, "ScatterNdAdd", UpdateOptions)
TOWERFLOW_SCATTER(scatter_nd_sub, "ScatterNdSub", UpdateOptions)
#undef TOWERFLOW_SCATTER

#define TOWERFLOW_SCATTER_METHOD(function)                                                        \
  Tensor Variable::function(const IndexedSlices& sparse_delta, UpdateOptions options, Site site)  \
      const {                                                                                     \
    return towerflow::function(*this, sparse_delta.indices, sparse_delta.values,                  \
                               {.use_locking = options.use_locking, .name = options.name}, site); \
  }
TOWERFLOW_SCATTER_METHOD(scatter_update)
TOWERFLOW_SCATTER_METHOD(scatter_add)
TOWERFLOW_SCATTER_METHOD(scatter_sub)
TOWERFLOW_SCATTER_METHOD(scatter_mul)
TOWERFLOW_SCATTER_METHOD(scatter_div)
TOWERFLOW_SCATTER_METHOD(scatter_min)
TOWERFLOW_SCATTER_METHOD(scatter_max)
#undef TOWERFLOW_SCATTER_METHOD

Tensor Variable::scatter_nd_update(const Operand& indices, const Operand& updates,
                                   ScatterNdMethodOptions options, Site site) const {
  return towerflow::scatter_nd_update(*this, indices, updates, {.name = options.name}, site);
}

Tensor Variable::scatter_nd_add(const Operand& indices, const Operand& updates,
                                ScatterNdMethodOptions options, Site site) const {
  return towerflow::scatter_nd_add(*this, indices, updates,
                                   {.use_locking = true, .name = options.name}, site);
}

Tensor Variable::scatter_nd_sub(const Operand& indices, const Operand& updates,
                                ScatterNdMethodOptions options, Site site) const {
  return towerflow::scatter_nd_sub(*this, indices, updates,
                                   {.use_locking = true, .name = options.name}, site);
}

}  // namespace towerflow
