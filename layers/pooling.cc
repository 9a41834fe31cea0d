#include "layers/pooling.h"

#include "core/graph/op_builder.h"
#include "layers/format.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/nn/pool.h"

namespace towerflow::layers {
namespace {

/// A pooling function, called with windows and strides in the order of the data format.
using PoolFunction = Tensor (*)(const Operand& value, const nn::Extents& ksize,
                                const nn::Extents& strides, const std::string& padding,
                                nn::PoolOptions options, Site site);

Tensor max_of_windows(const Operand& value, const nn::Extents& ksize, const nn::Extents& strides,
                      const std::string& padding, nn::PoolOptions options, Site site) {
  return nn::max_pool(value, ksize, strides, padding, std::move(options), site);
}

Tensor mean_of_windows(const Operand& value, const nn::Extents& ksize, const nn::Extents& strides,
                       const std::string& padding, nn::PoolOptions options, Site site) {
  return nn::avg_pool(value, ksize, strides, padding, std::move(options), site);
}

class PoolingBody : public LayerBody {
 public:
  PoolingBody(const char* class_name, int rank, PoolFunction pool, const nn::Extents& pool_size,
              const nn::Extents& strides, const PoolingLayerOptions& options, Site site)
      : LayerBody(class_name, {.name = options.name, .scope = options.scope}, site),
        pool_(pool),
        size_(window_sizes(pool_size, rank, "pool_size", name(), site)),
        strides_(window_sizes(strides, rank, "strides", name(), site)),
        padding_(parse_layer_padding(options.padding, false, name(), site) == "same" ? "SAME"
                                                                                     : "VALID"),
        channels_first_(parse_channels_first(options.data_format, name(), site)) {
    input_spec.ndim = static_cast<std::size_t>(rank) + 2;
  }

 protected:
  PoolFunction pool_;
  std::vector<int> size_, strides_;
  std::string padding_;
  bool channels_first_;
};

class Pooling2DBody final : public PoolingBody {
 public:
  Pooling2DBody(const char* class_name, PoolFunction pool, const nn::Extents& pool_size,
                const nn::Extents& strides, const PoolingLayerOptions& options, Site site)
      : PoolingBody(class_name, 2, pool, pool_size, strides, options, site) {}

 protected:
  Tensor call(const Tensor& inputs, Site site) override {
    return pool_(Operand(inputs, site), in_format(size_), in_format(strides_), padding_,
                 {.data_format = channels_first_ ? "NCHW" : "NHWC"}, site);
  }

 private:
  std::vector<int> in_format(const std::vector<int>& sizes) const {
    if (channels_first_) return {1, 1, sizes[0], sizes[1]};
    return {1, sizes[0], sizes[1], 1};
  }
};

class Pooling1DBody final : public PoolingBody {
 public:
  Pooling1DBody(const char* class_name, PoolFunction pool, const nn::Extents& pool_size,
                const nn::Extents& strides, const PoolingLayerOptions& options, Site site)
      : PoolingBody(class_name, 1, pool, pool_size, strides, options, site) {}

 protected:
  Tensor call(const Tensor& inputs, Site site) override {
    const int axis = channels_first_ ? 3 : 2;
    Tensor x = expand_dims(Operand(inputs, site), Operand(axis, site), {}, site);
    if (channels_first_) x = turned(x, {0, 2, 3, 1}, site);
    x = pool_(Operand(x, site), std::vector<int>{1, size_[0], 1, 1},
              std::vector<int>{1, strides_[0], 1, 1}, padding_, {}, site);
    if (channels_first_) x = turned(x, {0, 3, 1, 2}, site);
    return squeeze(Operand(x, site), {.axis = {axis}}, site);
  }

 private:
  static Tensor turned(const Tensor& x, const std::vector<int>& order, Site site) {
    return transpose(Operand(x, site), Operand(order, site), {}, site);
  }
};

}  // namespace

Tensor max_pooling2d(const Operand& inputs, const nn::Extents& pool_size,
                     const nn::Extents& strides, PoolingLayerOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  return MaxPooling2D(pool_size, strides, std::move(options), site)(inputs, site);
}

Tensor average_pooling2d(const Operand& inputs, const nn::Extents& pool_size,
                         const nn::Extents& strides, PoolingLayerOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  return AveragePooling2D(pool_size, strides, std::move(options), site)(inputs, site);
}

Tensor max_pooling1d(const Operand& inputs, const nn::Extents& pool_size,
                     const nn::Extents& strides, PoolingLayerOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  return MaxPooling1D(pool_size, strides, std::move(options), site)(inputs, site);
}

Tensor average_pooling1d(const Operand& inputs, const nn::Extents& pool_size,
                         const nn::Extents& strides, PoolingLayerOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  return AveragePooling1D(pool_size, strides, std::move(options), site)(inputs, site);
}

}  // namespace towerflow::layers

namespace towerflow::layers::types {

MaxPooling2D::MaxPooling2D(const nn::Extents& pool_size, const nn::Extents& strides,
                           PoolingLayerOptions options, Site site)
    : Layer(std::make_shared<Pooling2DBody>("max_pooling2d", &layers::max_of_windows, pool_size,
                                            strides, options, site)) {}

AveragePooling2D::AveragePooling2D(const nn::Extents& pool_size, const nn::Extents& strides,
                                   PoolingLayerOptions options, Site site)
    : Layer(std::make_shared<Pooling2DBody>("average_pooling2d", &layers::mean_of_windows,
                                            pool_size, strides, options, site)) {}

MaxPooling1D::MaxPooling1D(const nn::Extents& pool_size, const nn::Extents& strides,
                           PoolingLayerOptions options, Site site)
    : Layer(std::make_shared<Pooling1DBody>("max_pooling1d", &layers::max_of_windows, pool_size,
                                            strides, options, site)) {}

AveragePooling1D::AveragePooling1D(const nn::Extents& pool_size, const nn::Extents& strides,
                                   PoolingLayerOptions options, Site site)
    : Layer(std::make_shared<Pooling1DBody>("average_pooling1d", &layers::mean_of_windows,
                                            pool_size, strides, options, site)) {}

}  // namespace towerflow::layers::types
