#include "ops/data_flow/decode_raw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct DecodeRawAttrs {
  DType out_type = DType::uint8;
  bool little_endian = true;
  static constexpr auto fields =
      std::tuple{attr::required("out_type", &DecodeRawAttrs::out_type),
                 attr::field("little_endian", &DecodeRawAttrs::little_endian)};
};

bool decodable(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || is_integer(dtype);
}

/// Returns the length of each string in bytes. Throws InvalidArgumentError if they differ.
std::size_t common_length(const std::string* strings, std::int64_t count) {
  const std::size_t length = count == 0 ? 0 : strings[0].size();
  for (std::int64_t i = 1; i < count; ++i) {
    if (strings[i].size() != length) {
      throw errors::InvalidArgumentError(
          fmt::format("DecodeRaw requires input strings to all be the same size, but element {} "
                      "has size {} != {}",
                      i, strings[i].size(), length));
    }
  }
  return length;
}

void copy_numbers(const std::string& from, std::byte* to, std::size_t size, bool little_endian) {
  std::memcpy(to, from.data(), from.size());
  if (little_endian || size == 1) return;  // already in the processor's byte order
  for (std::size_t i = 0; i < from.size(); i += size) std::reverse(to + i, to + i + size);
}

std::unique_ptr<PreparedKernel> decode_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<DecodeRawAttrs>();
  const std::int64_t count = request.inputs[0].shape.elements();
  const std::size_t size = dtype_size(attrs.out_type);
  return function_kernel([=, in = request.inputs[0].shape, out = request.outputs[0].shape,
                          little = attrs.little_endian,
                          type = attrs.out_type](const LaunchArgs& args) {
    const auto* strings = args.input<std::string>(0);
    const std::size_t length = common_length(strings, count);
    if (length % size != 0) {
      throw errors::InvalidArgumentError(
          fmt::format("Input to DecodeRaw has length {} that is not a multiple of {}, the size of "
                      "{}",
                      length, size, dtype_name(type)));
    }
    auto* numbers = args.output<std::byte>(0);
    if (!out.fully_known()) {
      numbers =
          static_cast<std::byte*>(args.arrays->allocate(0, in.concatenated(Shape{length / size})));
    } else if (count > 0 && out.size(out.rank() - 1) != static_cast<std::int64_t>(length / size)) {
      throw errors::InvalidArgumentError(
          fmt::format("Input to DecodeRaw holds {} numbers of {}, but the graph expects {}",
                      length / size, dtype_name(type), out.size(out.rank() - 1)));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      copy_numbers(strings[i], numbers + static_cast<std::size_t>(i) * length, size, little);
    }
  });
}

}  // namespace

static void register_decode_raw_ops(OpRegistry& registry) {
  registry.add({.name = "DecodeRaw",
                .inputs = {"bytes: string"},
                .outputs = {"output: out_type"},
                .attrs = attributes<DecodeRawAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      const Shape& bytes = context.shape(0);
                      context.add_output(
                          context.attrs<DecodeRawAttrs>().out_type,
                          bytes.has_rank() ? bytes.concatenated(Shape{None}) : Shape::unknown());
                    },
                .gradient = NoGradient{"the bytes of a string are not differentiable"}});
}

static void register_decode_raw_kernels(KernelTable& table) {
  table.add({.op = "DecodeRaw",
             .label = "copy",
             .accepts =
                 [](const KernelRequest& request) {
                   return decodable(request.attributes<DecodeRawAttrs>().out_type);
                 },
             .prepare = decode_kernel});
}

OpFamily decode_raw_family() {
  return {.ops = register_decode_raw_ops, .kernels = register_decode_raw_kernels};
}

Tensor decode_raw(const Operand& bytes, DType out_type, DecodeRawOptions options, Site site) {
  if (!decodable(out_type)) {
    throw TypeError(fmt::format("Value passed to parameter 'out_type' has DataType {} not in list "
                                "of allowed values: float32, float64 and integers",
                                dtype_name(out_type)),
                    {.site = site, .op = "DecodeRaw"});
  }
  return OpBuilder("DecodeRaw", options.name, site, {&bytes})
      .input(bytes, "bytes", DType::string)
      .attrs(DecodeRawAttrs{out_type, options.little_endian})
      .output();
}

}  // namespace towerflow
