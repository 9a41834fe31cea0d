#include "ops/variables/mean_update.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "core/device/cpu/launch.h"
#include "ops/simd/loops.h"
#include "ops/variables/apply.h"
#include "ops/variables/update_op.h"
#include "ops/variables/update_rule.h"

namespace towerflow {
namespace {

/// What a pass does with the mean gradient of elements begin .. end - 1.
template <class T>
struct KeepMean {
  static constexpr std::size_t kGradients = 0;
  void operator()(SliceRange range, const T* mean, const void* const*, void* const* outputs) const {
    std::copy_n(mean, range.size(), static_cast<T*>(outputs[0]) + range.begin);
  }
};

template <class T>
T* variable_at(const void* const* inputs, std::size_t index, std::int64_t element) {
  return static_cast<T*>(const_cast<void*>(inputs[index])) + element;
}
template <class T>
T number_at(const void* const* inputs, std::size_t index) {
  return *static_cast<const T*>(inputs[index]);
}

template <class T>
struct Descend {
  static constexpr std::size_t kGradients = 2;
  void operator()(SliceRange range, const T* mean, const void* const* inputs, void* const*) const {
    const GradientDescentRule<T> rule{number_at<T>(inputs, 1)};
    T* variable = variable_at<T>(inputs, 0, range.begin);
    for (std::int64_t i = 0; i < range.size(); ++i) rule(variable[i], mean[i]);
  }
};

template <class T>
struct Accelerate {
  static constexpr std::size_t kGradients = 4;
  bool nesterov = false;
  void operator()(SliceRange range, const T* mean, const void* const* inputs, void* const*) const {
    const T rate = number_at<T>(inputs, 2), momentum = number_at<T>(inputs, 3);
    T* variable = variable_at<T>(inputs, 0, range.begin);
    T* accum = variable_at<T>(inputs, 1, range.begin);
    if constexpr (std::is_same_v<T, float>) {
      simd::loops().momentum(variable, accum, mean, rate, momentum, nesterov, range.size());
    } else {
      const MomentumRule<T> rule{rate, momentum, nesterov};
      for (std::int64_t i = 0; i < range.size(); ++i) rule(variable[i], accum[i], mean[i]);
    }
  }
};

// Means of pieces that stay in the nearest cache, each used at once. The sum starts from zero and
// goes in tower order, which gives the bits of a Mean over the first axis.
template <class T, class Use>
class MeanKernel final : public CpuKernel {
 public:
  MeanKernel(std::int64_t count, std::size_t towers, Use use)
      : count_(count), towers_(towers), use_(use) {}
  int slices(int) const override { return update_slices(count_); }

  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    constexpr std::int64_t kPiece = 1024;
    alignas(64) std::array<T, kPiece> mean;
    const SliceRange all = slice_range(count_, update_slices(count_), slice, 16);
    for (std::int64_t begin = all.begin; begin < all.end; begin += kPiece) {
      const SliceRange piece{begin, std::min(begin + kPiece, all.end)};
      mean_of(piece, inputs + Use::kGradients, mean.data());
      use_(piece, mean.data(), inputs, outputs);
    }
  }

 private:
  void mean_of(SliceRange piece, const void* const* gradients, T* mean) const {
    const T zero = T(0), towers = static_cast<T>(towers_);
    add(at(gradients[0], piece), &zero, true, mean, piece.size());
    for (std::size_t tower = 1; tower < towers_; ++tower) {
      add(mean, at(gradients[tower], piece), false, mean, piece.size());
    }
    if (towers_ > 1) divide(mean, towers, piece.size());
  }

  static const T* at(const void* gradient, SliceRange piece) {
    return static_cast<const T*>(gradient) + piece.begin;
  }
  static void add(const T* a, const T* b, bool scalar, T* sum, std::int64_t n) {
    if constexpr (std::is_same_v<T, float>) {
      constexpr auto kAdd = static_cast<int>(simd::Binary::add);
      const simd::Loops& loops = simd::loops();
      (scalar ? loops.binary_scalar_right : loops.binary)[kAdd](a, b, sum, n);
    } else {
      for (std::int64_t i = 0; i < n; ++i) sum[i] = a[i] + b[scalar ? 0 : i];
    }
  }
  static void divide(T* sum, T by, std::int64_t n) {
    if constexpr (std::is_same_v<T, float>) {
      simd::loops().binary_scalar_right[static_cast<int>(simd::Binary::div)](sum, &by, sum, n);
    } else {
      for (std::int64_t i = 0; i < n; ++i) sum[i] /= by;
    }
  }

  std::int64_t count_;
  std::size_t towers_;
  Use use_;
};

template <template <class> class Use>
std::unique_ptr<PreparedKernel> kernel_of(const KernelRequest& request) {
  const auto make = [&]<class T>() {
    Use<T> use{};
    if constexpr (requires { use.nesterov; })
      use.nesterov = request.attributes<ApplyAttrs>().use_nesterov;
    return sliced_kernel(std::make_unique<MeanKernel<T, Use<T>>>(
        request.inputs[0].shape.elements(), request.inputs.size() - Use<T>::kGradients, use));
  };
  return request.inputs[0].dtype == DType::float32 ? make.template operator()<float>()
                                                   : make.template operator()<double>();
}

void same_as_first(InferenceContext& context) {
  context.add_output(context.dtype(0), context.shape(0), context.is_ref(0));
}

}  // namespace

void register_mean_update_ops(OpRegistry& registry) {
  const NoGradient reason{"plans alone hold it, gradients are taken before"};
  registry.add({.name = "_MeanOfN", .shape = same_as_first, .gradient = reason});
  const auto add = [&](const char* name, std::vector<int> written) {
    registry.add({.name = name,
                  .shape = same_as_first,
                  .gradient = reason,
                  .effect = Effect::writes_variable,
                  .written = std::move(written)});
  };
  add("_MeanApplyGradientDescent", {0});
  add("_MeanApplyMomentum", {0, 1});
}

void register_mean_update_kernels(KernelTable& table) {
  const auto add = [&](const char* op, auto prepare) {
    table.add({.op = op, .label = "one pass", .accepts = {}, .prepare = prepare});
  };
  add("_MeanOfN", kernel_of<KeepMean>);
  add("_MeanApplyGradientDescent", kernel_of<Descend>);
  add("_MeanApplyMomentum", kernel_of<Accelerate>);
}

}  // namespace towerflow
