/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a file in a thread that says what it is there for,
 * with the library as any program would, or by its name.
 *
 *      classified-reader FILE CLASS            registers the thread; "none" does not
 *      classified-reader FILE name=NAME        calls the thread NAME
 *
 * Prints the number of the thread when it has got the class, waits for a line on standard input, reads,
 * prints "read", waits for another line, and ends. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cachebpf.h>

typedef struct Job {
        const char *file;
        const char *class;
        int result;
} Job;

static int class_from_string(const char *s) {
        static const char *const names[] = { "normal", "scan", "background" };

        for (int i = 0; i < 3; i++)
                if (strcmp(s, names[i]) == 0)
                        return i;

        return -EINVAL;
}

static int classify(const char *s) {
        if (strcmp(s, "none") == 0)
                return 0;
        if (strncmp(s, "name=", 5) == 0)
                return -pthread_setname_np(pthread_self(), s + 5);

        return cachebpf_set_thread_class((enum cachebpf_thread_class) class_from_string(s));
}

static void wait_for_line(void) {
        int c;

        while ((c = getchar()) != '\n' && c != EOF)
                ;
}

static int read_file(const char *path) {
        static char buffer[65536];
        ssize_t n;
        int fd;

        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;

        while ((n = read(fd, buffer, sizeof(buffer))) > 0)
                ;
        close(fd);
        return n < 0 ? -EIO : 0;
}

static void *work(void *p) {
        Job *job = p;

        job->result = classify(job->class);
        if (job->result < 0)
                return NULL;

        printf("%d\n", (int) gettid());
        fflush(stdout);
        wait_for_line();
        job->result = read_file(job->file);
        puts("read");
        fflush(stdout);
        wait_for_line();
        return NULL;
}

int main(int argc, char *argv[]) {
        Job job;
        pthread_t thread;

        if (argc != 3) {
                fprintf(stderr, "Usage: %s FILE CLASS|none|name=NAME\n", argv[0]);
                return 2;
        }

        job = (Job) {
                .file = argv[1],
                .class = argv[2],
        };
        if (pthread_create(&thread, NULL, work, &job) != 0 || pthread_join(thread, NULL) != 0)
                return 1;
        if (job.result < 0) {
                fprintf(stderr, "classified-reader: %s\n", strerror(-job.result));
                return 1;
        }

        return 0;
}
