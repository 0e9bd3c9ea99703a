/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "played-systemd.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>

#include "config/unit-file.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

char *play_dir;
SystemdWatch *watch;
GPtrArray *held;

static sd_bus_slot *slot;
static GPtrArray *units;
static GHashTable *odd;      /* question -> how it is answered */
static GString *asked;
static unsigned n_asked, n_pongs;

/* ---- questions */

/* What a call asks, in the words of play_oddly(); NULL: nothing that systemd knows. A list also says of what
 * units. */
static char *read_question(sd_bus_message *m, char ***ret_patterns) {
        _cleanup_strv_free_ char **states = NULL, **patterns = NULL;
        g_autofree char *unit = NULL, *all = NULL, *some = NULL;
        const char *member = sd_bus_message_get_member(m), *interface, *property, *section;

        assert_true(sd_bus_message_rewind(m, true) >= 0);
        if (streq(member, "ListUnitsByPatterns")) {
                assert_true(sd_bus_message_read_strv(m, &states) >= 0);
                assert_true(sd_bus_message_read_strv(m, &patterns) >= 0);
                some = states ? g_strjoinv(",", states) : NULL;
                all = g_strjoinv(" ", patterns);
                if (ret_patterns)
                        *ret_patterns = TAKE_PTR(patterns);
                return some ? g_strdup_printf("New(%s: %s)", some, all) : g_strdup_printf("List(%s)", all);
        }

        if (!streq(member, "Get"))
                return g_strdup(member);

        assert_true(sd_bus_message_read(m, "ss", &interface, &property) > 0);
        assert_true(sd_bus_path_decode(sd_bus_message_get_path(m), SYSTEMD_PATH "/unit", &unit) > 0);
        section = strrchr(interface, '.') + 1;
        if (!streq(section, g_str_has_prefix(property, "Control") ? unit_name_to_section(unit) : "Unit"))
                return g_strdup_printf("%s:%s.%s", unit, section, property);
        return g_strdup_printf("%s:%s", unit, property);
}

static const char *find_odd(const char *question) {
        g_autofree char *first = g_strndup(question, strcspn(question, "("));

        return g_hash_table_lookup(odd, first);
}

/* ---- answers */

static bool matches(const char *name, char **patterns) {
        for (char **i = patterns; *i; i++)
                if (fnmatch(*i, name, 0) == 0)
                        return true;

        return false;
}

/* Active or not: that is up to whoever asks, since it may change at any moment. */
static void append_list(sd_bus_message *reply, char **patterns) {
        assert_true(sd_bus_message_open_container(reply, 'a', "(ssssssouso)") >= 0);
        for (guint i = 0; i < units->len; i++) {
                const PlayedUnit *p = units->pdata[i];

                if (matches(p->name, patterns))
                        assert_true(sd_bus_message_append(reply, "(ssssssouso)", p->name, "A unit", p->load,
                                                          p->active, "sub", "", p->path, 0, "", "/") >= 0);
        }
        assert_true(sd_bus_message_close_container(reply) >= 0);
}

static PlayedUnit *find_unit(const char *path) {
        for (guint i = 0; i < units->len; i++)
                if (streq(((PlayedUnit *) units->pdata[i])->path, path))
                        return units->pdata[i];

        return NULL;
}

static void append_property(sd_bus_message *reply, const PlayedUnit *p, const char *property) {
        g_autofree char *path = p->cgroup > 0 ? g_strdup_printf("/%" PRIu64, p->cgroup) : g_strdup("");

        if (streq(property, "FragmentPath"))
                assert_true(sd_bus_message_append(reply, "v", "s", strempty(p->fragment)) >= 0);
        else if (streq(property, "DropInPaths")) {
                assert_true(sd_bus_message_open_container(reply, 'v', "as") >= 0);
                assert_true(sd_bus_message_append_strv(reply, (char **) p->dropins) >= 0);
                assert_true(sd_bus_message_close_container(reply) >= 0);
        } else if (streq(property, "ControlGroup"))
                assert_true(sd_bus_message_append(reply, "v", "s", path) >= 0);
        else if (streq(property, "ControlGroupId"))
                assert_true(sd_bus_message_append(reply, "v", "t", p->cgroup) >= 0);
        else
                assert_true(sd_bus_message_append(reply, "v", "s", p->load) >= 0);
}

static void load_unit(sd_bus_message *m, sd_bus_message *reply) {
        _cleanup_free_ char *path = NULL;
        const char *name;

        assert_true(sd_bus_message_read(m, "s", &name) > 0);
        for (guint i = 0; i < units->len; i++) {
                const PlayedUnit *p = units->pdata[i];

                if (streq_ptr(p->alias, name))
                        name = p->name;
        }
        assert_true(sd_bus_path_encode(SYSTEMD_PATH "/unit", name, &path) >= 0);
        assert_true(sd_bus_message_append(reply, "o", path) >= 0);
}

static int answer(sd_bus_message *m, const char *how) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_strv_free_ char **patterns = NULL;
        g_autofree char *question = read_question(m, &patterns);
        const char *property = strchr(question, ':');
        const PlayedUnit *p = find_unit(sd_bus_message_get_path(m));

        if (how && strchr(how, '.'))
                return sd_bus_reply_method_errorf(m, how, "It is refused.");
        if (!patterns && property && !p)
                return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_UNKNOWN_OBJECT, "No such unit.");
        if (!patterns && property && strchr(property, '.'))
                return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_INVALID_ARGS, "Of another type of unit.");

        assert_true(sd_bus_message_new_method_return(m, &reply) >= 0);
        if (how && streq(how, MALFORMED))
                assert_true(sd_bus_message_append(reply, "v", "b", true) >= 0);
        else if (how)
                assert_true(sd_bus_message_append(reply, "o", how) >= 0);
        else if (patterns)
                append_list(reply, patterns);
        else if (property)
                append_property(reply, p, property + 1);
        else if (streq(question, "LoadUnit"))
                load_unit(m, reply);
        return sd_bus_send(client, reply, NULL);
}

static int on_call(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        g_autofree char *question = NULL;
        const char *how;

        if (!sd_bus_message_is_method_call(m, NULL, NULL))
                return 0;

        question = read_question(m, NULL);
        g_string_append_printf(asked, "%s ", question);
        n_asked++;

        how = find_odd(question);
        if (how && streq(how, HELD))
                g_ptr_array_add(held, sd_bus_message_ref(m));
        else
                assert_true(answer(m, how) >= 0);
        return 1;
}

void play_oddly(const char *question, const char *how) {
        if (how)
                g_hash_table_insert(odd, g_strdup(question), (char *) how);
        else
                g_hash_table_remove(odd, question);
}

static void message_free(void *userdata) {
        sd_bus_message_unref(userdata);
}

static gboolean is_held(gpointer key, gpointer value, gpointer userdata) {
        return streq(value, HELD);
}

void play_release(void) {
        g_hash_table_foreach_remove(odd, is_held, NULL);
        for (guint i = 0; i < held->len; i++)
                assert_true(answer(held->pdata[i], NULL) >= 0);
        g_ptr_array_set_size(held, 0);
}

/* ---- units */

PlayedUnit *play_unit(const char *name, const char *active, uint64_t cgroup, const char *policy) {
        PlayedUnit *p = g_new0(PlayedUnit, 1);
        g_autofree char *text = g_strdup_printf("[%s]\nX-CachePolicy=%s\n", unit_name_to_section(name),
                                                strempty(policy));

        p->name = g_strdup(name);
        assert_true(sd_bus_path_encode(SYSTEMD_PATH "/unit", name, &p->path) >= 0);
        p->load = "loaded";
        p->active = active;
        p->cgroup = cgroup;
        if (cgroup > 0 && cgroup < FAKE_CGROUPS)
                fake_cgroup_make(&fixture->kernel, cgroup);
        if (policy)
                play_file(p, text);
        g_ptr_array_add(units, p);
        return p;
}

static void played_unit_free(void *userdata) {
        PlayedUnit *p = userdata;

        for (size_t i = 0; i < ELEMENTSOF(p->dropins); i++)
                free(p->dropins[i]);
        free(p->fragment);
        free(p->path);
        free(p->name);
        free(p);
}

void play_file(PlayedUnit *p, const char *text) {
        free(p->fragment);
        p->fragment = test_file(play_dir, p->name, text);
}

void play_dropin(PlayedUnit *p, unsigned i, const char *text) {
        g_autofree char *name = g_strdup_printf("%s.d/%u.conf", p->name, i);

        free(p->dropins[i]);
        p->dropins[i] = test_file(play_dir, name, text);
}

void play_forget(PlayedUnit *p) {
        assert_true(g_ptr_array_remove(units, p));
}

/* ---- signals */

void play_signal(const char *path, const char *interface, const char *member, const char *types, ...) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        va_list arguments;

        assert_true(sd_bus_message_new_signal(client, &m, path, interface, member) >= 0);
        va_start(arguments, types);
        assert_true(sd_bus_message_appendv(m, types, arguments) >= 0);
        va_end(arguments);
        assert_true(sd_bus_send(client, m, NULL) >= 0);
}

void play_new(const PlayedUnit *p) {
        play_signal(SYSTEMD_PATH, SYSTEMD_MANAGER_INTERFACE, "UnitNew", "so", p->name, p->path);
}

void play_removed(const PlayedUnit *p) {
        play_signal(SYSTEMD_PATH, SYSTEMD_MANAGER_INTERFACE, "UnitRemoved", "so", p->name, p->path);
}

/* It is never the first of what changed, nor alone. */
void play_state(PlayedUnit *p, const char *active) {
        p->active = active;
        play_signal(p->path, "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as",
                    SYSTEMD_UNIT_INTERFACE, 3, "SubState", "s", "active", "ActiveState", "s", active,
                    "InvocationID", "ay", 0, 0);
}

void play_reloading(bool begins) {
        play_signal(SYSTEMD_PATH, SYSTEMD_MANAGER_INTERFACE, "Reloading", "b", begins);
}

/* ---- beginning and end */

void start_systemd(void) {
        assert_true(sd_bus_request_name(client, SYSTEMD_SERVICE, 0) >= 0);
}

void stop_systemd(void) {
        assert_true(sd_bus_release_name(client, SYSTEMD_SERVICE) >= 0);
}

void start_watch(void) {
        assert_int_equal(systemd_watch_new(fixture->manager, server, &watch), 0);
}

void start(void) {
        need_bus();
        start_watch();
        assert_false(fixture->manager->settled);
        run_until_quiet();
}

void read_rules(const char *text) {
        static const char *directories[2];

        directories[0] = play_dir;
        free(test_file(play_dir, "10-a.conf", text));
        fixture->manager->paths.rules = directories;
        manager_reload(fixture->manager);
        add_policy("lfu", NULL);
        add_policy("mru", NULL);
}

void stop_watch(void) {
        watch = systemd_watch_free(watch);
}

int play_setup(void **state) {
        (void) bus_setup(state);
        if (!fixture)
                return 0;

        play_dir = test_dir_make();
        units = g_ptr_array_new_with_free_func(played_unit_free);
        held = g_ptr_array_new_with_free_func(message_free);
        odd = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        asked = g_string_new(NULL);
        assert_true(sd_bus_add_fallback(client, &slot, SYSTEMD_PATH, on_call, NULL) >= 0);
        start_systemd();
        return 0;
}

int play_teardown(void **state) {
        if (!fixture)
                return 0;

        stop_watch();
        slot = sd_bus_slot_unref(slot);
        g_ptr_array_unref(held);
        g_hash_table_unref(odd);
        g_ptr_array_unref(units);
        g_string_free(asked, TRUE);
        test_dir_remove(play_dir);
        return bus_teardown(state);
}

/* ---- what comes of it */

static int on_pong(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        n_pongs++;
        return 1;
}

/* All that the connections sent before has arrived then. */
static void ping(void) {
        unsigned n = n_pongs;
        const char *name;

        if (sd_bus_get_unique_name(server, &name) < 0) /* it is closed */
                return;
        assert_true(sd_bus_call_method_async(client, NULL, name, "/", "org.freedesktop.DBus.Peer", "Ping",
                                             on_pong, NULL, NULL) >= 0);
        run_while(n_pongs == n);
}

/* Of the questions of that kind; ':' is in those about units. */
static unsigned count_held(const char *kind) {
        unsigned n = 0;

        for (guint i = 0; i < held->len; i++) {
                g_autofree char *question = read_question(held->pdata[i], NULL);

                question[strcspn(question, "(")] = 0;
                n += !!strstr(question, kind);
        }
        return n;
}

static bool is_busy(void) {
        int reconcile;

        assert_true(sd_event_source_get_enabled(fixture->manager->reconcile_source, &reconcile) >= 0);
        return reconcile != SD_EVENT_OFF ||
                (watch && (watch->new_source || watch->n_in_flight > count_held(":") ||
                           (watch->new_slot && count_held("New") == 0) ||
                           (watch->list_slot && count_held("List") == 0)));
}

void run_until_quiet(void) {
        int64_t end = g_get_monotonic_time() + 30 * G_USEC_PER_SEC;
        unsigned n;

        do {
                assert_true(g_get_monotonic_time() < end);
                n = n_asked;
                ping();
                run();
        } while (n != n_asked || is_busy());
}

void expect_unit(const char *name, const char *expected) {
        const Unit *u = manager_find_unit(fixture->manager, name);
        g_autofree char *text = NULL;

        if (!u || !expected) {
                if (u || expected)
                        fail_msg("%s is %sknown", name, u ? "" : "not ");
                return;
        }

        text = g_strdup_printf("%s %s %s %" PRIu64 " %s", u->active ? "active" : "inactive",
                               u->setting.policy ?: "-", u->cgroup ?: "-", u->cgroup_id,
                               unit_state_to_string(u->state));
        assert_string_equal(text, expected);
}

void forget_asked(void) {
        g_string_truncate(asked, 0);
}

void expect_asked(const char *expected) {
        assert_string_equal(asked->str, expected);
        forget_asked();
}

unsigned count_asked(const char *text) {
        unsigned n = 0;

        for (const char *i = asked->str; (i = strstr(i, text)); i++)
                n++;
        return n;
}

SystemdUnit *find_watched(const char *name) {
        return g_hash_table_lookup(watch->units, manager_find_unit(fixture->manager, name));
}
