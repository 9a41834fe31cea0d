#pragma once

#include <oneapi/dnnl/dnnl.hpp>

/// The only file that knows both the version 2 and the version 3 interface of oneDNN.
///
/// Version 3 has no operation descriptors: primitive descriptors take their arguments directly.
namespace towerflow::onednn {

/// The arguments of a convolution primitive descriptor.
struct ConvDescs {
  dnnl::memory::desc x, filter, bias, y;  ///< `bias` is empty if there is none
  dnnl::memory::dims strides, dilates, pad_before, pad_after;
};

/// Keeps the implementation that the library prefers.
struct FirstImplementation {
  void operator()(dnnl::convolution_forward::primitive_desc&) const {}
};

#if DNNL_VERSION_MAJOR >= 3

inline bool is_empty(const dnnl::memory::desc& desc) { return desc.get_ndims() == 0; }

/// `choose` may advance to another implementation.
template <class Choose = FirstImplementation>
auto conv_forward_pd(const dnnl::engine& engine, const ConvDescs& d,
                     const dnnl::primitive_attr& attr, Choose choose = {}) {
  dnnl::convolution_forward::primitive_desc made(
      engine, dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, d.x, d.filter,
      d.bias, d.y, d.strides, d.dilates, d.pad_before, d.pad_after, attr);
  choose(made);
  return made;
}
inline auto conv_backward_data_pd(const dnnl::engine& engine, const ConvDescs& d,
                                  const dnnl::convolution_forward::primitive_desc& forward,
                                  const dnnl::primitive_attr& attr) {
  return dnnl::convolution_backward_data::primitive_desc(
      engine, dnnl::algorithm::convolution_direct, d.x, d.filter, d.y, d.strides, d.dilates,
      d.pad_before, d.pad_after, forward, attr);
}
inline auto conv_backward_weights_pd(const dnnl::engine& engine, const ConvDescs& d,
                                     const dnnl::convolution_forward::primitive_desc& forward,
                                     const dnnl::primitive_attr& attr) {
  return dnnl::convolution_backward_weights::primitive_desc(
      engine, dnnl::algorithm::convolution_direct, d.x, d.filter, d.bias, d.y, d.strides, d.dilates,
      d.pad_before, d.pad_after, forward, attr);
}
inline auto matmul_pd(const dnnl::engine& engine, const dnnl::memory::desc& a,
                      const dnnl::memory::desc& b, const dnnl::memory::desc& c,
                      const dnnl::primitive_attr& attr) {
  return dnnl::matmul::primitive_desc(engine, a, b, c, attr);
}

#else

inline bool is_empty(const dnnl::memory::desc& desc) { return desc.data.ndims == 0; }

/// `choose` may advance to another implementation. It must do so here, because the iterator of
/// version 2 points to the operation descriptor.
template <class Choose = FirstImplementation>
auto conv_forward_pd(const dnnl::engine& engine, const ConvDescs& d,
                     const dnnl::primitive_attr& attr, Choose choose = {}) {
  const auto kind = dnnl::prop_kind::forward_training;
  const auto direct = dnnl::algorithm::convolution_direct;
  using Desc = dnnl::convolution_forward::desc;
  const Desc desc = is_empty(d.bias) ? Desc(kind, direct, d.x, d.filter, d.y, d.strides, d.dilates,
                                            d.pad_before, d.pad_after)
                                     : Desc(kind, direct, d.x, d.filter, d.bias, d.y, d.strides,
                                            d.dilates, d.pad_before, d.pad_after);
  dnnl::convolution_forward::primitive_desc made(desc, attr, engine);
  choose(made);
  return made;
}
inline auto conv_backward_data_pd(const dnnl::engine& engine, const ConvDescs& d,
                                  const dnnl::convolution_forward::primitive_desc& forward,
                                  const dnnl::primitive_attr& attr) {
  const dnnl::convolution_backward_data::desc desc(dnnl::algorithm::convolution_direct, d.x,
                                                   d.filter, d.y, d.strides, d.dilates,
                                                   d.pad_before, d.pad_after);
  return dnnl::convolution_backward_data::primitive_desc(desc, attr, engine, forward);
}
inline auto conv_backward_weights_pd(const dnnl::engine& engine, const ConvDescs& d,
                                     const dnnl::convolution_forward::primitive_desc& forward,
                                     const dnnl::primitive_attr& attr) {
  const auto direct = dnnl::algorithm::convolution_direct;
  using Desc = dnnl::convolution_backward_weights::desc;
  const Desc desc = is_empty(d.bias) ? Desc(direct, d.x, d.filter, d.y, d.strides, d.dilates,
                                            d.pad_before, d.pad_after)
                                     : Desc(direct, d.x, d.filter, d.bias, d.y, d.strides,
                                            d.dilates, d.pad_before, d.pad_after);
  return dnnl::convolution_backward_weights::primitive_desc(desc, attr, engine, forward);
}
inline auto matmul_pd(const dnnl::engine& engine, const dnnl::memory::desc& a,
                      const dnnl::memory::desc& b, const dnnl::memory::desc& c,
                      const dnnl::primitive_attr& attr) {
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), attr, engine);
}

#endif

}  // namespace towerflow::onednn
