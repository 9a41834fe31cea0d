#include "layers/core.h"

#include <fmt/format.h>

#include <numeric>

#include "core/graph/op_builder.h"
#include "layers/format.h"
#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/math/matmul.h"
#include "ops/math/tensordot.h"
#include "ops/nn/bias_add.h"
#include "ops/nn/dropout.h"

namespace towerflow::layers {
namespace {

LayerOptions common_dense_options(const DenseOptions& options) {
  return {.trainable = options.trainable,
          .name = options.name,
          .dtype = options.dtype,
          .reuse = options.reuse,
          .scope = options.scope,
          .activity_regularizer = options.activity_regularizer};
}

class DenseBody final : public LayerBody {
 public:
  DenseBody(int units, DenseOptions options, Site site)
      : LayerBody("dense", common_dense_options(options), site),
        units_(units),
        options_(std::move(options)) {
    if (units < 0) {
      throw ValueError(fmt::format("Received an invalid value for `units`, expected a positive "
                                   "integer. Received: units={}",
                                   units),
                       {.site = site, .op = name()});
    }
    input_spec.min_ndim = 2;
  }

  Variable kernel, bias;

 protected:
  void build(const Shape& shape, Site site) override {
    if (!is_floating(*dtype())) {
      throw TypeError(fmt::format("A Dense layer can only be built with a floating-point dtype. "
                                  "Received: dtype={}",
                                  dtype_name(*dtype())),
                      {.site = site, .op = name(), .hint = "cast the inputs to float32"});
    }
    const Dim inputs = shape.has_rank() ? shape[-1] : Dim(None);
    if (!inputs.known()) {
      throw ValueError(fmt::format("The last dimension of the inputs to a Dense layer should be "
                                   "defined. Found None. Full input shape received: {}",
                                   shape.text()),
                       {.site = site, .op = name(), .hint = "set the shape of the inputs"});
    }
    input_spec.axes = {{-1, inputs.size()}};
    kernel = add_weight("kernel", {inputs, units_},
                        {.initializer = options_.kernel_initializer,
                         .regularizer = options_.kernel_regularizer,
                         .constraint = options_.kernel_constraint},
                        site);
    if (!options_.use_bias) return;
    bias = add_weight("bias", {units_},
                      {.initializer = options_.bias_initializer,
                       .regularizer = options_.bias_regularizer,
                       .constraint = options_.bias_constraint},
                      site);
  }

  Tensor call(const Tensor& inputs, Site site) override {
    Tensor x = inputs;
    if (x.dtype() != *dtype()) x = cast(x, *dtype(), {}, site);
    const Operand weights(kernel, site);
    if (!x.shape().has_rank() || x.shape().rank() == 2) {
      x = matmul(Operand(x, site), weights, {}, site);
    } else {
      const std::size_t rank = x.shape().rank();
      std::vector<Dim> dims(x.shape().dims().begin(), x.shape().dims().end() - 1);
      dims.emplace_back(units_);
      const auto last = static_cast<int>(rank) - 1;
      x = tensordot(Operand(x, site), weights, Operand({{last}, {0}}, site), {}, site);
      x.set_shape(Shape(std::move(dims)), site);
    }
    if (options_.use_bias) x = nn::bias_add(Operand(x, site), Operand(bias, site), {}, site);
    return options_.activation ? options_.activation(x, site) : x;
  }

 private:
  int units_;
  DenseOptions options_;
};

class DropoutBody final : public LayerBody {
 public:
  DropoutBody(DropoutLayerOptions options, Site site)
      : LayerBody("dropout", {.name = options.name, .scope = options.scope}, site),
        options_(std::move(options)) {
    if (options_.rate >= 0.0 && options_.rate <= 1.0) return;
    throw ValueError(fmt::format("Invalid value {} received for `rate`, expected a value between 0 "
                                 "and 1.",
                                 options_.rate),
                     {.site = site, .op = name()});
  }

 protected:
  Tensor call(const Tensor& inputs, Site site) override {
    const auto kept = [&] { return identity(Operand(inputs, site), {}, site); };
    if (options_.rate == 0.0) return kept();
    return in_training(
        options_.training, [&] { return dropped(inputs, site); }, kept, site);
  }

 private:
  Tensor dropped(const Tensor& inputs, Site site) const {
    std::optional<Operand> sizes;
    if (options_.noise_shape) sizes = Operand(noise_sizes(inputs, site), site);
    return nn::dropout(Operand(inputs, site), ScalarOperand(1.0 - options_.rate, site),
                       {.noise_shape = sizes, .seed = options_.seed}, site);
  }

  Tensor noise_sizes(const Tensor& inputs, Site site) const {
    const Tensor all = towerflow::shape(Operand(inputs, site), {}, site);
    std::vector<Nested> sizes;
    int axis = 0;
    for (const std::optional<int>& size : *options_.noise_shape) {
      sizes.push_back(size ? Nested(*size) : Nested(take_index(all, axis, site)));
      ++axis;
    }
    return convert_to_tensor(Operand(Nested(std::move(sizes)), site), {}, site);
  }

  DropoutLayerOptions options_;
};

class FlattenBody final : public LayerBody {
 public:
  FlattenBody(const FlattenOptions& options, Site site)
      : LayerBody("flatten", {.name = options.name}, site),
        channels_first_(parse_channels_first(options.data_format, name(), site)) {
    input_spec.min_ndim = 1;
  }

 protected:
  Tensor call(const Tensor& inputs, Site site) override {
    Tensor x = inputs;
    const Shape& shape = x.shape();
    if (channels_first_ && shape.rank() > 1) {
      std::vector<int> order(shape.rank());
      std::iota(order.begin(), order.end(), 1);
      order.front() = 0;
      order.back() = 1;
      for (std::size_t i = 1; i + 1 < order.size(); ++i) order[i] = static_cast<int>(i) + 1;
      x = transpose(Operand(x, site), Operand(order, site), {}, site);
    }
    if (x.shape().rank() == 1) {
      return expand_dims(Operand(x, site), Operand(1, site), {}, site);
    }
    const std::optional<std::int64_t> row =
        x.shape().has_rank() ? product(std::span(x.shape().dims()).subspan(1)) : std::nullopt;
    if (row) return reshaped(x, {-1, *row}, site);
    if (x.shape().has_rank() && x.shape()[0].known()) {
      return reshaped(x, {x.shape().size(0), -1}, site);
    }
    const Tensor sizes = towerflow::shape(Operand(x, site), {}, site);
    const Tensor batch = take_index(sizes, 0, site);
    return reshape(Operand(x, site), Operand(Nested({batch, -1}), site), {}, site);
  }

 private:
  static Tensor reshaped(const Tensor& x, std::vector<std::int64_t> sizes, Site site) {
    const Tensor target =
        constant(Operand(Nested(std::vector<Nested>(sizes.begin(), sizes.end())), site),
                 {.dtype = DType::int32}, site);
    return reshape(Operand(x, site), Operand(target, site), {}, site);
  }

  bool channels_first_;
};

}  // namespace

Tensor dense(const Operand& inputs, int units, DenseOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  options.scope = options.name;
  return Dense(units, std::move(options), site)(inputs, site);
}

Tensor dropout(const Operand& inputs, DropoutLayerOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  return Dropout(std::move(options), site)(inputs, site);
}

Tensor flatten(const Operand& inputs, FlattenOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  return Flatten(std::move(options), site)(inputs, site);
}

}  // namespace towerflow::layers

namespace towerflow::layers::types {

Dense::Dense(int units, DenseOptions options, Site site)
    : Layer(std::make_shared<DenseBody>(units, std::move(options), site)) {}
Variable Dense::kernel() const { return body<DenseBody>().kernel; }
Variable Dense::bias() const { return body<DenseBody>().bias; }

Dropout::Dropout(DropoutLayerOptions options, Site site)
    : Layer(std::make_shared<DropoutBody>(std::move(options), site)) {}
Dropout::Dropout(double rate, DropoutLayerOptions options, Site site)
    : Dropout(
          [&] {
            options.rate = rate;
            return std::move(options);
          }(),
          site) {}

Flatten::Flatten(FlattenOptions options, Site site)
    : Layer(std::make_shared<FlattenBody>(options, site)) {}

}  // namespace towerflow::layers::types
