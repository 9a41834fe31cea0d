// Plain calls of mathematics: functions of elements, sums, products, segments, counts.
#include "ops/math/binary.h"
#include "ops/math/bincount.h"
#include "ops/math/check_numerics.h"
#include "ops/math/confusion_matrix.h"
#include "ops/math/cross.h"
#include "ops/math/cumprod.h"
#include "ops/math/cumsum.h"
#include "ops/math/einsum.h"
#include "ops/math/l2_loss.h"
#include "ops/math/matmul.h"
#include "ops/math/norm.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"
#include "ops/math/segment.h"
#include "ops/math/tensordot.h"
#include "ops/math/unary.h"
#include "tests/golden/call.h"

namespace towerflow::golden {
namespace {

void add_unary(HandlerTable& table) {
  table["cos"] = unary<cos>;
  table["tan"] = unary<tan>;
  table["asin"] = unary<asin>;
  table["acos"] = unary<acos>;
  table["atan"] = unary<atan>;
  table["sinh"] = unary<sinh>;
  table["cosh"] = unary<cosh>;
  table["asinh"] = unary<asinh>;
  table["acosh"] = unary<acosh>;
  table["atanh"] = unary<atanh>;
  table["erf"] = unary<erf>;
  table["erfc"] = unary<erfc>;
  table["lgamma"] = unary<lgamma>;
  table["digamma"] = unary<digamma>;
  table["rint"] = unary<rint>;
  table["ceil"] = unary<ceil>;
  table["round"] = unary<round>;
  table["is_inf"] = unary<is_inf>;
  table["is_finite"] = unary<is_finite>;
  table["logical_not"] = unary<logical_not>;
}

void add_binary(HandlerTable& table) {
  table["div"] = binary<div>;
  table["realdiv"] = binary<realdiv>;
  table["floor_div"] = binary<floor_div>;
  table["truncatediv"] = binary<truncatediv>;
  table["truncatemod"] = binary<truncatemod>;
  table["mod"] = binary<mod>;
  table["logical_and"] = binary<logical_and>;
  table["logical_or"] = binary<logical_or>;
  table["logical_xor"] = binary<logical_xor>;
  table["xdivy"] = binary<math::xdivy>;
  table["xlogy"] = binary<math::xlogy>;
  table["xlog1py"] = binary<math::xlog1py>;
  add_call(table, "atan2", [](const Args& a) {
    return atan2(a.operand("y"), a.operand("x"), with<BinaryOptions>(a));
  });
  add_call(table, "polygamma", [](const Args& a) {
    return polygamma(a.operand("a"), a.operand("x"), with<BinaryOptions>(a));
  });
  add_call(table, "scalar_mul", [](const Args& a) {
    return scalar_mul(a.operand("scalar"), a.operand("x"), with<BinaryOptions>(a));
  });
}

template <class Options, auto kFunction>
void add_reduction(HandlerTable& table, const char* op) {
  add_call(table, op, [](const Args& a) {
    return kFunction(a.operand("input_tensor"), a.axis(),
                     with<Options>(a, "keepdims", &Options::keepdims), Site::current());
  });
}
using Reduce = Tensor (*)(const Operand&, Axis, ReduceOptions, Site);
using Moment = Tensor (*)(const Operand&, Axis, math::MomentOptions, Site);

void add_reductions(HandlerTable& table) {
  add_reduction<ReduceOptions, static_cast<Reduce>(reduce_all)>(table, "reduce_all");
  add_reduction<ReduceOptions, static_cast<Reduce>(reduce_any)>(table, "reduce_any");
  add_reduction<ReduceOptions, static_cast<Reduce>(reduce_logsumexp)>(table, "reduce_logsumexp");
  add_reduction<math::MomentOptions, static_cast<Moment>(math::reduce_variance)>(table,
                                                                                 "reduce_variance");
  add_reduction<math::MomentOptions, static_cast<Moment>(math::reduce_std)>(table, "reduce_std");
  add_call(table, "norm", [](const Args& a) {
    using O = NormOptions;
    auto options = with<O>(a, "axis", &O::axis, "keepdims", &O::keepdims);
    if (const auto* text = a.value("ord").get_if<std::string>()) {
      options.ord = NormOrder(text->c_str());
    } else if (!a.value("ord").none()) {
      options.ord = NormOrder(a.number("ord"));
    }
    return norm(a.operand("tensor"), options);
  });
  add_call(table, "l2_loss",
           [](const Args& a) { return nn::l2_loss(a.operand("t"), with<nn::L2LossOptions>(a)); });
  add_call(table, "cumsum", [](const Args& a) {
    using O = CumsumOptions;
    const Operand axis = a.has("axis") ? a.operand("axis") : Operand(0);
    return cumsum(a.operand("x"), axis,
                  with<O>(a, "exclusive", &O::exclusive, "reverse", &O::reverse));
  });
  add_call(table, "cumprod", [](const Args& a) {
    using O = CumprodOptions;
    const Operand axis = a.has("axis") ? a.operand("axis") : Operand(0);
    return cumprod(a.operand("x"), axis,
                   with<O>(a, "exclusive", &O::exclusive, "reverse", &O::reverse));
  });
}

template <auto kFunction>
void add_segment(HandlerTable& table, const char* op) {
  add_call(table, op, [](const Args& a) {
    return kFunction(a.operand("data"), a.operand("segment_ids"), with<SegmentOptions>(a),
                     Site::current());
  });
}
template <auto kFunction>
void add_unsorted(HandlerTable& table, const char* op) {
  add_call(table, op, [](const Args& a) {
    return kFunction(a.operand("data"), a.operand("segment_ids"), a.operand("num_segments"),
                     with<SegmentOptions>(a), Site::current());
  });
}

void add_segments(HandlerTable& table) {
  add_segment<segment_sum>(table, "segment_sum");
  add_segment<segment_mean>(table, "segment_mean");
  add_segment<segment_prod>(table, "segment_prod");
  add_segment<segment_max>(table, "segment_max");
  add_segment<segment_min>(table, "segment_min");
  add_unsorted<unsorted_segment_sum>(table, "unsorted_segment_sum");
  add_unsorted<unsorted_segment_prod>(table, "unsorted_segment_prod");
  add_unsorted<unsorted_segment_max>(table, "unsorted_segment_max");
  add_unsorted<unsorted_segment_min>(table, "unsorted_segment_min");
  add_unsorted<unsorted_segment_mean>(table, "unsorted_segment_mean");
  add_unsorted<unsorted_segment_sqrt_n>(table, "unsorted_segment_sqrt_n");
}

void add_products(HandlerTable& table) {
  add_call(table, "matmul", [](const Args& a) {
    using O = MatMulOptions;
    return matmul(a.operand("a"), a.operand("b"),
                  with<O>(a, "transpose_a", &O::transpose_a, "transpose_b", &O::transpose_b,
                          "adjoint_a", &O::adjoint_a, "adjoint_b", &O::adjoint_b));
  });
  add_call(table, "tensordot", [](const Args& a) {
    return tensordot(a.operand("a"), a.operand("b"), a.operand("axes"), with<TensordotOptions>(a));
  });
  add_call(table, "einsum", [](const Args& a) {
    return einsum(a.text("equation"), operands(a, "inputs"), with<EinsumOptions>(a));
  });
  add_call(table, "cross", [](const Args& a) {
    return cross(a.operand("a"), a.operand("b"), with<CrossOptions>(a));
  });
}

void add_counts(HandlerTable& table) {
  add_call(table, "range", [](const Args& a) {
    const auto options = with<RangeOptions>(a);
    if (a.value("limit").none()) return range(a.operand("start"), options);
    return range(a.operand("start"), a.operand("limit"),
                 a.has("delta") ? a.operand("delta") : Operand(1), options);
  });
  add_call(table, "bincount", [](const Args& a) {
    using O = BincountOptions;
    return bincount(a.operand("arr"), with<O>(a, "weights", &O::weights, "minlength", &O::minlength,
                                              "maxlength", &O::maxlength, "dtype", &O::dtype));
  });
  add_call(table, "histogram_fixed_width", [](const Args& a) {
    using O = HistogramFixedWidthOptions;
    return histogram_fixed_width(a.operand("values"), a.operand("value_range"),
                                 with<O>(a, "nbins", &O::nbins, "dtype", &O::dtype));
  });
  add_call(table, "confusion_matrix", [](const Args& a) {
    using O = ConfusionMatrixOptions;
    return confusion_matrix(
        a.operand("labels"), a.operand("predictions"),
        with<O>(a, "num_classes", &O::num_classes, "dtype", &O::dtype, "weights", &O::weights));
  });
  add_call(table, "check_numerics", [](const Args& a) {
    return check_numerics(a.operand("tensor"), a.text("message"), with<CheckNumericsOptions>(a));
  });
}

}  // namespace

void add_math_calls(HandlerTable& table) {
  add_unary(table);
  add_binary(table);
  add_reductions(table);
  add_segments(table);
  add_products(table);
  add_counts(table);
}

}  // namespace towerflow::golden
