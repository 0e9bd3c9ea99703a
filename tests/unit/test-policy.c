/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The registry, on real objects: the first argument is the directory of the ones built for the test. */

#include "test-util.h"

#include <stdio.h>

#include <elf.h>

#include "config/catalog.h"
#include "config/object.h"
#include "shared/bpf-log.h"
#include "shared/file-util.h"

static const char *objects;
static char *dir;

static int setup(void **state) {
        dir = test_dir_make();
        bpf_log_setup();
        return 0;
}

static int teardown(void **state) {
        test_dir_remove(dir);
        return 0;
}

static char *read_object(const char *object, size_t *ret_size) {
        char path[512], *content;

        (void) snprintf(path, sizeof(path), "%s/%s", objects, object);
        assert_int_equal(read_full_file(path, 1 << 20, &content, ret_size), 0);
        return content;
}

/* Puts an object of the test under another name into a directory. */
static void install(const char *object, const char *name) {
        char *content;
        size_t size;

        content = read_object(object, &size);
        free(test_file_write(dir, name, content, size));
        free(content);
}

static void test_registry(void **state) {
        _cleanup_ptr_array_ GPtrArray *policies = NULL;
        char high[256], low[256];
        const char *dirs[] = { high, low, "/nonexistent", NULL };
        const Policy *p;
        const PolicyTunable *t;

        (void) snprintf(high, sizeof(high), "%s/high", dir);
        (void) snprintf(low, sizeof(low), "%s/low", dir);
        install("sample.bpf.o", "low/sample.bpf.o");
        install("sample.bpf.o", "low/twice.bpf.o");
        install("sample.bpf.o", "low/much-too-long-a-name.bpf.o");
        install("sample.bpf.o", "low/README");
        free(test_file(dir, "high/twice.bpf.o", "this is not ELF"));
        free(test_file(dir, "low/empty.bpf.o", ""));
        install("no-policy.bpf.o", "low/none.bpf.o");

        policies = policies_load(dirs);
        assert_int_equal(policies->len, 4);
        assert_null(policies_find(policies, "README"));

        p = policies_find(policies, "sample");
        assert_non_null(p);
        assert_null(p->problem);
        assert_string_equal(p->description, "A policy for a test");
        assert_string_equal(p->source, "nowhere");
        assert_true(p->filters);
        assert_true(p->plans);
        assert_true(p->knows_threads);
        assert_false(p->reconfigures);
        assert_int_equal(p->n_globs, 8);
        assert_int_equal(p->glob_size, 16);
        assert_int_equal(p->tunables->len, 2);
        for (guint i = 0; i < 2; i++) {
                t = &g_array_index(p->tunables, PolicyTunable, i);
                if (streq(t->name, "nr_scan")) {
                        assert_string_equal(t->type, "__u32");
                        assert_int_equal(t->default_value, 512);
                        assert_true(t->has_range);
                        assert_int_equal(t->min, 1);
                        assert_int_equal(t->max, 4096);
                        assert_string_equal(t->unit, "folios");
                        assert_string_equal(t->doc, "looked at");
                } else {
                        assert_string_equal(t->name, "bias");
                        assert_int_equal(t->default_value, -3);
                        assert_int_equal(t->min, -10);
                }
        }

        assert_int_equal(p->counters->len, 3);
        assert_string_equal(policy_find_counter(p, "asked")->unit, "pages");
        assert_string_equal(policy_find_counter(p, "asked")->doc, "that were wanted");
        assert_null(policy_find_counter(p, "again")->unit);
        assert_int_equal(policy_find_counter(p, "asked")->offset ^ policy_find_counter(p, "again")->offset,
                         sizeof(uint64_t));

        /* what loading takes, whatever becomes of the file */
        assert_int_equal(strlen(p->digest), POLICY_DIGEST_LENGTH);
        assert_true(g_bytes_get_size(p->object) > 0);

        assert_string_not_equal(policies_find(policies, "twice")->digest, p->digest);
        p = policies_find(policies, "twice");
        assert_non_null(strstr(p->path, "/high/"));
        assert_non_null(strstr(p->problem, "not a BPF object file"));
        assert_non_null(policies_find(policies, "empty")->problem);
        assert_non_null(strstr(policies_find(policies, "none")->problem, "0 variables"));
}

/* A description, and the name of a type, in Latin-1: what is shown is UTF-8. */
static void test_not_utf8(void **state) {
        static const char description[] = "A policy for a test", type[] = "\0__u32";
        _cleanup_ptr_array_ GPtrArray *policies = NULL;
        const char *dirs[] = { dir, NULL };
        const Policy *p;
        char *content, *at;
        size_t size;

        content = read_object("sample.bpf.o", &size);
        while ((at = memmem(content, size, description, strlen(description)))) /* DWARF has it, too */
                *at = '\xc4';
        while ((at = memmem(content, size, type, sizeof(type))))
                at[1] = '\xc4';
        free(test_file_write(dir, "latin.bpf.o", content, size));
        free(content);

        policies = policies_load(dirs);
        p = policies_find(policies, "latin");
        assert_string_equal(p->description, "\xef\xbf\xbd policy for a test");
        assert_string_equal(((PolicyTunable *) p->tunables->data)->type, "\xef\xbf\xbd_u32");
}

/* The names are as long as those they replace: in the file nothing moves. */
static void test_counters(void **state) {
        static const struct {
                const char *from, *to, *problem; /* with the NUL in front of them and behind */
        } cases[] = {
                { "\0again", "\0Again", "counter 'Again' is not named by small letters" },
                { "\0again", "\0ag-in", "counter 'ag-in' is not named by small letters" },
                { "\0again", "\0ag\nin", "counter 'ag\\nin' is not named by small letters" },
                { "\0again", "\0asked", "counter 'asked' is declared twice" },
                { "cachebpf:unit=pages", "cachebpf:unit=pag s", "counter 'asked' has a unit that is" },
                { "cachebpf:unit=pages", "cachebpf:unit=total", "counter 'asked_total' is, with its unit" },
        };
        const char *dirs[] = { dir, NULL };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                size_t n = cases[i].from[0] ? strlen(cases[i].from) : 7, size, found = 0;
                _cleanup_ptr_array_ GPtrArray *policies = NULL;
                const Policy *p;
                char *content, *at;

                content = read_object("sample.bpf.o", &size);
                for (; (at = memmem(content, size, cases[i].from, n)); found++)
                        memcpy(at, cases[i].to, n);
                assert_true(found > 0);
                free(test_file_write(dir, "bad.bpf.o", content, size));
                free(content);

                policies = policies_load(dirs);
                p = policies_find(policies, "bad");
                assert_non_null(p->problem);
                if (!strstr(p->problem, cases[i].problem) || !strstr(p->problem, "bad.bpf.o"))
                        fail_msg("%s", p->problem);
        }
}

static void test_members(void **state) {
        _cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
        struct bpf_map *ops;
        char path[512], *problem = NULL;
        g_autoptr(GBytes) object = NULL;
        void *id, *name;

        (void) snprintf(path, sizeof(path), "%s/sample.bpf.o", objects);
        assert_int_equal(policy_object_read(path, &object, &problem), 0);
        assert_int_equal(policy_object_open(path, object, &obj, &ops, &problem), 0);
        assert_int_equal(policy_object_find_member(obj, ops, "cgroup_id", 8, &id), 0);
        assert_int_equal(policy_object_find_member(obj, ops, "name", 16, &name), 0);
        assert_string_equal(name, "sample");
        assert_int_equal((char *) name - (char *) id, 16);
        assert_int_equal(policy_object_find_member(obj, ops, "cgroup_id", 4, &id), -EINVAL);
        assert_int_equal(policy_object_find_member(obj, ops, "nothing", 8, &id), -ENOENT);
}

/* ---- what libbpf would follow out of the file */

static Elf64_Shdr *find_section(char *elf, uint32_t type, const char *name) {
        Elf64_Ehdr *header = (Elf64_Ehdr *) elf;
        Elf64_Shdr *sections = (Elf64_Shdr *) (elf + header->e_shoff);
        const char *names = elf + sections[header->e_shstrndx].sh_offset;

        for (unsigned i = 0; i < header->e_shnum; i++)
                if (sections[i].sh_type == type && (!name || streq(names + sections[i].sh_name, name)))
                        return sections + i;

        fail_msg("the object has no section %s", name ?: "of that type");
        return NULL;
}

static Elf64_Sym *find_program(char *elf) {
        Elf64_Shdr *table = find_section(elf, SHT_SYMTAB, NULL);
        Elf64_Sym *symbols = (Elf64_Sym *) (elf + table->sh_offset);

        for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++)
                if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC)
                        return symbols + i;

        fail_msg("the object has no program");
        return NULL;
}

/* The first variable of a section, as the types have it. */
static struct btf_var_secinfo *find_variable(char *elf, const char *section) {
        Elf64_Shdr *types = find_section(elf, SHT_PROGBITS, ".BTF");
        struct btf *btf = btf__new(elf + types->sh_offset, types->sh_size);
        const struct btf_header *header = (const struct btf_header *) (elf + types->sh_offset);
        const char *raw = btf__raw_data(btf, &(uint32_t) {});
        const struct btf_type *t = btf__type_by_id(btf,
                                                   btf__find_by_name_kind(btf, section, BTF_KIND_DATASEC));
        size_t offset = (const char *) btf_var_secinfos(t) - raw;

        assert_true(header->magic == 0xeb9f);
        btf__free(btf);
        return (struct btf_var_secinfo *) (elf + types->sh_offset + offset);
}

static struct btf_type *find_typedef(char *elf, const char *name, uint32_t *ret_id) {
        Elf64_Shdr *types = find_section(elf, SHT_PROGBITS, ".BTF");
        struct btf *btf = btf__new(elf + types->sh_offset, types->sh_size);
        const char *raw = btf__raw_data(btf, &(uint32_t) {});
        int id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
        size_t offset;

        assert_true(id > 0);
        offset = (const char *) btf__type_by_id(btf, id) - raw;
        btf__free(btf);
        *ret_id = id;
        return (struct btf_type *) (elf + types->sh_offset + offset);
}

static void check_damaged(char *elf, size_t size) {
        _cleanup_(policy_freep) Policy *p = NULL;
        _cleanup_free_ char *path = test_file_write(dir, "damaged.bpf.o", elf, size);

        assert_int_equal(policy_elf_check(elf, size), -ENOEXEC);
        p = policy_new("damaged", path);
        policy_read_object(p);
        assert_non_null(p->problem);
        assert_non_null(strstr(p->problem, "damaged.bpf.o: it is not a BPF object file"));
}

static void test_damaged(void **state) {
        _cleanup_free_ char *elf = NULL;
        struct btf_var_secinfo *v;
        Elf64_Shdr *section;
        Elf64_Sym *program;
        uint64_t saved;
        size_t size;

        elf = read_object("sample.bpf.o", &size);
        assert_int_equal(policy_elf_check(elf, size), 0);
        assert_int_equal(policy_elf_check(elf, 0), -ENOEXEC);
        check_damaged(elf, size / 2);
        check_damaged(elf, size - 1);

        program = find_program(elf);
        saved = program->st_value;
        program->st_value = -program->st_size; /* the sum is 0, which is inside of any section */
        check_damaged(elf, size);
        program->st_value = saved;

        section = find_section(elf, SHT_PROGBITS, ".rodata");
        saved = section->sh_offset;
        section->sh_offset = UINT64_MAX - 1;
        check_damaged(elf, size);
        section->sh_offset = saved;

        v = find_variable(elf, ".rodata");
        saved = v->offset;
        v->offset = -v->size;
        check_damaged(elf, size);
        v->offset = saved;

        /* a name for itself: of the type of a counter, or of a tunable */
        for (unsigned i = 0; i < 2; i++) {
                uint32_t id;
                struct btf_type *t = find_typedef(elf, i == 0 ? "__u64" : "__u32", &id);

                saved = t->type;
                t->type = id;
                check_damaged(elf, size);
                t->type = saved;
        }

        assert_int_equal(policy_elf_check(elf, size), 0);
}

/* The section of the variables can be the first of all types. */
static void test_damaged_first(void **state) {
        struct btf *btf = btf__new_empty();
        _cleanup_free_ char *elf = NULL;
        Elf64_Shdr *section;
        uint32_t types_size;
        const void *types;
        size_t size;

        assert_int_equal(btf__add_datasec(btf, ".data", 4), 1);
        assert_int_equal(btf__add_datasec_var_info(btf, 3, (uint32_t) -4, 4), 0);
        assert_int_equal(btf__add_int(btf, "int", 4, 0), 2);
        assert_int_equal(btf__add_var(btf, "v", BTF_VAR_STATIC, 2), 3);
        types = btf__raw_data(btf, &types_size);

        elf = read_object("sample.bpf.o", &size);
        section = find_section(elf, SHT_PROGBITS, ".BTF");
        assert_true(types_size <= section->sh_size);
        memcpy(elf + section->sh_offset, types, types_size);
        section->sh_size = types_size;
        btf__free(btf);
        check_damaged(elf, size);
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_registry),
                cmocka_unit_test(test_not_utf8),
                cmocka_unit_test(test_counters),
                cmocka_unit_test(test_members),
                cmocka_unit_test(test_damaged),
                cmocka_unit_test(test_damaged_first),
        };

        assert(argc > 1);
        objects = argv[1];
        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, setup, teardown);
}
