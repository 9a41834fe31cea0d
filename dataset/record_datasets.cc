#include "dataset/record_datasets.h"

#include <fmt/format.h>
#include <glob.h>

#include <functional>
#include <thread>

#include "core/graph/error.h"
#include "core/graph/scopes.h"
#include "data/file.h"
#include "data/record_file.h"
#include "dataset/definition.h"
#include "dataset/interleave.h"
#include "dataset/shuffle_seeds.h"
#include "dataset/slices.h"
#include "ops/array/view.h"

namespace towerflow::data {
namespace {

using OpenFile = std::function<std::unique_ptr<RecordFile>(const std::string& path)>;

/// The records of a file. If it cannot be opened, each call tries again; a damaged file ends there,
/// as in TensorFlow.
class RecordsIterator final : public DatasetIterator {
 public:
  RecordsIterator(OpenFile open, std::string path)
      : open_(std::move(open)), path_(std::move(path)) {}
  bool next(ElementValue& element, const Pull&) override {
    Array record(DType::string, Shape{});
    if (!read(*record.data<std::string>())) return false;
    element.assign(1, std::move(record));
    return true;
  }

 private:
  bool read(std::string& record) {
    if (ended_) return false;
    if (file_ == nullptr) file_ = open_(path_);
    try {
      ended_ = !file_->next(record);
    } catch (...) {
      ended_ = true;
      throw;
    }
    return !ended_;
  }

  OpenFile open_;
  std::string path_;
  std::unique_ptr<RecordFile> file_;
  bool ended_ = false;
};

Dataset records_dataset(const FileNames& names, const OpenFile& open,
                        std::optional<std::int64_t> parallel_reads, Site site) {
  const Dataset files = names.dataset(site);
  const ElementSpec& spec = files.element_spec();
  if (spec.dtypes != std::vector<DType>{DType::string} || !spec.shapes[0].compatible(Shape{})) {
    throw TypeError(
        fmt::format("The `filenames` argument must contain `tf.string` elements of shape [] (i.e. "
                    "scalars). Got a dataset of {}.",
                    spec.text()),
        {.site = site});
  }
  if (parallel_reads && *parallel_reads < AUTOTUNE) {
    throw ValueError("num_parallel_reads must be positive or AUTOTUNE", {.site = site});
  }
  const auto open_inner = [open](ElementValue& name) {
    return std::make_unique<RecordsIterator>(open, name[0].item<std::string>());
  };
  const ElementSpec record = ElementSpec::of({DType::string}, {Shape{}});
  if (!parallel_reads) {
    return make_dataset(
        {.op = "FlatMapDataset",
         .inputs = {files},
         .element = record,
         .instantiate = [open_inner](const auto& inputs, const auto&) -> DatasetInstance {
           return [=, input = inputs[0]](IteratorContext& context) {
             return flat_map_iterator(input(context), open_inner);
           };
         },
         .site = site});
  }
  std::vector<Tensor> arguments;
  const auto add = [&](std::int64_t value, const char* argument) {
    arguments.push_back(dataset_argument(Operand(value, site), argument, DType::int64));
  };
  const std::int64_t cycle = *parallel_reads;
  const bool automatic = cycle == AUTOTUNE;
  add(cycle, "cycle_length");
  add(1, "block_length");
  add(automatic ? AUTOTUNE : 2, "buffer_output_elements");
  add(automatic ? AUTOTUNE : 2 * cycle, "prefetch_input_elements");
  if (automatic) add(AUTOTUNE, "num_parallel_calls");
  return make_dataset(
      {.op = automatic ? "ParallelInterleaveDatasetV4" : "LegacyParallelInterleaveDatasetV2",
       .inputs = {files},
       .arguments = arguments,
       .element = record,
       .instantiate = [=](const auto& inputs, const auto&) -> DatasetInstance {
         if (cycle == 0) throw errors::InvalidArgumentError("`cycle_length` must be > 0");
         const InterleaveOrder order{
             .cycle_length = automatic ? std::max(1U, std::thread::hardware_concurrency())
                                       : static_cast<std::size_t>(cycle),
             .block_length = 1};
         return [=, input = inputs[0]](IteratorContext& context) {
           return interleave_iterator(input(context), open_inner, order);
         };
       },
       .site = site});
}

Compression compression_named(const std::string& name, Site site) {
  if (name.empty()) return Compression::none;
  if (name == "ZLIB") return Compression::zlib;
  if (name == "GZIP") return Compression::gzip;
  throw ValueError(fmt::format("unknown compression_type '{}'", name),
                   {.site = site, .hint = "\"\", \"ZLIB\" and \"GZIP\" are known"});
}

/// Opens a file of records of one length, which must consist of whole records.
std::unique_ptr<RecordFile> open_fixed_length(const FixedLength& layout, const std::string& path) {
  if (layout.compression == Compression::none) {
    const std::optional<std::uint64_t> size = InputFile(path).size();
    const std::uint64_t around = layout.header_bytes + layout.footer_bytes;
    if (size && (*size < around || (*size - around) % layout.record_bytes != 0)) {
      throw errors::InvalidArgumentError(fmt::format(
          "Excluding the header ({} bytes) and footer ({} bytes), input file \"{}\" has body "
          "length {} bytes, which is not an exact multiple of the record length ({} bytes).",
          layout.header_bytes, layout.footer_bytes, path,
          static_cast<std::int64_t>(*size) - static_cast<std::int64_t>(around),
          layout.record_bytes));
    }
  }
  return fixed_length_format(layout).open(path);
}

/// Returns the files that match a pattern, in alphabetical order.
std::vector<std::string> matching_files(const std::string& pattern) {
  glob_t found{};
  const int failed = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> names(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (failed == GLOB_NOSPACE) throw errors::ResourceExhaustedError("no memory to list files");
  if (names.empty()) {
    throw errors::InvalidArgumentError(fmt::format("No files matched pattern: {}", pattern));
  }
  return names;
}

}  // namespace

Dataset FileNames::dataset(Site site) const {
  if (!names_) return dataset_;
  const Tensor names = convert_operand(get_default_graph(), *names_, "", std::nullopt);
  if (names.dtype() != DType::string) {
    throw TypeError(fmt::format("The `filenames` argument must contain `tf.string` elements. Got "
                                "`{}` elements.",
                                dtype_name(names.dtype())),
                    {.site = site});
  }
  const Tensor flat = reshape(names, {-1}, {.name = "flat_filenames"}, site);
  return slices_dataset({}, {flat}, site);
}

TFRecordDataset::TFRecordDataset(const FileNames& filenames, RecordDatasetOptions options,
                                 Site site)
    : Dataset(records_dataset(
          filenames, tfrecord_format(compression_named(options.compression_type, site)).open,
          options.num_parallel_reads, site)) {}

TextLineDataset::TextLineDataset(const FileNames& filenames, RecordDatasetOptions options,
                                 Site site)
    : Dataset(records_dataset(
          filenames, text_line_format(0, compression_named(options.compression_type, site)).open,
          options.num_parallel_reads, site)) {}

FixedLengthRecordDataset::FixedLengthRecordDataset(const FileNames& filenames,
                                                   std::int64_t record_bytes,
                                                   FixedLengthRecordDatasetOptions options,
                                                   Site site)
    : Dataset([&] {
        const Compression compression = compression_named(options.compression_type, site);
        const OpenFile open = [=](const std::string& path) {
          const std::int64_t header = options.header_bytes, footer = options.footer_bytes;
          const auto most = static_cast<std::int64_t>(kMaxRecordBytes);
          if (record_bytes <= 0 || header < 0 || footer < 0 || record_bytes > most ||
              header > most || footer > most) {
            throw errors::InvalidArgumentError(fmt::format(
                "`record_bytes` must be in [1, {0}] and `header_bytes` and `footer_bytes` in [0, "
                "{0}], not {1}, {2} and {3}",
                most, record_bytes, header, footer));
          }
          return open_fixed_length({.record_bytes = static_cast<std::uint64_t>(record_bytes),
                                    .header_bytes = static_cast<std::uint64_t>(header),
                                    .footer_bytes = static_cast<std::uint64_t>(footer),
                                    .compression = compression},
                                   path);
        };
        return records_dataset(filenames, open, options.num_parallel_reads, site);
      }()) {}

Dataset Dataset::list_files(const Operand& file_pattern, ListFilesOptions options, Site site) {
  const NameScope scope(get_default_graph(), "list_files", site);
  const Tensor pattern = dataset_argument(file_pattern, "file_pattern", DType::string);
  const Dataset files =
      make_dataset({.op = "TensorSliceDataset",
                    .arguments = {pattern},
                    .element = ElementSpec::of({DType::string}, {Shape{}}),
                    .instantiate =
                        [](const auto&, const std::vector<Array>& values) {
                          std::vector<std::string> names;
                          for (const std::string& one : values[0].flat<std::string>()) {
                            const std::vector<std::string> matching = matching_files(one);
                            names.insert(names.end(), matching.begin(), matching.end());
                          }
                          return slices_instance({Array::of(Shape{names.size()}, names)});
                        },
                    .site = site});
  if (!options.shuffle) return files;
  // All names are shuffled.
  const Tensor all =
      dataset_argument(Operand(INFINITE_CARDINALITY, site), "buffer_size", DType::int64);
  return shuffled_dataset(files, all, {.seed = options.seed}, site);
}

}  // namespace towerflow::data
