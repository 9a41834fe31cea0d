#pragma once

// Structs that kernels take as parameters, for the code that launches them as well.

#include <cstdint>

#include "cuda/device/data_error.h"
#include "cuda/device/pointers.h"

namespace towerflow::cuda::device {

/// Most dimensions of a tensor, after those that can be joined were joined.
inline constexpr int kMaxRank = 8;

/// Divides 32-bit numbers below 2^31 by a number that is known before the launch, with a
/// multiplication (Granlund and Montgomery 1994).
struct Divisor {
  std::uint32_t divisor = 1, multiplier = 1, shift = 0;
  TOWERFLOW_POINTERS()

  static constexpr Divisor of(std::uint32_t divisor) {
    std::uint32_t shift = 0;
    while ((std::uint64_t{1} << shift) < divisor) ++shift;
    const std::uint64_t above = (std::uint64_t{1} << shift) - divisor;
    return {divisor, static_cast<std::uint32_t>((above << 32) / divisor + 1), shift};
  }
  TOWERFLOW_BOTH std::uint32_t quotient(std::uint32_t n) const {
    const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * multiplier) >> 32);
    return (high + n) >> shift;
  }
};

/// The sizes of a tensor, outermost first, and the strides of up to three operands that are read at
/// its positions; a stride of 0 repeats the operand. Fewer than 2^31 elements.
template <int kOperands>
struct Strided {
  int rank = 0;
  Divisor sizes[kMaxRank];
  std::int64_t strides[kOperands][kMaxRank] = {};
  TOWERFLOW_POINTERS()

  struct Offsets {
    std::int64_t at[kOperands];
  };
  /// Returns where the operands have the element with this number.
  TOWERFLOW_BOTH Offsets offsets(std::uint32_t element) const {
    Offsets found{};
    for (int d = rank - 1; d >= 0; --d) {
      const std::uint32_t outer = sizes[d].quotient(element);
      const std::uint32_t index = element - outer * sizes[d].divisor;
      for (int k = 0; k < kOperands; ++k) found.at[k] += index * strides[k][d];
      element = outer;
    }
    return found;
  }
};

/// How the operands of a binary op are read.
struct BinaryShape {
  enum Kind : int {
    both,     ///< at the position of the result
    left,     ///< the left one is a single number
    right,    ///< the right one is
    strided,  ///< by `strided`
    packed,   ///< by `strided`, where the innermost size is counted in packs of 16 bytes of the
              ///< widest type; innermost strides are 1 or 0, the others multiples of a pack
  };
  Kind kind = both;
  Strided<2> operands;
  DataError* error = nullptr;  ///< set by integers without a result, as x / 0, to the second one
  TOWERFLOW_POINTERS(error)
};

/// How the three operands of a choice are read: condition, then the values.
struct SelectShape {
  int strided = 0;  ///< not 0: by `operands`; else each is as large as the result or
  int one[3] = {};  ///< (not 0) a single number
  Strided<3> operands;
  TOWERFLOW_POINTERS()
};

/// Most tensors that a launch adds up.
inline constexpr int kMaxSummands = 128;

/// The tensors of a sum, or of the average of towers (_MeanOfN). Weights and divisor are numbers in
/// device memory, of the type in which the sum is computed.
struct SumList {
  int count = 0;
  int from_zero = 0;  ///< not 0: the sum starts from 0, so that a sum of -0 is 0
  int weighted = 0;
  double divisor = 1;  ///< used unless `divided_by` is given
  const void* divided_by = nullptr;
  const void* summands[kMaxSummands] = {};
  const void* weights[kMaxSummands] = {};
  TOWERFLOW_POINTERS(divided_by, summands, weights)
};

/// Most variables and towers whose gradients a launch averages, and elements that a block does.
inline constexpr int kMaxAveraged = 40, kMaxTowersOfList = 8;
inline constexpr int kAverageChunk = 4096;

/// The gradients of several variables, of one dtype, to be averaged over the same towers as SumList
/// says.
struct AverageList {
  struct Variable {
    const void* gradients[kMaxTowersOfList] = {};
    void* average = nullptr;
    std::int64_t elements = 0;
    std::uint32_t first_block = 0;  ///< each variable has ceil(elements / kAverageChunk) blocks
    TOWERFLOW_POINTERS(gradients, average)
  };
  int count = 0, towers = 0;
  int from_zero = 0, weighted = 0;
  double divisor = 1;
  const void* divided_by = nullptr;
  const void* weights[kMaxTowersOfList] = {};
  Variable variables[kMaxAveraged];
  TOWERFLOW_POINTERS(divided_by, weights, variables)
};

/// Most steps of a chain, and most inputs.
inline constexpr int kMaxSteps = 24, kMaxInputs = 12;
/// How many neighbours a thread of a chain takes at once.
inline constexpr int kChainPack = 4;

/// A chain of elementwise ops on float32 (_Elementwise): every step computes one value from inputs
/// and values of earlier steps; the last is the result. Truth values are 1 and 0; inputs and
/// results that are bool are stored in a byte.
struct Chain {
  struct Step {
    std::int16_t op = 0;  ///< a ChainOp
    /// Number of an input, or kMaxInputs + the number of a step.
    std::int16_t operands[3] = {};
    TOWERFLOW_POINTERS()
  };
  struct Input {
    const void* data = nullptr;
    std::int8_t is_bool = 0;
    std::int8_t mode = 0;  ///< 0: as large as the result, 1: one number, 2: by `strides`
    std::int32_t strides[kMaxRank] = {};
    TOWERFLOW_POINTERS(data)
  };
  int inputs = 0, steps = 0;
  int rank = 0;  ///< of `sizes`, for inputs by strides
  int result_is_bool = 0;
  Divisor sizes[kMaxRank];
  Input input[kMaxInputs];
  Step step[kMaxSteps];
  void* result = nullptr;
  TOWERFLOW_POINTERS(input, result)
};

/// Pooling of images [batch, rows, columns, channels].
struct PoolShape {
  struct Axis {
    int input = 0, window = 1, stride = 1, output = 0, pad_before = 0;
    TOWERFLOW_POINTERS()
  };
  int batch = 0, channels = 0;
  Axis rows, columns;  ///< windows have fewer than 65,535 elements
  TOWERFLOW_POINTERS()
};

/// Images [images, height, width, channels] and their new size. Output i of an axis is the sum of
/// weight[k] * input[index[k]] for k from first[i] to first[i + 1] - 1; indices ascend. Of a resize
/// to nearest pixels, `index` has one input for each output, and the rest is not used.
struct Resampled {
  struct Taps {
    const std::int32_t* first = nullptr;
    const std::int32_t* index = nullptr;
    const float* weight = nullptr;
    TOWERFLOW_POINTERS(first, index, weight)
  };
  int images = 0, height = 0, width = 0, channels = 0, new_height = 0, new_width = 0;
  Taps rows, columns;
  TOWERFLOW_POINTERS(rows, columns)
};

/// What DataError::value is for a box that is not finite, else the image that does not exist.
inline constexpr std::int64_t kBoxNotFinite = std::int64_t{1} << 32;

/// Images [images, height, width, channels] and what is cut out of them.
struct CropShape {
  int images = 0, height = 0, width = 0, channels = 0;
  int boxes = 0, crop_height = 0, crop_width = 0;
  int nearest = 0;    ///< not 0: the nearest pixel, else bilinear
  float outside = 0;  ///< what there is outside of the image
  TOWERFLOW_POINTERS()
};

/// A depthwise convolution of images [batch, rows, columns, channels] with a filter [rows, columns,
/// channels, multiplier].
struct DepthwiseShape {
  struct Axis {
    int input = 0, filter = 1, stride = 1, dilation = 1, output = 0, pad_before = 0;
    TOWERFLOW_POINTERS()
  };
  int batch = 0, channels = 0, multiplier = 1;
  Axis rows, columns;
  TOWERFLOW_POINTERS()
};

/// Diagonals `lower` .. `upper` of matrices, stored as rows from the highest to the lowest. Those
/// above and below the main one stand on the left or the right of their rows.
struct DiagonalShape {
  std::int64_t lower = 0, upper = 0, rows = 0, columns = 0;
  int upper_left = 1, lower_left = 1;
  TOWERFLOW_POINTERS()

  TOWERFLOW_BOTH std::int64_t length(std::int64_t k) const {
    const std::int64_t down = rows + (k < 0 ? k : 0), across = columns - (k > 0 ? k : 0);
    return down < across ? down : across;
  }
  TOWERFLOW_BOTH std::int64_t longest() const {
    const std::int64_t down = rows + (upper < 0 ? upper : 0);
    const std::int64_t across = columns - (lower > 0 ? lower : 0);
    return down < across ? down : across;
  }
  /// Returns where diagonal k begins in its row.
  TOWERFLOW_BOTH std::int64_t begin(std::int64_t k) const {
    const bool left = (k >= 0 && upper_left != 0) || (k <= 0 && lower_left != 0);
    return left ? 0 : longest() - length(k);
  }
};

/// Images as [outer, channels, inner].
struct ChannelShape {
  std::int64_t outer = 0;
  int channels = 0;
  std::int64_t inner = 1;
  TOWERFLOW_POINTERS()
};

/// Local response normalisation of rows of channels: each number is divided by
/// (bias + alpha sum)^beta, where the sum is of the squares of `radius` neighbours on both sides.
struct LrnShape {
  std::int64_t rows = 0;
  int channels = 0, radius = 0;
  double bias = 1, alpha = 1, beta = 0.5;
  TOWERFLOW_POINTERS()
};

/// What a batch normalisation reads and writes for each channel.
struct BatchNormParameters {
  const float* scale = nullptr;
  const float* old_mean = nullptr;
  const float* old_variance = nullptr;
  float* running_mean = nullptr;
  float* running_variance = nullptr;
  float* mean = nullptr;
  float* variance = nullptr;
  float* factor = nullptr;
  float epsilon = 0, weight = 1;  ///< the op's exponential_avg_factor
  TOWERFLOW_POINTERS(scale, old_mean, old_variance, running_mean, running_variance, mean, variance,
                     factor)
};

/// Most variables that a launch updates, and elements that a block updates.
inline constexpr int kMaxUpdates = 48;
inline constexpr int kUpdateChunk = 4096;
inline constexpr int kMaxUpdateScalars = 6;

/// Variables of one dtype, to be updated by one rule.
struct UpdateList {
  struct Variable {
    void* variable = nullptr;
    void* slots[3] = {};
    const void* gradient = nullptr;
    std::int64_t elements = 0;
    std::uint32_t first_block = 0;  ///< each variable has ceil(elements / kUpdateChunk) blocks
    TOWERFLOW_POINTERS(variable, slots, gradient)
  };
  int count = 0;
  Variable variables[kMaxUpdates];
  /// The addresses of the rule's scalars, in the order of the op. All are of the variables' dtype
  /// but the step of AdagradDA, an int64.
  const void* scalars[kMaxUpdateScalars] = {};
  const DataError* unless = nullptr;  ///< nothing is written if it has found something
  TOWERFLOW_POINTERS(variables, scalars, unless)
};

/// The rows of one variable that IndexedSlices select, sorted by row (sort_ids.cu): keys of
/// `variable_rows` and above are skipped.
struct UpdateRows {
  void* variable = nullptr;
  void* slots[3] = {};
  const void* values = nullptr;         ///< [n, width]
  const std::uint32_t* keys = nullptr;  ///< [n]: rows of the variable, ascending
  const std::uint32_t* rows = nullptr;  ///< [n]: the rows of `values` that they belong to
  std::int64_t n = 0, width = 0, variable_rows = 0;
  const void* scalars[6] = {};
  TOWERFLOW_POINTERS(variable, slots, values, keys, rows, scalars)
};

/// Elements that a block of the kernels of Where takes.
inline constexpr int kWhereTile = 1024;

/// The sizes of the dimensions that an index of a slice names. With `per_batch`, there are as many
/// indices for each of several such tensors, one behind the other.
struct SliceShape {
  int depth = 0;
  std::int64_t sizes[kMaxRank] = {};
  std::int64_t per_batch = 0;
  TOWERFLOW_POINTERS()
};

/// The bytes of an element.
struct PadValue {
  alignas(16) unsigned char bytes[16] = {};
  TOWERFLOW_POINTERS()
};

/// A tensor that is padded to `sizes`: `inner` elements after the first `before` of each dimension.
/// With `wrap`, elements that would be behind the end come first: a roll by `before`, which is
/// below the size.
struct PadShape {
  enum Mode : int { constant, reflect, symmetric, wrap };
  int rank = 0;
  Mode mode = constant;
  Divisor sizes[kMaxRank];
  std::int32_t before[kMaxRank] = {};
  std::int64_t inner[kMaxRank] = {}, strides[kMaxRank] = {};
  TOWERFLOW_POINTERS()
};

/// The gradient of a tensor that was padded by mirroring, for the elements of the tensor.
struct MirrorShape {
  int rank = 0;
  PadShape::Mode mode = PadShape::reflect;
  Divisor inner[kMaxRank];  ///< the sizes of the tensor
  std::int32_t before[kMaxRank] = {};
  std::int64_t padded[kMaxRank] = {}, strides[kMaxRank] = {};  ///< of the padded tensor
  TOWERFLOW_POINTERS()
};

/// A tensor [outer, first, middle, second, inner] of sequences, fewer than 2^31 elements. One of
/// `first` and `second` is the dimension along which sequences are reversed, the other has a length
/// for each index.
struct SequenceShape {
  Divisor first, middle, second, inner;
  int batch_first = 1;  ///< not 0: `first` has the lengths
  TOWERFLOW_POINTERS()
};

/// Most copies of a launch, and elements that a block copies.
inline constexpr int kMaxCopies = 48;
inline constexpr int kCopyChunk = 4096;

/// Copies of `rows` rows of `width` elements, which lie `pitch` elements apart.
struct CopyList {
  struct Copy {
    const void* from = nullptr;
    void* to = nullptr;
    std::int64_t from_pitch = 0, to_pitch = 0, width = 0, rows = 0;
    std::uint32_t first_block = 0;  ///< each copy has ceil(rows * width / kCopyChunk) blocks
    TOWERFLOW_POINTERS(from, to)
  };
  int count = 0;
  Copy copies[kMaxCopies];
  TOWERFLOW_POINTERS(copies)
};

}  // namespace towerflow::cuda::device
