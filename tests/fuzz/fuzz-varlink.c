/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A libFuzzer target for the varlink server of the daemon: the input is what a client sends. Whatever it was, the
 * next client is served. */

#include "../unit/reconcile-fixture.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz-util.h"
#include "manager-varlink.h"

static const char question[] = "{\"method\":\"org.varlink.service.GetInfo\"}";

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t address_size = sizeof(address);

/* As PID 1 passes the socket. */
static void listen_on_3(void) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        char pid[16];

        CHECK(fd >= 0);
        CHECK(bind(fd, (struct sockaddr *) &address, sizeof(sa_family_t)) == 0); /* any abstract name */
        CHECK(getsockname(fd, (struct sockaddr *) &address, &address_size) == 0);
        CHECK(listen(fd, 8) == 0);
        if (fd != 3) {
                CHECK(dup2(fd, 3) == 3);
                close(fd);
        }
        (void) snprintf(pid, sizeof(pid), "%d", (int) getpid());
        setenv("LISTEN_PID", pid, true);
        setenv("LISTEN_FDS", "1", true);
        setenv("LISTEN_FDNAMES", "varlink", true);
}

static void start(void) {
        void *state;

        listen_on_3();
        CHECK(fixture_setup(&state) == 0);
        CHECK(manager_varlink_start(fixture->manager) == 0);
        (void) add_unit("a.slice", "lfu", 1);
        (void) add_unit("b.service", "nonsense", 2);
        (void) add_unit("c.scope", NULL, 3);
        manager_set_settled(fixture->manager, true);
        run();
}

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        int fd;

        if (!fixture)
                start();
        fd = open_client();
        send_input(fd, data, size);
        close(fd);
        run();
        is_alive();
        CHECK(fixture->kernel.n_attach == 1 && fixture->kernel.n_detach == 0);
        return 0;
}
