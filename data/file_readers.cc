#include "data/file_readers.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "data/reader_kernel.h"
#include "ops/family.h"

namespace towerflow {
namespace {

constexpr const char* kFixed = "FixedLengthRecordReaderV2";
constexpr const char* kLines = "TextLineReaderV2";
constexpr const char* kWhole = "WholeFileReaderV2";

struct TextLineAttrs {
  std::uint64_t skip_header_lines = 0;
  static constexpr auto fields =
      std::tuple{attr::field("skip_header_lines", &TextLineAttrs::skip_header_lines)};
};

std::uint64_t checked_unsigned(const char* op, const char* name, std::int64_t value, Site site) {
  if (value < 0) {
    throw ValueError(fmt::format("{} must be >= 0 not {}", name, value), {.site = site, .op = op});
  }
  return static_cast<std::uint64_t>(value);
}

data::Compression compression_of(const std::string& encoding, Site site) {
  if (encoding.empty()) return data::Compression::none;
  if (encoding == "ZLIB") return data::Compression::zlib;
  if (encoding == "GZIP") return data::Compression::gzip;
  throw ValueError(fmt::format("unknown encoding '{}'", encoding),
                   {.site = site, .op = kFixed, .hint = "\"\", \"ZLIB\" and \"GZIP\" are known"});
}

data::FixedLength layout_of(std::int64_t record_bytes,
                            const FixedLengthRecordReaderOptions& options, Site site) {
  data::FixedLength layout;
  layout.record_bytes = checked_unsigned(kFixed, "record_bytes", record_bytes, site);
  layout.header_bytes = checked_unsigned(kFixed, "header_bytes", options.header_bytes, site);
  layout.footer_bytes = checked_unsigned(kFixed, "footer_bytes", options.footer_bytes, site);
  layout.hop_bytes = checked_unsigned(kFixed, "hop_bytes", options.hop_bytes, site);
  layout.compression = compression_of(options.encoding, site);
  if (layout.record_bytes == 0 || layout.record_bytes > data::kMaxRecordBytes ||
      layout.footer_bytes > data::kMaxRecordBytes) {
    throw ValueError(
        fmt::format(
            "record_bytes must be in [1, {0}] and footer_bytes at most {0}, not {1} and {2}",
            data::kMaxRecordBytes, layout.record_bytes, layout.footer_bytes),
        {.site = site, .op = kFixed});
  }
  return layout;
}

template <class F>
void add_kernel(KernelTable& table, const char* op, F format_of) {
  table.add({.op = op,
             .label = "reader",
             .accepts = {},
             .prepare = [format_of](const KernelRequest& request) {
               return std::make_unique<ReaderKernel>(request, format_of(request));
             }});
}

}  // namespace

static void register_file_reader_ops(OpRegistry& registry) {
  const auto add = [&](const char* op, AttrsDef attrs) {
    registry.add(
        {.name = op,
         .outputs = {"reader_handle: resource"},
         .attrs = std::move(attrs).fixed("container", "").fixed("shared_name", ""),
         .shape = [](InferenceContext& context) { context.add_output(DType::resource, Shape{}); },
         .gradient = NoGradient{"records are input data"},
         .effect = Effect::stateful});
  };
  add(kFixed, attributes<data::FixedLength>());
  add(kLines, attributes<TextLineAttrs>());
  add(kWhole, {});
}

static void register_file_reader_kernels(KernelTable& table) {
  add_kernel(table, kFixed, [](const KernelRequest& request) {
    return data::fixed_length_format(request.attributes<data::FixedLength>());
  });
  add_kernel(table, kLines, [](const KernelRequest& request) {
    return data::text_line_format(request.attributes<TextLineAttrs>().skip_header_lines);
  });
  add_kernel(table, kWhole, [](const KernelRequest&) { return data::whole_file_format(); });
}

OpFamily file_readers_family() {
  return {.ops = register_file_reader_ops, .kernels = register_file_reader_kernels};
}

FixedLengthRecordReader::FixedLengthRecordReader(std::int64_t record_bytes,
                                                 FixedLengthRecordReaderOptions options, Site site)
    : ReaderBase(OpBuilder(kFixed, options.name, site)
                     .attrs(layout_of(record_bytes, options, site))
                     .output()) {}

TextLineReader::TextLineReader(TextLineReaderOptions options, Site site)
    : ReaderBase(OpBuilder(kLines, options.name, site)
                     .attrs(TextLineAttrs{checked_unsigned(kLines, "skip_header_lines",
                                                           options.skip_header_lines, site)})
                     .output()) {}

WholeFileReader::WholeFileReader(WholeFileReaderOptions options, Site site)
    : ReaderBase(OpBuilder(kWhole, options.name, site).output()) {}

}  // namespace towerflow
