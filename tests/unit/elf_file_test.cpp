// Symbols of real and of damaged files, and of maps of generated code.

#include "capture/sample/elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>

#include "base/files.h"
#include "capture/sample/frame_names.h"

namespace nl::capture {
namespace {

struct Symbol {
  const char* name;
  uint64_t address, bytes;
  unsigned char type = STT_FUNC;
  uint16_t section = 1;
};

/// A small file: headers, a note with a build id, code at 0x1000 of the file and 0x401000 of memory, symbols.
std::string elf_of(const std::vector<Symbol>& symbols, uint32_t table_type = SHT_SYMTAB) {
  std::string texts(1, '\0');
  std::vector<Elf64_Sym> table(1);
  for (const Symbol& symbol : symbols) {
    table.push_back(
        {static_cast<uint32_t>(texts.size()), symbol.type, 0, symbol.section, symbol.address, symbol.bytes});
    texts += std::string(symbol.name) + '\0';
  }
  const std::string note("\4\0\0\0\4\0\0\0\3\0\0\0GNU\0\1\2\3\4", 20);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  const uint64_t note_at = sizeof header + 2 * sizeof(Elf64_Phdr), symbols_at = 256;
  const uint64_t texts_at = symbols_at + table.size() * sizeof(Elf64_Sym);
  header.e_shoff = texts_at + texts.size();
  const Elf64_Phdr programs[] = {{PT_LOAD, PF_R | PF_X, 0x1000, 0x401000, 0, 0x2000, 0x2000, 0x1000},
                                 {PT_NOTE, PF_R, note_at, 0, 0, note.size(), note.size(), 4}};
  Elf64_Shdr sections[4] = {};
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_addr = 0x401000;
  sections[1].sh_size = 0x800;
  sections[2].sh_type = table_type;
  sections[2].sh_link = 3;
  sections[2].sh_offset = symbols_at;
  sections[2].sh_size = table.size() * sizeof(Elf64_Sym);
  sections[3].sh_type = SHT_STRTAB;
  sections[3].sh_offset = texts_at;
  sections[3].sh_size = texts.size();
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file.append(reinterpret_cast<const char*>(programs), sizeof programs).append(note);
  file.resize(symbols_at);
  file.append(reinterpret_cast<const char*>(table.data()), table.size() * sizeof(Elf64_Sym)).append(texts);
  return file.append(reinterpret_cast<const char*>(sections), sizeof sections);
}

class ElfFileTest : public testing::Test {
 protected:
  ElfFileTest() : path_(testing::TempDir() + "elf-" + std::to_string(::getpid())) {}
  ~ElfFileTest() override { ::unlink(path_.c_str()); }
  Result<ElfFile> open(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    return ElfFile::open(path_);
  }
  std::string path_;
};

const std::vector<Symbol> kSymbols = {
    {"outer", 0x401100, 0x100}, {"inner", 0x401140, 0x10},
    {"endless", 0x401300, 0},   {"data", 0x401500, 8, STT_OBJECT},
    {"late", 0x401600, 0x20},   {"elsewhere", 0x401700, 8, STT_FUNC, SHN_UNDEF}};

TEST_F(ElfFileTest, NamesTheInnermostFunctionThatHoldsAnAddress) {
  for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    const auto file = open(elf_of(kSymbols, type));
    ASSERT_TRUE(file);
    EXPECT_EQ(file->build_id(), std::string("\1\2\3\4"));
    const std::vector<uint64_t> addresses = {0x401000, 0x401100, 0x401145, 0x401150, 0x4011FF, 0x401200,
                                             0x401300, 0x401350, 0x401610, 0x401700, 0x401900};
    const std::vector<std::string> names = {"",        "outer",   "inner", "outer", "outer", "",
                                            "endless", "endless", "late",  "",      ""};
    EXPECT_EQ(file->functions_at(addresses), names);
  }
}

TEST_F(ElfFileTest, KnowsWhichAddressAByteOfTheFileHas) {
  const auto file = open(elf_of(kSymbols));
  ASSERT_TRUE(file);
  EXPECT_EQ(address_of(file->segments(), 0x1100), 0x401100);
  EXPECT_FALSE(address_of(file->segments(), 0xFFF));
  EXPECT_FALSE(address_of(file->segments(), 0x3000));
}

TEST_F(ElfFileTest, SurvivesAnyDamagedByteAndCut) {
  const std::string sound = elf_of(kSymbols);
  const std::vector<uint64_t> addresses = {0, 0x401145, 0x401350, ~uint64_t{0}};
  for (size_t at = 0; at < sound.size(); at++) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string bytes = sound;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      const auto file = open(bytes);
      EXPECT_TRUE(!file || file->functions_at(addresses).size() == addresses.size());
    }
    const auto file = open(sound.substr(0, at));
    EXPECT_TRUE(!file || file->functions_at(addresses)[0].empty());
  }
}

TEST_F(ElfFileTest, SurvivesRandomHeaders) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; i++) {
    std::string bytes = elf_of(kSymbols);
    for (int k = 0; k < 8; k++) {
      const uint64_t value = random() % 3 == 0 ? ~uint64_t{0} : uint64_t{random()} << (random() % 33);
      const size_t at = 16 + random() % (bytes.size() - 24);
      std::memcpy(bytes.data() + at, &value, sizeof value);
    }
    if (const auto file = open(bytes)) (void)file->functions_at(std::vector<uint64_t>{0x401145});
  }
}

TEST_F(ElfFileTest, ReadsOurselvesAndRefusesWhatIsNone) {
  const auto self = ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(self);
  EXPECT_FALSE(self->segments().empty());
  EXPECT_FALSE(ElfFile::open("/dev/null"));
  EXPECT_FALSE(ElfFile::open("/nowhere"));
  EXPECT_FALSE(open("#!/bin/sh\n"));
  EXPECT_FALSE(open(""));
}

TEST_F(ElfFileTest, MapsOfGeneratedCodeAreReadLineByLine) {
  ASSERT_TRUE(replace_file(path_,
                           "1000 100 py::old:/a.py\nnonsense\n2000 10\n1000 100 py::forward:/srv/models/a "
                           "b.py\nfffffffffffffff0 20 end\n" +
                               std::string(20000, 'x') + "\n3000 8 behind"));
  const std::vector<uint64_t> addresses = {0xFFF, 0x1000, 0x10FF, 0x1100, 0x2000, 0x3004, ~uint64_t{0}};
  const std::vector<std::string> names = {
      "", "forward (models/a b.py)", "forward (models/a b.py)", "", "", "behind", "end"};
  EXPECT_EQ(names_in_perf_map(path_, addresses), names);
  EXPECT_EQ(names_in_perf_map("/nowhere", addresses), std::vector<std::string>(7));
}

}  // namespace
}  // namespace nl::capture
