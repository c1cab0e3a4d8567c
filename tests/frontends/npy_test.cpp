// SPDX-License-Identifier: Apache-2.0
// Arrays in files: what is written reads back, what numpy writes reads too, and damaged files are words.

#include "frontends/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/zip.h"

namespace isamap {
namespace {

TensorData ramp(DType dtype, const std::vector<std::int64_t>& shape) {
  TensorData data = make_data({.name = "", .shape = shape, .dtype = dtype});
  for (std::int64_t i = 0; i < data.count(); ++i)
    data.set(i, is_float(dtype) ? Scalar{static_cast<double>(i % 7) - 2.5, 0}
                                : Scalar{0, dtype == DType::boolean ? i % 2 : i % 5});
  return data;
}

class Arrays : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("isamap_arrays_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  static std::string bytes_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static std::string first(const Diagnostics& problems) { return problems.empty() ? "" : problems.front().message; }

  /// False: python3 with numpy is not there.
  static bool python(const std::string& program) {
    return std::system(("python3 -c \"import numpy as np\n" + program + "\" 2>/dev/null").c_str()) == 0;
  }

  std::filesystem::path folder_;
};

const std::vector<DType> numpy_dtypes = {DType::f64, DType::f32, DType::f16, DType::s64, DType::s32, DType::s16,
                                         DType::s8,  DType::u64, DType::u32, DType::u16, DType::u8,  DType::boolean};

TEST_F(Arrays, WhatIsWrittenReadsBack) {
  std::vector<NamedData> arrays;
  for (const DType dtype : numpy_dtypes) arrays.push_back({std::string(name(dtype)), ramp(dtype, {3, 1, 4})});
  arrays.push_back({"scalar", ramp(DType::f32, {})});
  arrays.push_back({"empty/with.name", ramp(DType::f32, {2, 0})});
  ASSERT_TRUE(save_arrays(file("a.npz"), arrays));
  const auto read = load_arrays(file("a.npz"));
  ASSERT_TRUE(read) << render(read.diagnostics());
  ASSERT_EQ(read->size(), arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ((*read)[i].name, arrays[i].name);
    EXPECT_EQ((*read)[i].data, arrays[i].data) << arrays[i].name;
  }
}

TEST_F(Arrays, TypesThatNumpyLacksAreUnsignedBits) {
  for (const auto& [dtype, as] : {std::pair(DType::bf16, DType::u16), {DType::e4m3, DType::u8}}) {
    const TensorData data = ramp(dtype, {5});
    ASSERT_TRUE(save_arrays(file("b.npy"), {{"", data}}));
    const auto read = load_arrays(file("b.npy"));
    ASSERT_TRUE(read) << render(read.diagnostics());
    EXPECT_EQ((*read)[0].data.dtype, as);
    EXPECT_EQ(as_type((*read)[0].data, dtype), data);
  }
  EXPECT_EQ(as_type(ramp(DType::u16, {2}), DType::f16).dtype, DType::u16) << "numpy has f16";
}

TEST_F(Arrays, BigEndianAndColumnMajorArraysAreTurned) {
  const std::string header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n";
  const std::string array = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
                            std::string("\0\0\0\3\0\1\0\4\0\2\0\5", 12);
  const auto data = parse_npy(array);
  ASSERT_TRUE(data) << render(data.diagnostics());
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(data->get(i).integer, i);
}

TEST_F(Arrays, NumpyReadsWhatIsWritten) {
  if (!python("")) GTEST_SKIP() << "python3 with numpy is not there";
  std::vector<NamedData> arrays;
  for (const DType dtype : numpy_dtypes) arrays.push_back({std::string(name(dtype)), ramp(dtype, {3, 4})});
  ASSERT_TRUE(save_arrays(file("a.npz"), arrays));
  EXPECT_TRUE(python("z = np.load('" + file("a.npz") +
                     "')\n"
                     "i = np.arange(12).reshape(3, 4)\n"
                     "assert len(z.files) == " +
                     std::to_string(numpy_dtypes.size()) +
                     "\n"
                     "for name in z.files:\n"
                     "  a = z[name]\n"
                     "  e = i % 7 - 2.5 if a.dtype.kind == 'f' else i % 2 if a.dtype.kind == 'b' else i % 5\n"
                     "  assert (a == e).all() and a.dtype.itemsize in (1, 2, 4, 8), name\n"));
}

TEST_F(Arrays, WhatNumpyWritesReads) {
  if (!python("")) GTEST_SKIP() << "python3 with numpy is not there";
  for (const std::string save : {"savez", "savez_compressed"}) {
    ASSERT_TRUE(python("np." + save + "('" + file("n.npz") +
                       "', x=np.arange(6, dtype='f4').reshape(2, 3), t=np.asfortranarray(np.arange(6).reshape(2, 3)), "
                       "b=np.array([True, False]), big=np.arange(3, dtype='>f8'), s=np.float16(1.5))"));
    const auto read = load_arrays(file("n.npz"));
    ASSERT_TRUE(read) << render(read.diagnostics());
    ASSERT_EQ(read->size(), 5u);
    for (const std::size_t a : {0u, 1u})
      for (std::int64_t i = 0; i < 6; ++i) {
        const Scalar s = (*read)[a].data.get(i);
        EXPECT_EQ(a == 0 ? s.real : static_cast<double>(s.integer), static_cast<double>(i));
      }
    EXPECT_EQ((*read)[2].data.get(0).integer, 1);
    EXPECT_EQ((*read)[3].data.get(2).real, 2);
    EXPECT_EQ((*read)[4].data.get(0).real, 1.5);
    EXPECT_TRUE((*read)[4].data.shape.empty());
  }
}

TEST_F(Arrays, ProblemsAreNamed) {
  const auto said = [&](const std::string& bytes, const std::string& name = "a.npz") {
    write(file(name), bytes);
    const auto read = load_arrays(file(name));
    EXPECT_FALSE(read);
    return read ? "" : first(read.diagnostics());
  };
  const auto npy = [](const std::string& header, std::size_t size = 8) {
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
           std::string(size, 'x');
  };
  EXPECT_EQ(said("no archive"), "is no zip archive, or its end is missing");
  EXPECT_EQ(said("", "a.npy"), "the file is empty");
  EXPECT_EQ(said("no array", "a.npy"), "is no .npy array: its first bytes are no header of version 1 to 3");
  EXPECT_EQ(said(npy("{'descr': '<f4', 'fortran_order': False}"), "a.npy"), "its header is damaged");
  EXPECT_EQ(said(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}"), "a.npy"), "its type is '<c8'");
  EXPECT_EQ(said(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}"), "a.npy"),
            "holds 8 bytes; its shape (3,) of f32 needs more");
  EXPECT_EQ(said(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}"), "a.npy"),
            "holds 8 bytes; its shape (4611686018427387904, 4) of f32 needs more");
  EXPECT_EQ(said(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"), "a.npy"),
            "holds 8 bytes; its shape (1,) of f32 needs 4");
  EXPECT_FALSE(load_arrays(file("missing.npz")));
  EXPECT_FALSE(save_arrays(file("no/such/folder.npz"), {}));
  EXPECT_FALSE(save_arrays(file("two.npy"), {{"a", ramp(DType::f32, {1})}, {"b", ramp(DType::f32, {1})}}));
  ASSERT_TRUE(save_arrays(file("a.npz"), {{"a", ramp(DType::f32, {4})}}));
  std::string bytes = bytes_of(file("a.npz"));
  bytes[bytes.find("NUMPY") + 125] ^= 1;
  EXPECT_EQ(said(bytes), "'a.npy' is damaged: its checksum differs");
}

/// Deflated by numpy ("x" of 2 x 3, 0 to 5): the fuzz runs without Python.
const std::string deflated = [] {
  const char* const hex =
#include "tests/frontends/deflated_npz.inc"
      ;
  std::string bytes;
  for (const char* at = hex; *at != '\0'; at += 2)
    bytes += static_cast<char>(std::stoi(std::string(at, 2), nullptr, 16));
  return bytes;
}();

TEST_F(Arrays, DeflatedArchivesRead) {
  write(file("d.npz"), deflated);
  const auto read = load_arrays(file("d.npz"));
  if (!read && first(read.diagnostics()).find("without zlib") != std::string::npos)
    GTEST_SKIP() << "built without zlib (Debian: apt-get install zlib1g-dev)";
  ASSERT_TRUE(read) << render(read.diagnostics());
  EXPECT_EQ((*read)[0].name, "x");
  EXPECT_EQ((*read)[0].data.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ((*read)[0].data.get(5).real, 5);
}

TEST_F(Arrays, DamagedFilesAreWords) {
  ASSERT_TRUE(save_arrays(file("a.npz"), {{"a", ramp(DType::f32, {4, 2})}, {"b", ramp(DType::s8, {3})}}));
  const std::string stored = bytes_of(file("a.npz")), array = print_npy(ramp(DType::s16, {2, 2}));
  Random random(36);
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    const std::string& whole = round % 3 == 0 ? stored : round % 3 == 1 ? deflated : array;
    std::string bytes = whole;
    for (std::int64_t n = random.between(1, 4); n > 0; --n) {
      const auto at = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(bytes.size()) - 1));
      if (random.between(0, 3) == 0)
        bytes.resize(std::max<std::size_t>(at, 1));
      else if (random.between(0, 3) == 0)
        bytes.insert(at, std::string(static_cast<std::size_t>(random.between(1, 9)), '\xff'));
      else
        bytes[at] = static_cast<char>(random.between(0, 255));
    }
    const std::string path = file(round % 3 == 2 ? "x.npy" : "x.npz");
    write(path, bytes);
    const auto read = load_arrays(path);
    if (read) continue;
    ++refused;
    EXPECT_EQ(read.diagnostics().front().where.file, path);
    EXPECT_FALSE(first(read.diagnostics()).empty());
  }
  EXPECT_GT(refused, 750) << "damage is found";
}

/// Readers refuse a name that is said to be UTF-8 and is not.
TEST_F(Arrays, OnlyNamesThatAreUtf8AreSaidToBe) {
  const auto flags_of = [&](const std::string& name) {
    const auto archive = write_zip({{name, "bytes"}}, "x.npz");
    EXPECT_TRUE(archive);
    const auto back = read_zip(*archive, "x.npz");
    EXPECT_TRUE(back && back->size() == 1 && back->front().name == name);
    return static_cast<int>(static_cast<unsigned char>((*archive)[7])) << 8;
  };
  EXPECT_EQ(flags_of("plain"), 0x800);
  EXPECT_EQ(flags_of("\xc3\xa9"), 0x800);
  EXPECT_EQ(flags_of("a\xff\xfe"), 0);
  EXPECT_EQ(flags_of("\xc3"), 0);
  const std::string path = file("odd.npz");
  ASSERT_TRUE(save_arrays(path, {{"a\xff", ramp(DType::f32, {2})}}));
  const bool numpy = python("");
  EXPECT_TRUE(!numpy || python("z = np.load('" + path + "')\nassert z[z.files[0]].shape == (2,)"));
}

TEST(Zip, ChecksumsAreThoseOfTheStandard) { EXPECT_EQ(crc32_of("123456789"), 0xcbf43926u); }

}  // namespace
}  // namespace isamap
