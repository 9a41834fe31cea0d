#include "data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "core/graph/error.h"
#include "data/byte_order.h"
#include "data/compression.h"
#include "data/existing_file.h"
#include "data/idx_summary.h"

namespace towerflow::data {
namespace {

struct Header {
  DType dtype = DType::invalid;
  std::vector<std::int64_t> sizes;
  std::uint64_t data_bytes = 0;

  Shape shape() const { return Shape(std::span<const std::int64_t>(sizes)); }
};

DType dtype_of_code(unsigned code) {
  switch (code) {
    case 8:
      return uint8;
    case 9:
      return int8;
    case 11:
      return int16;
    case 12:
      return int32;
    case 13:
      return float32;
    case 14:
      return float64;
    default:
      return DType::invalid;
  }
}

std::uint32_t read_word(DecodingInput& input, const char* what) {
  std::array<std::byte, 4> word;
  const std::size_t count = input.read(word);
  if (count < word.size())
    throw errors::DataLossError(fmt::format("{} ends inside its {}, after {} bytes",
                                            input.path().string(), what, input.position()));
  return load_big<std::uint32_t>(word);
}

Header read_header(DecodingInput& input) {
  const std::uint32_t magic = read_word(input, "magic number");
  Header header;
  header.dtype = dtype_of_code((magic >> 8) & 0xffU);
  const std::uint32_t rank = magic & 0xffU;
  if (magic >> 16 != 0 || header.dtype == DType::invalid || rank == 0)
    throw errors::DataLossError(
        fmt::format("{} is not an IDX file: its magic number is {:#010x}", input.path().string(),
                    magic),
        {.hint = "MNIST's are 0x00000803 for images and 0x00000801 for labels"});
  // The product of the sizes in a file may overflow 64 bits.
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  header.data_bytes = dtype_size(header.dtype);
  for (std::uint32_t axis = 0; axis < rank; ++axis) {
    const std::uint64_t size = read_word(input, "sizes");
    if (size > 0 && header.data_bytes > kMost / size)
      throw errors::DataLossError(
          fmt::format("{}: the sizes in its header give more bytes than a file can hold",
                      input.path().string()));
    header.data_bytes *= size;
    header.sizes.push_back(static_cast<std::int64_t>(size));
  }
  return header;
}

void swap_bytes(std::string& data, std::size_t element) {
  if (element == 1) return;
  for (auto at = data.begin(); at != data.end(); at += static_cast<std::ptrdiff_t>(element))
    std::reverse(at, at + static_cast<std::ptrdiff_t>(element));
}

[[noreturn]] void throw_wrong_size(const DecodingInput& input, const Header& header,
                                   const std::string& found) {
  throw errors::DataLossError(fmt::format("{} holds {} bytes of data, but its header says {} {}",
                                          input.path().string(), found, header.data_bytes,
                                          header.shape().text()));
}

/// Detects the compression and reads the header, which is checked against the file's size if known.
Header open_idx(DecodingInput& input) {
  if (has_gzip_magic(input.peek_stored(4))) input.set_compression(Compression::gzip);
  const Header header = read_header(input);
  if (const auto left = input.remaining(); left && *left != header.data_bytes)
    throw_wrong_size(input, header, std::to_string(*left));
  return header;
}

void check_end(DecodingInput& input, const Header& header) {
  if (std::byte more; input.read({&more, 1}) > 0)
    throw_wrong_size(input, header, fmt::format("more than {}", header.data_bytes));
}

/// Adds elements, given in the file's byte order, to the summary.
void add_values(std::string& data, IdxSummary& summary) {
  if (summary.dtype == uint8) {
    for (const char c : data) ++summary.counts[static_cast<unsigned char>(c)];
  }
  swap_bytes(data, dtype_size(summary.dtype));
  dispatch_dtype(summary.dtype, [&]<class T>() {
    for (std::size_t at = 0; at < data.size(); at += sizeof(T)) {
      T value{};
      std::memcpy(&value, data.data() + at, sizeof value);
      summary.values.add(static_cast<long double>(value));
    }
  });
}

constexpr const char* kMnistFiles =
    "the folder holds the four files of the MNIST database, packed or unpacked";

}  // namespace

Array read_idx(const std::filesystem::path& path) {
  DecodingInput input(path);
  const Header header = open_idx(input);
  std::string data;
  const std::uint64_t count = input.append_to(data, header.data_bytes);
  if (count < header.data_bytes) throw_wrong_size(input, header, std::to_string(count));
  check_end(input, header);
  swap_bytes(data, dtype_size(header.dtype));
  Array array(header.dtype, header.shape());
  if (!data.empty()) std::memcpy(array.raw(), data.data(), data.size());
  return array;
}

IdxSummary summarize_idx(
    const std::filesystem::path& path,
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) {
  constexpr std::uint64_t kPiece = 64 * 1024;  // a multiple of every element's size
  DecodingInput input(path);
  const Header header = open_idx(input);
  IdxSummary summary{
      .dtype = header.dtype, .shape = header.shape(), .compression = input.compression()};
  std::string piece;
  for (std::uint64_t done = 0; done < header.data_bytes;) {
    const std::uint64_t wanted = std::min(header.data_bytes - done, kPiece);
    piece.clear();
    const std::uint64_t found = input.append_to(piece, wanted);
    done += found;
    if (found < wanted) throw_wrong_size(input, header, std::to_string(done));
    add_values(piece, summary);
    if (progress) progress(done, header.data_bytes);
  }
  check_end(input, header);
  return summary;
}

MnistSet read_mnist_set(const std::filesystem::path& folder, const std::string& name) {
  const auto images_path = existing_file(folder, name + "-images-idx3-ubyte", kMnistFiles);
  const auto labels_path = existing_file(folder, name + "-labels-idx1-ubyte", kMnistFiles);
  MnistSet set{read_idx(images_path), read_idx(labels_path)};
  const auto check = [](bool good, const std::filesystem::path& path, const Array& found,
                        const char* wanted) {
    if (!good)
      throw errors::InvalidArgumentError(fmt::format("{} holds {} {}, but should hold {}",
                                                     path.string(), dtype_name(found.dtype()),
                                                     found.shape().text(), wanted));
  };
  const Shape& shape = set.images.shape();
  check(set.images.dtype() == uint8 && shape.rank() == 3 && shape.size(1) == 28 &&
            shape.size(2) == 28,
        images_path, set.images, "uint8 images of 28 by 28");
  check(set.labels.dtype() == uint8 && set.labels.shape().rank() == 1, labels_path, set.labels,
        "uint8 labels in one dimension");
  if (shape.size(0) != set.labels.shape().size(0))
    throw errors::InvalidArgumentError(
        fmt::format("{} holds {} images, {} holds {} labels", images_path.string(), shape.size(0),
                    labels_path.string(), set.labels.shape().size(0)));
  const auto labels = set.labels.flat<std::uint8_t>();
  const auto bad = std::find_if(labels.begin(), labels.end(), [](auto label) { return label > 9; });
  if (bad != labels.end())
    throw errors::InvalidArgumentError(fmt::format("{}: label {} is {}, but labels are 0 to 9",
                                                   labels_path.string(), bad - labels.begin(),
                                                   *bad));
  return set;
}

}  // namespace towerflow::data
