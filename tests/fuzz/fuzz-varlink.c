/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A libFuzzer target for the varlink server of the daemon: the input is what a client sends, who is root if
 * this is. Whatever it was, the next client is served, and what is attached is what the daemon believes
 * is. */

#include "../unit/reconcile-fixture.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/varlink/server.h"
#include "fuzz-util.h"

static const char question[] = "{\"method\":\"org.varlink.service.GetInfo\"}";

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t address_size = sizeof(address);
static int listen_fd = -EBADF;
static char directory[] = "/dev/shm/cachebpf-fuzz-XXXXXX";
static char *directories[_OVERRIDE_MAX]; /* for what clients set */

/* ---- once */

/* As PID 1 passes the socket; the server closes it when it ends. */
static void listen_on_3(void) {
        CHECK(dup2(listen_fd, 3) == 3);
}

static void make_socket(void) {
        char pid[16];

        listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        CHECK(listen_fd >= 0);
        /* any abstract name */
        CHECK(bind(listen_fd, (struct sockaddr *) &address, sizeof(sa_family_t)) == 0);
        CHECK(getsockname(listen_fd, (struct sockaddr *) &address, &address_size) == 0);
        CHECK(listen(listen_fd, 8) == 0);
        if (listen_fd == 3) {
                listen_fd = dup(listen_fd);
                CHECK(listen_fd > 3);
        }
        listen_on_3();

        (void) snprintf(pid, sizeof(pid), "%d", (int) getpid());
        setenv("LISTEN_PID", pid, true);
        setenv("LISTEN_FDS", "1", true);
        setenv("LISTEN_FDNAMES", "varlink", true);
}

static void remove_directories(void) {
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                (void) rmdir(directories[k]);
        (void) rmdir(directory);
}

static void make_directories(void) {
        CHECK(mkdtemp(directory));
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                CHECK(asprintf(directories + k, "%s/%u", directory, (unsigned) k) > 0);
        atexit(remove_directories);
}

/* ---- for each input: what is found depends on nothing before */

static Varlink *varlink;

static void start(void) {
        void *state;

        CHECK(fixture_setup(&state) == 0);
        fixture->manager->paths.overrides = (const char *const *) directories;
        CHECK(varlink_new(fixture->control, &varlink) == 0);
        (void) add_unit("a.slice", "lfu", 1);
        (void) add_unit("b.service", "nonsense", 2);
        (void) add_unit("c.scope", NULL, 3);
        manager_set_settled(fixture->manager, true);
        run();
        CHECK(fixture->kernel.n_attach == 1);
}

static void empty_directory(const char *path) {
        DIR *d = opendir(path);
        struct dirent *de;

        if (!d)
                return;
        while ((de = readdir(d)))
                (void) unlinkat(dirfd(d), de->d_name, 0);
        closedir(d);
}

static void stop(void) {
        void *state = NULL;

        varlink = varlink_free(varlink);
        listen_on_3();
        CHECK(fixture_teardown(&state) == 0);
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                empty_directory(directories[k]);
}

/* ---- clients */

static int open_client(void) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        CHECK(fd >= 0);
        CHECK(connect(fd, (struct sockaddr *) &address, address_size) == 0);
        return fd;
}

/* Sends it all, and takes no notice of answers but to make room for them. */
static void send_input(int fd, const uint8_t *data, size_t size) {
        char answer[4096];

        while (size > 0) {
                ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

                if (n > 0) {
                        data += n;
                        size -= (size_t) n;
                } else if (errno != EAGAIN)
                        break;
                run();
                while (recv(fd, answer, sizeof(answer), 0) > 0)
                        ;
        }
        (void) shutdown(fd, SHUT_WR);
        run();
}

static void is_alive(void) {
        char answer[4096] = {};
        int fd = open_client();

        send_input(fd, NULL, 0);
        close(fd);
        fd = open_client();
        CHECK(send(fd, question, sizeof(question), MSG_NOSIGNAL) == sizeof(question));
        run();
        CHECK(recv(fd, answer, sizeof(answer) - 1, 0) > 0);
        CHECK(strstr(answer, "\"cachebpfd\""));
        close(fd);
        run();
}

/* What the daemon shows is what the kernel has. */
static void check_units(void) {
        unsigned n_links = 0;
        GHashTableIter it;
        gpointer p;

        CHECK(g_hash_table_size(fixture->manager->units) == 3);
        g_hash_table_iter_init(&it, fixture->manager->units);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                const Unit *u = p;
                const FakeCgroup *c = fixture->kernel.cgroups + u->cgroup_id;

                CHECK(c->pinned == !!u->link);
                CHECK(u->state != UNIT_ATTACHED || u->link);
                CHECK(!u->link || policy_kernel_name_equal(u->effective, c->policy));
                n_links += !!u->link;
        }
        CHECK(fixture->kernel.n_attach - fixture->kernel.n_detach == n_links);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        int fd;

        if (listen_fd < 0) {
                make_socket();
                make_directories();
        }
        start();
        fd = open_client();
        send_input(fd, data, size);
        close(fd);
        run();
        is_alive();
        check_units();
        stop();
        return 0;
}
