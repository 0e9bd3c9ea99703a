/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <elf.h>

#include "object.h"
#include "shared/string-util.h"

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(struct btf *, btf__free);

typedef struct Elf {
        const char *data;
        size_t size;
        Elf64_Ehdr header;
} Elf;

static bool fits(uint64_t offset, uint64_t length, uint64_t size) {
        return offset <= size && length <= size - offset;
}

/* Neither of the two, nor their sum in 32 bits, is what it does not look like. */
static bool is_sane(uint64_t offset, uint64_t length) {
        return fits(offset, length, INT32_MAX);
}

/* Nothing in the file needs to be aligned. */
static bool read_at(const Elf *e, uint64_t offset, void *ret, size_t length) {
        if (!fits(offset, length, e->size))
                return false;

        memcpy(ret, e->data + offset, length);
        return true;
}

static bool read_section(const Elf *e, uint64_t i, Elf64_Shdr *ret) {
        return fits(e->header.e_shoff, (i + 1) * sizeof(*ret), e->size) &&
                read_at(e, e->header.e_shoff + i * sizeof(*ret), ret, sizeof(*ret)) &&
                (ret->sh_type == SHT_NOBITS || fits(ret->sh_offset, ret->sh_size, e->size));
}

static bool section_is(const Elf *e, const Elf64_Shdr *section, const char *name) {
        size_t n = strlen(name) + 1;
        Elf64_Shdr names;

        return read_section(e, e->header.e_shstrndx, &names) && names.sh_type != SHT_NOBITS &&
                fits(section->sh_name, n, names.sh_size) &&
                memcmp(e->data + names.sh_offset + section->sh_name, name, n) == 0;
}

static bool check_symbols(const Elf *e, const Elf64_Shdr *table) {
        for (uint64_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++) {
                Elf64_Sym s;

                if (!read_at(e, table->sh_offset + i * sizeof(s), &s, sizeof(s)) ||
                    !is_sane(s.st_value, s.st_size))
                        return false;
        }

        return true;
}

/* As deep as libbpf follows them; names for names that go round have no end. */
#define NAMES_MAX 32U

static bool has_end(const struct btf *btf, const struct btf_type *t) {
        unsigned n = 0;

        while (t && (btf_is_mod(t) || btf_is_typedef(t)) && n++ < NAMES_MAX)
                t = btf__type_by_id(btf, t->type);
        return n <= NAMES_MAX;
}

static bool check_types(const Elf *e, const Elf64_Shdr *types) {
        _cleanup_(btf__freep) struct btf *btf = btf__new(e->data + types->sh_offset, types->sh_size);

        for (uint32_t id = 1; btf && id < btf__type_cnt(btf); id++) {
                const struct btf_type *t = btf__type_by_id(btf, id);

                if (!has_end(btf, t))
                        return false;
                for (uint32_t i = 0; btf_is_datasec(t) && i < btf_vlen(t); i++) {
                        const struct btf_var_secinfo *v = btf_var_secinfos(t) + i;
                        int64_t size = btf__resolve_size(btf, v->type);

                        if (!is_sane(v->offset, v->size) || !is_sane(v->offset, MAX(size, 0)))
                                return false;
                }
        }

        return true;
}

int policy_elf_check(const void *data, size_t size) {
        Elf e = { .data = data, .size = size };

        if (!read_at(&e, 0, &e.header, sizeof(e.header)) || memcmp(e.header.e_ident, ELFMAG, SELFMAG) != 0 ||
            e.header.e_ident[EI_CLASS] != ELFCLASS64 || e.header.e_shentsize != sizeof(Elf64_Shdr))
                return -ENOEXEC;

        for (uint64_t i = 1; i < e.header.e_shnum; i++) {
                Elf64_Shdr section;

                if (!read_section(&e, i, &section))
                        return -ENOEXEC;
                if (section.sh_type == SHT_SYMTAB && !check_symbols(&e, &section))
                        return -ENOEXEC;
                if (section.sh_type == SHT_PROGBITS && section_is(&e, &section, ".BTF") &&
                    !check_types(&e, &section))
                        return -ENOEXEC;
        }

        return 0;
}
