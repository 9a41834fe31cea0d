// Plain calls that make and rearrange tensors.
#include "ops/array/broadcast_to.h"
#include "ops/array/cast.h"
#include "ops/array/conversions.h"
#include "ops/array/diagonal.h"
#include "ops/array/ensure_shape.h"
#include "ops/array/grid.h"
#include "ops/array/placeholder_with_default.h"
#include "ops/array/reverse.h"
#include "ops/array/roll.h"
#include "ops/array/select.h"
#include "ops/array/sequence.h"
#include "ops/array/space_to_batch.h"
#include "ops/array/space_to_depth.h"
#include "ops/array/transpose.h"
#include "ops/math/saturate_cast.h"
#include "tests/golden/call.h"

namespace towerflow::golden {
namespace {

void add_diagonals(HandlerTable& table) {
  add_call(table, "diag",
           [](const Args& a) { return diag(a.operand("diagonal"), with<DiagOptions>(a)); });
  add_call(table, "diag_part",
           [](const Args& a) { return diag_part(a.operand("input"), with<DiagOptions>(a)); });
  add_call(table, "matrix_diag", [](const Args& a) {
    using O = MatrixDiagOptions;
    return matrix_diag(a.operand("diagonal"),
                       with<O>(a, "k", &O::k, "num_rows", &O::num_rows, "num_cols", &O::num_cols,
                               "padding_value", &O::padding_value, "align", &O::align));
  });
  add_call(table, "matrix_diag_part", [](const Args& a) {
    using O = MatrixDiagPartOptions;
    return matrix_diag_part(a.operand("input"), with<O>(a, "k", &O::k, "padding_value",
                                                        &O::padding_value, "align", &O::align));
  });
  add_call(table, "matrix_set_diag", [](const Args& a) {
    using O = MatrixSetDiagOptions;
    return matrix_set_diag(a.operand("input"), a.operand("diagonal"),
                           with<O>(a, "k", &O::k, "align", &O::align));
  });
  add_call(table, "matrix_band_part", [](const Args& a) {
    return matrix_band_part(a.operand("input"), a.operand("num_lower"), a.operand("num_upper"),
                            with<MatrixBandPartOptions>(a));
  });
  add_call(table, "trace",
           [](const Args& a) { return trace(a.operand("x"), with<TraceOptions>(a)); });
}

void add_grids(HandlerTable& table) {
  add_call(table, "eye", [](const Args& a) {
    using O = EyeOptions;
    const auto options = with<O>(a, "batch_shape", &O::batch_shape, "dtype", &O::dtype);
    if (a.value("num_columns").none()) return eye(a.operand("num_rows"), options);
    return eye(a.operand("num_rows"), a.operand("num_columns"), options);
  });
  add_call(table, "meshgrid", [](const Args& a) {
    using O = MeshgridOptions;
    return meshgrid(operands(a, "args"), with<O>(a, "indexing", &O::indexing));
  });
  add_call(table, "linspace", [](const Args& a) {
    return linspace(a.operand("start"), a.operand("stop"), a.operand("num"),
                    with<LinspaceOptions>(a));
  });
  add_call(table, "sequence_mask", [](const Args& a) {
    using O = SequenceMaskOptions;
    const auto options = with<O>(a, "dtype", &O::dtype);
    if (a.value("maxlen").none()) return sequence_mask(a.operand("lengths"), options);
    return sequence_mask(a.operand("lengths"), a.operand("maxlen"), options);
  });
}

void add_blocks(HandlerTable& table) {
  add_call(table, "space_to_batch_nd", [](const Args& a) {
    return space_to_batch_nd(a.operand("input"), a.operand("block_shape"), a.operand("paddings"),
                             with<SpaceToBatchOptions>(a));
  });
  add_call(table, "batch_to_space_nd", [](const Args& a) {
    return batch_to_space_nd(a.operand("input"), a.operand("block_shape"), a.operand("crops"),
                             with<SpaceToBatchOptions>(a));
  });
  add_call(table, "space_to_batch", [](const Args& a) {
    return space_to_batch(a.operand("input"), a.operand("paddings"), read<int>(a, "block_size"),
                          with<SpaceToBatchOptions>(a));
  });
  add_call(table, "batch_to_space", [](const Args& a) {
    return batch_to_space(a.operand("input"), a.operand("crops"), read<int>(a, "block_size"),
                          with<SpaceToBatchOptions>(a));
  });
  add_call(table, "required_space_to_batch_paddings", [](const Args& a) {
    const auto needed =
        required_space_to_batch_paddings(a.operand("input_shape"), a.operand("block_shape"),
                                         a.operand("base_paddings"), with<SpaceToBatchOptions>(a));
    return List{needed.paddings, needed.crops};
  });
  add_call(table, "space_to_depth", [](const Args& a) {
    using O = SpaceToDepthOptions;
    return space_to_depth(a.operand("input"), read<int>(a, "block_size"),
                          with<O>(a, "data_format", &O::data_format));
  });
  add_call(table, "depth_to_space", [](const Args& a) {
    using O = SpaceToDepthOptions;
    return depth_to_space(a.operand("input"), read<int>(a, "block_size"),
                          with<O>(a, "data_format", &O::data_format));
  });
}

template <auto kFunction>
void add_conversion(HandlerTable& table, const char* op) {
  add_call(table, op, [](const Args& a) {
    return kFunction(a.operand("x"), with<CastOptions>(a), Site::current());
  });
}

void add_conversions(HandlerTable& table) {
  add_conversion<to_float>(table, "to_float");
  add_conversion<to_double>(table, "to_double");
  add_conversion<to_int32>(table, "to_int32");
  add_conversion<to_int64>(table, "to_int64");
  add_call(table, "saturate_cast", [](const Args& a) {
    return saturate_cast(a.operand("value"), a.dtype("dtype"), with<SaturateCastOptions>(a));
  });
}

}  // namespace

void add_array_calls(HandlerTable& table) {
  add_diagonals(table);
  add_grids(table);
  add_blocks(table);
  add_conversions(table);
  add_call(table, "broadcast_to", [](const Args& a) {
    return broadcast_to(a.operand("input"), a.operand("shape"), with<BroadcastOptions>(a));
  });
  add_call(table, "ensure_shape", [](const Args& a) {
    return ensure_shape(a.operand("x"), a.shape("shape").value_or(Shape::unknown()),
                        with<EnsureShapeOptions>(a));
  });
  add_call(table, "placeholder_with_default", [](const Args& a) {
    return placeholder_with_default(a.operand("input"), a.shape("shape").value_or(Shape::unknown()),
                                    with<PlaceholderWithDefaultOptions>(a));
  });
  add_call(table, "reverse", [](const Args& a) {
    return reverse(a.operand("tensor"), a.operand("axis"), with<ReverseOptions>(a));
  });
  add_call(table, "roll", [](const Args& a) {
    return roll(a.operand("input"), a.operand("shift"), a.operand("axis"), with<RollOptions>(a));
  });
  add_call(table, "reverse_sequence", [](const Args& a) {
    using O = ReverseSequenceOptions;
    return reverse_sequence(a.operand("input"), a.operand("seq_lengths"),
                            with<O>(a, "seq_axis", &O::seq_axis, "batch_axis", &O::batch_axis));
  });
  add_call(table, "invert_permutation", [](const Args& a) {
    return invert_permutation(a.operand("x"), with<InvertPermutationOptions>(a));
  });
}

}  // namespace towerflow::golden
