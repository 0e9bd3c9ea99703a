/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Clients of varlink that are not root's: one that calls without a pause keeps nobody out. */

#include "varlink-fixture.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "daemon/varlink/clients.h"
#include "shared/file-util.h"
#include "shared/varlink-org.cachebpf.Manager.h"

#define NOBODY 65534U
#define N_CALLS 1000U
#define GET_INFO "{\"method\":\"org.varlink.service.GetInfo\"}"
#define MONITOR "{\"method\":\"" CACHEBPF_VARLINK_INTERFACE ".Monitor\",\"more\":true}"

/* As when that user connects to the socket; returns the client's end. */
static int connect_as(uid_t uid) {
        sd_varlink *link;
        int fds[2];

        if (geteuid() == 0) /* what the socket says of who made it */
                assert_int_equal(seteuid(uid), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        if (getuid() == 0)
                assert_int_equal(seteuid(0), 0);

        assert_int_equal(setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &(int) { 1 << 20 }, sizeof(int)), 0);
        assert_true(sd_varlink_server_add_connection(varlink->server, fds[0], &link) >= 0);
        assert_int_equal(varlink_clients_add(varlink, link), 0);
        return fds[1];
}

static int connect_user(void) {
        return connect_as(NOBODY);
}

static void call(int fd, const char *text) {
        size_t n = strlen(text) + 1;

        assert_int_equal(write(fd, text, n), n);
}

/* How many answers there are, which are taken. */
static unsigned count_answers(int fd) {
        char buffer[4096];
        unsigned sum = 0;
        ssize_t n;

        while ((n = read(fd, buffer, sizeof(buffer))) > 0)
                for (ssize_t i = 0; i < n; i++)
                        sum += buffer[i] == '\0';
        return sum;
}

/* Events until the client has that many answers; returns how many another one got meanwhile. */
static unsigned run_until(int fd, unsigned n_answers, int other) {
        unsigned sum = 0;

        while (n_answers > 0) {
                unsigned n;

                assert_true(sd_event_run(fixture->event, 0) > 0);
                n = count_answers(fd);
                n_answers -= n < n_answers ? n : n_answers;
                sum += count_answers(other);
        }
        return sum;
}

static void test_turns(void **state) {
        int busy, patient;

        server_start();
        busy = connect_user();
        for (unsigned i = 0; i < N_CALLS; i++)
                call(busy, GET_INFO);
        for (unsigned i = 0; i < 10; i++)
                assert_true(sd_event_run(fixture->event, 0) > 0);

        patient = connect_user();
        call(patient, GET_INFO);
        assert_in_range(run_until(patient, 1, busy), 1, 20);
        assert_in_range(run_until(busy, N_CALLS / 2, patient), 0, 0);

        (void) safe_close(patient);
        (void) safe_close(busy);
        run();
        assert_int_equal(varlink->others->len, 0);
        server_stop();
}

/* Who has a hundred clients has not a hundred times as many of them. */
static void test_users(void **state) {
        int busy[100], patient;

        if (getuid() != 0)
                skip();

        server_start();
        for (size_t i = 0; i < ELEMENTSOF(busy); i++) {
                busy[i] = connect_user();
                for (unsigned k = 0; k < 10; k++)
                        call(busy[i], GET_INFO);
        }
        for (unsigned i = 0; i < 1000; i++)
                assert_true(sd_event_run(fixture->event, 0) > 0);

        patient = connect_as(NOBODY - 1);
        call(patient, GET_INFO);
        for (unsigned i = 0; count_answers(patient) == 0; i++) {
                assert_true(i < 50);
                assert_true(sd_event_run(fixture->event, 0) > 0);
        }

        for (size_t i = 0; i < ELEMENTSOF(busy); i++)
                (void) safe_close(busy[i]);
        (void) safe_close(patient);
        run();
        assert_int_equal(varlink->others->len, 0);
        assert_int_equal(g_hash_table_size(varlink->turn_users), 0);
        server_stop();
}

static int listen_at(struct sockaddr_un *address) {
        socklen_t size = sizeof(*address);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        assert_true(fd >= 0);
        *address = (struct sockaddr_un) { .sun_family = AF_UNIX };
        /* any abstract name */
        assert_int_equal(bind(fd, (struct sockaddr *) address, sizeof(sa_family_t)), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *) address, &size), 0);
        assert_int_equal(listen(fd, 100), 0);
        assert_int_equal(sd_varlink_server_listen_fd(varlink->server, fd), 0);
        return (int) size;
}

/* Users who connect and connect keep no unit from its policy. */
static void test_connecting(void **state) {
        struct sockaddr_un address;
        int size;
        Unit *a;

        server_start();
        size = listen_at(&address);
        a = add_unit("a.slice", "lfu", 1);
        for (unsigned i = 0; !a->effective; i++) {
                int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

                assert_true(i < 1000);
                assert_int_equal(connect(fd, (struct sockaddr *) &address, (socklen_t) size), 0);
                (void) safe_close(fd);
                assert_true(sd_event_run(fixture->event, 0) > 0);
        }

        run();
        assert_int_equal(varlink->clients->len, 0);
        server_stop();
}

/* What changed is told before calls are answered. */
static void test_news_first(void **state) {
        int busy, watcher;
        Unit *a;

        server_start();
        a = add_unit("a.slice", "lfu", 1);
        run();
        watcher = connect_user();
        call(watcher, MONITOR);
        run();
        assert_int_equal(count_answers(watcher), 2); /* the unit, and that it is the last one */

        busy = connect_user();
        for (unsigned i = 0; i < N_CALLS; i++)
                call(busy, GET_INFO);
        configure(a, "mru");
        assert_in_range(run_until(watcher, 1, busy), 0, 20);

        (void) safe_close(busy);
        (void) safe_close(watcher);
        run();
        assert_int_equal(varlink->others->len, 0); /* also of one who listened */
        server_stop();
}

/* One that goes has its calls carried out, and is forgotten then. */
static void test_hang_up(void **state) {
        int other, fd;

        server_start();
        fd = connect_user();
        other = connect_user();
        for (unsigned i = 0; i < 10; i++)
                call(fd, GET_INFO);
        (void) safe_close(fd);
        run();
        assert_int_equal(varlink->others->len, 1);

        call(other, GET_INFO);
        run();
        assert_int_equal(count_answers(other), 1);
        assert_int_equal(shutdown(other, SHUT_WR), 0); /* says that there is no more to come */
        run();
        assert_int_equal(varlink->others->len, 0);
        (void) safe_close(other);
        server_stop();
}

/* A call that comes in pieces, each as much as is read at a time and more. */
static void test_long_call(void **state) {
        g_autofree char *part = g_strnfill(150 << 10, 'x');
        unsigned n = 0;
        int fd;

        server_start();
        fd = connect_user();
        assert_int_equal(write(fd, "{\"method\":\"x.", 13), 13);
        for (unsigned i = 0; i < 2; i++) {
                run();
                assert_int_equal(write(fd, part, strlen(part)), strlen(part));
        }
        run();
        assert_int_equal(count_answers(fd), 0);
        call(fd, "\"}");
        call(fd, GET_INFO);
        for (unsigned i = 0; n < 2; i++) { /* the answer to the first one is as long */
                run();
                n += count_answers(fd);
                assert_true(i < 100);
        }
        (void) safe_close(fd);
        run();
        server_stop();
}

/* One that does not read for a while misses nothing. */
static void test_slow_reader(void **state) {
        unsigned sum = 0;
        int fd;

        server_start();
        fd = connect_user();
        for (unsigned i = 0; i < 5 * N_CALLS; i++) {
                call(fd, GET_INFO);
                if (i % N_CALLS == 0)
                        run();
        }
        run();
        for (unsigned n = 1; n > 0; sum += n) {
                n = count_answers(fd);
                run();
        }
        assert_int_equal(sum, 5 * N_CALLS);
        (void) safe_close(fd);
        run();
        assert_int_equal(varlink->others->len, 0);
        server_stop();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                FIXTURE_TEST(test_turns),
                FIXTURE_TEST(test_users),
                FIXTURE_TEST(test_connecting),
                FIXTURE_TEST(test_news_first),
                FIXTURE_TEST(test_hang_up),
                FIXTURE_TEST(test_long_call),
                FIXTURE_TEST(test_slow_reader),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
